"""What a loop of the proof runs on: a real GPU, or the stand-in of testdata/device."""

import json
import os
import signal
import subprocess
import sys
import time

import fold

HERE = os.path.dirname(os.path.abspath(__file__))
STAND_IN = os.path.join(HERE, "..", "..", "device")
PATIENCE = 90  # seconds for a loop to begin: compiling takes long


class Failed(Exception):
    pass


class Jobs:
    """Processes, each in a group of its own; end() ends what is left of them."""

    def __init__(self, log):
        self.log, self.started = log, []

    def start(self, argv, **more):
        with open(self.log, "a") as log:
            print("$", " ".join(argv), file=log, flush=True)
            more.update(stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            job = subprocess.Popen(argv, **more)
        self.started.append(job)
        return job

    def wait(self, job, seconds, what):
        try:
            code = job.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop(job)
            raise Failed("%s took more than %d s" % (what, seconds))
        if code:
            raise Failed("%s ended with %d" % (what, code))

    def stop(self, job):
        """Ends a job and its workers. A group is signalled only until its first process has been waited for."""
        if job.poll() is None:
            job.terminate()
            self.ends(job, 5)
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()

    @staticmethod
    def ends(job, seconds):
        """Gives a job so many seconds to end, and leaves it to be waited for."""
        for _ in range(seconds * 20):
            if os.waitid(os.P_PID, job.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return
            time.sleep(0.05)

    def end(self):
        for job in self.started:
            self.stop(job)


def until(test, job, seconds, what):
    end = time.monotonic() + seconds
    while not test():
        if job.poll() is not None:
            raise Failed("%s ended with %d before it began" % (what, job.returncode))
        if time.monotonic() > end:
            raise Failed("%s did not begin within %d s" % (what, seconds))
        time.sleep(0.1)


def read(path):
    with open(path) as file:
        return json.load(file)


class Real:
    """Loops of train.py beside this file."""

    free_first = False

    def __init__(self, out, jobs):
        self.out, self.jobs, self.environment = out, jobs, dict(os.environ)
        self.environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(out, "compiled")

    def path(self, name, what):
        return os.path.join(self.out, "work", "%s.%s" % (name, what))

    def recording(self, name, how):
        return os.path.join(self.out, "work", "%s-%s.jsonl" % (name, how))

    def argv(self, name, args, how, seconds):
        script = os.path.join(HERE, "train.py")
        more = ["--seconds=%g" % seconds, "--truth=" + self.path(name, how + ".truth")]
        return [sys.executable, script] + more + args.split()

    def ready(self, name, args):
        """A job that imports what it needs and waits."""
        more = ["--go=" + self.path(name, "go"), "--ready=" + self.path(name, "ready"), "--profile"]
        return self.jobs.start(self.argv(name, args, "attached", 600) + more, env=self.environment)

    def go(self, name, job):
        write(self.path(name, "go"), "0")
        until(lambda: os.path.exists(self.path(name, "ready")), job, PATIENCE, "the job")

    def launched(self, name, args, seconds):
        go, repeats = self.path(name, "go-launched"), 0
        if os.path.exists(self.path(name, "ready")):
            repeats = read(self.path(name, "ready"))["repeats"]
        write(go, str(repeats))
        return self.argv(name, args, "launched", seconds) + ["--go=" + go]

    def neighbour(self, name, args):
        ready = self.path(name, "neighbour-%d" % len(self.jobs.started))
        argv = self.argv(name, args, "neighbour", 600) + ["--ready=" + ready]
        job = self.jobs.start(argv, env=self.environment)
        until(lambda: os.path.exists(ready), job, PATIENCE, "the neighbour")
        return job

    def free(self, name, args, job):
        os.kill(job.pid, signal.SIGUSR1)
        self.jobs.wait(job, 30, "measuring with data for free")
        return read(self.path(name, "attached.truth"))["free_steps_per_s"]

    def truth(self, name, how, start, end):
        neighbour = self.path(name, "neighbour.truth")
        others = read(neighbour)["steps"] if os.path.exists(neighbour) else ()
        found = fold.shares(read(self.path(name, how + ".truth"))["steps"], start, end, others)
        attached = self.path(name, "attached.truth")
        kernels = read(attached).get("kernel_s_per_step") if os.path.exists(attached) else None
        if kernels is not None:
            found["kernels"] = kernels * found["steps_per_s"]
        return found

    def again(self):
        pass


class StandIn(Real):
    """Loops of testdata/jobs/device/train.py. Their truth is the stand-in's timeline, gone after again()."""

    free_first = True  # a run of its own

    def __init__(self, out, jobs):
        super().__init__(out, jobs)
        self.dir = os.path.join(out, "work", "stand-in")
        self.timeline = "/dev/shm/pipetune-gpu-proof-%d" % os.getpid()
        build = [os.path.join(STAND_IN, "build.sh"), self.dir, "timeline=" + self.timeline]
        jobs.wait(jobs.start(build), 60, "building the stand-in")
        self.environment.update(LD_LIBRARY_PATH=self.dir, OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")

    def argv(self, name, args, how, seconds):
        script = os.path.join(HERE, "..", "device", "train.py")
        return [sys.executable, script, "--data=" + self.path(name, "data"), "--seconds=%g" % seconds] + args.split()

    def ready(self, name, args, environment=()):
        return self.jobs.start(self.argv(name, args, "attached", 600), env=dict(self.environment, **dict(environment)))

    def bins(self):
        device = os.path.join(STAND_IN, "device.py")
        asked = subprocess.run([sys.executable, device, "bins", self.dir], capture_output=True, timeout=20)
        return json.loads(asked.stdout) if asked.returncode == 0 else {"ranks": []}

    def go(self, name, job):
        until(lambda: any(sum(rank["steps"]) >= 10 for rank in self.bins()["ranks"]), job, PATIENCE, "the job")

    def launched(self, name, args, seconds):
        return self.argv(name, args, "launched", seconds)

    def free(self, name, args, job):
        """Steps per second of a job that goes round kept batches; job is none."""
        job = self.ready(name, args, {"DEVICE_FREE": "1"})
        self.go(name, job)
        time.sleep(4)
        found = self.bins()
        self.jobs.stop(job)
        self.again()
        count = round(3.5 / found["bin_s"])
        return sum(found["ranks"][0]["steps"][-count:]) / (count * found["bin_s"])

    def truth(self, name, how, start, end):
        argv = [sys.executable, os.path.join(STAND_IN, "device.py"), "truth", self.dir, "%f" % start, "%f" % end]
        return json.loads(subprocess.run(argv, check=True, capture_output=True, timeout=20).stdout)["ranks"][0]

    def again(self):
        if os.path.exists(self.timeline):
            os.remove(self.timeline)


def write(path, text):
    with open(path + ".partial", "w") as file:
        file.write(text)
    os.rename(path + ".partial", path)
