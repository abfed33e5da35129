"""The first checks on a machine with a real GPU: what the driver does, where pipetune relies on it.

    python3 checks.py OUT.json SECONDS      all of them
    python3 checks.py activity              GPU performance monitoring alone, for whoever calls it

A check that fails says how, and the others go on. Those of the list that have no time left are named.
"""

import collections
import json
import os
import signal
import subprocess
import sys
import time

import nvml

HERE = os.path.dirname(os.path.abspath(__file__))
NOBODY = 65534
NOT_FOUND = 6  # of nvmlReturn_t


class State:
    """A process of states.py for the length of a with block; lines() is what it has printed."""

    def __init__(self, name, folder):
        self.path = os.path.join(folder, "state-" + name)
        self.argv = [sys.executable, os.path.join(HERE, "states.py"), name]

    def __enter__(self):
        with open(self.path, "w") as out:
            self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=out)
        end = time.monotonic() + 40
        while not self.lines():
            if self.process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                raise RuntimeError("%s did not begin" % " ".join(self.argv))
            time.sleep(0.1)
        time.sleep(1)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def lines(self):
        with open(self.path) as file:
            return [json.loads(line) for line in file if line.endswith("\n")]


def opening(_):
    """How long it takes to open a GPU, thrice."""
    all_times = []
    for _ in range(3):
        gpu = nvml.GPU()
        found = {"driver": gpu.text("nvmlSystemGetDriverVersion"), "gpu": gpu.text("nvmlDeviceGetName", gpu.handle)}
        gpu.close()
        all_times.append(gpu.times)
    return dict(found, seconds=all_times)


def traffic(folder):
    """Fields 197 and 198 beside a copy of known speed: their type, how often they are new, whether they wrap."""
    gpu, rows = nvml.GPU(), []
    with State("copy", folder) as state:
        begun = time.monotonic()
        while time.monotonic() - begun < 4:
            rows.append((time.monotonic(), gpu.fields(nvml.PCIE_TX, nvml.PCIE_RX)))
            time.sleep(0.02)
        copies = [line for line in state.lines() if "copied" in line and line["monotonic"] > begun]
    gpu.close()
    out = {"copied_gb_s": sum(c["copied"] for c in copies) / max(sum(c["seconds"] for c in copies), 1e-9) / 1e9}
    for i, name in enumerate(("197", "198")):
        answers = [(at, found[i]) for at, found in rows]
        results = collections.Counter(found["result"] for _, found in answers)
        good = [(at, found["value"], found["kind"]) for at, found in answers if not found["result"]]
        out[name] = {"results": dict(results)}
        if len(good) < 2:
            continue
        pairs = list(zip(good, good[1:]))
        rose = [(b[1] - a[1]) for a, b in pairs if b[1] > a[1]]
        out[name].update({
            "type": nvml.TYPES[good[0][2]] if good[0][2] < len(nvml.TYPES) else good[0][2],
            "first": good[0][1], "last": good[-1][1],
            "wraps": [(a[1], b[1]) for a, b in pairs if b[1] < a[1]], "readings": len(good), "new": len(rose),
            "sum_of_rises_per_s": sum(rose) / (good[-1][0] - good[0][0]),
        })
    return out


def sampling(folder):
    """The driver's samples of utilization beside pulses of half a second: type, period, lag."""
    gpu, since, polls, all_samples = nvml.GPU(), 0, [], []
    with State("pulse", folder) as state:
        kind, old = gpu.samples(0)
        since = max((at for at, _ in old), default=0)
        begun = time.monotonic()
        while time.monotonic() - begun < 4:
            try:
                kind, new = gpu.samples(since)
            except nvml.Refused as e:
                if e.args[1] != NOT_FOUND:  # nothing is new
                    raise
                new = []
            now = time.time()
            if new:
                since = max(at for at, _ in new)
                polls.append({"new": len(new), "behind_s": now - since / 1e6})
                all_samples += new
            time.sleep(0.02)
        edges = [(line["wall"], line["on"]) for line in state.lines() if "on" in line]
    gpu.close()
    periods = sorted((b[0] - a[0]) / 1e6 for a, b in zip(all_samples, all_samples[1:]))
    lags = []
    for wall, on in edges:
        over = [at / 1e6 - wall for at, value in all_samples if at / 1e6 > wall and (value > 50) == on]
        if over and all_samples and all_samples[0][0] / 1e6 < wall:
            lags.append({"on": on, "lag_s": min(over)})
    middle = periods[len(periods) // 2] if periods else None
    return {
        "type": nvml.TYPES[kind] if kind < len(nvml.TYPES) else kind, "buffered": len(old), "samples": len(all_samples),
        "period_s": {"least": periods[0], "median": middle, "most": periods[-1]} if periods else None,
        "polls": polls[:100], "lags": lags, "values": [(at, value) for at, value in all_samples][:400],
    }


def threads(folder):
    """What main and autograd threads are seen to do while they wait for a GPU: 100 looks in each state."""
    out = {}
    for name in ("spin", "block", "queue", "backward"):
        with State(name, folder) as state:
            out[name] = looks(state.process.pid)
    return out


def looks(pid):
    """Counts, for each kind of thread, its state, system call (with poll's arguments) and where it waits."""
    seen, tasks = collections.defaultdict(collections.Counter), "/proc/%d/task" % pid
    for _ in range(100):
        for task in os.listdir(tasks):
            comm = text(tasks, task, "comm").strip()
            if int(task) != pid and not comm.startswith("pt_autograd"):
                continue
            stat = text(tasks, task, "stat").rpartition(")")[2].split()
            call = text(tasks, task, "syscall").split()
            words = call[:1] + (call[2:4] if call[:1] == ["7"] else [])  # poll: how many, how long
            who = "main" if int(task) == pid else comm.rstrip("0123456789_")
            seen[who][" ".join([stat[0] if stat else "?"] + words + [text(tasks, task, "wchan").strip()])] += 1
        time.sleep(0.01)
    return {who: counts.most_common(12) for who, counts in seen.items()}


def text(*path):
    try:
        with open(os.path.join(*path)) as file:
            return file.read()
    except OSError as e:
        return "errno-%d" % e.errno


def activity(_):
    """GPU performance monitoring by whoever calls, and by nobody."""
    out = {"uid-%d" % os.getuid(): monitored()}
    if os.getuid() == 0:
        asked = subprocess.run(
            [sys.executable, "-c", NARROW, os.path.join(HERE, "checks.py")], capture_output=True, text=True, timeout=30)
        out["nobody"] = json.loads(asked.stdout) if asked.returncode == 0 else asked.stderr[-500:]
    return out


# Everything is read before root is given up: the folder may be root's alone.
NARROW = """
import json, os, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
import checks
os.setgroups([]); os.setgid(%d); os.setuid(%d)
print(json.dumps(checks.monitored()))
""" % (NOBODY, NOBODY)


def monitored():
    try:
        gpu = nvml.GPU()
        return {"sm_utilization": gpu.activity(0.5)}
    except (OSError, AttributeError, nvml.Refused) as e:
        return {"error": repr(e)}


def main(out, seconds):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    end, found = time.monotonic() + float(seconds), {}
    folder = os.path.join(os.path.dirname(os.path.abspath(out)), "work")
    os.makedirs(folder, exist_ok=True)
    for check in (opening, activity, traffic, sampling, threads):
        if time.monotonic() > end:
            found[check.__name__] = "not done, for want of time"
            continue
        begun = time.monotonic()
        try:
            found[check.__name__] = check(folder)
        except Exception as e:  # a check of its own: the next ones go on
            found[check.__name__] = {"error": "%s: %s" % (type(e).__name__, e)}
        print("%s: %.1f s" % (check.__name__, time.monotonic() - begun), flush=True)
        with open(out, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    if sys.argv[1:] == ["activity"]:
        print(json.dumps(monitored()))
    else:
        main(*sys.argv[1:])
