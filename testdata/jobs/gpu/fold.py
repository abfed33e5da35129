"""Folds the truth of a loop, and what a report says of it, to a row of the table."""

COLUMNS = (
    "loop", "mode", "expected", "true busy", "true kernels", "true stall", "true wait", "true headroom", "reported",
    "stall", "headroom", "promised", "missed",
)
STALL_OFF = {"attached": 0.03, "launched": 0.01}  # how far the data stall may be off
RATE_OFF = 0.03  # of the true headroom: a quotient of two rates
PROMISE_OFF = 0.10


def overlap(a, b, start, end):
    return max(0.0, min(b, end) - max(a, start))


def shares(steps, start, end, neighbour=()):
    """What the device and the loop did from start to end, as shares of it.

    busy is the device's span of a step, idle gaps between its kernels included. starved: nothing is left on the
    device, and the loop waits for its next batch; unfed: the same, while another process computes there.
    """
    busy = starved = waited = copied = unfed = 0.0
    others = [(begun, done) for _, _, begun, _, done in neighbour if done > start and begun < end]
    done_before, count = 0.0, 0
    for ask, got, begun, there, done in steps:
        busy += overlap(max(begun, done_before), done, start, end)
        copied += overlap(max(begun, done_before), there, start, end)
        waited += overlap(ask, got, start, end)
        if done_before:
            hungry = max(done_before, ask, start), min(got, end)
            hidden = sum(overlap(*hungry, *other) for other in others)
            unfed, starved = unfed + hidden, starved + max(0.0, hungry[1] - hungry[0]) - hidden
        count += start <= done < end
        done_before = max(done, done_before)
    took = end - start
    return {
        "busy": busy / took, "starved": starved / took, "waited": waited / took, "copied": copied / took,
        "unfed": unfed / took, "steps_per_s": count / took,
    }


# Findings that are not about data, by how their rules begin: as in internal/e2e/promise.go.
NOT_DATA = ("host/", "gpu/", "cpu/noisy-neighbour", "job/evaluation-sequential")


def promised(report):
    """The most that the report says the rate can become, as a multiple of what it is, by changes to the loading."""
    most = 0.0
    effects = [plan.get("effect") for plan in report.get("plans") or []]
    for finding in report.get("findings") or []:
        if not finding["rule"].startswith(NOT_DATA):
            effects += [change.get("effect") for change in finding.get("recommendations") or []]
    for e in effects:
        if e and e["before"] > 0:
            most = max(most, max(e["after"], e.get("hi") or 0) / e["before"])
    return most


def interval(found):
    if not found:
        return "absent"
    center, lo, hi = ("%.2f" % found[k] if found.get(k) is not None else "?" for k in ("center", "lo", "hi"))
    return "%s (%s–%s)" % (center, lo, hi)


def covers(found, true):
    """Data for free slows no loop down: a headroom below 1 is the error of the two rates it is the quotient of."""
    true = max(true, 1)
    lo, hi = found.get("lo"), found.get("hi")
    return lo is not None and hi is not None and lo <= true * (1 + RATE_OFF) and hi >= true * (1 - RATE_OFF)


def misses(expected, mode, truth, report, most):
    verdict = report["verdict"]
    step, found = verdict.get("step") or {}, []
    if verdict["class"] not in expected:
        found.append("class")
    stall, headroom, true = step.get("data_stall_ratio"), step.get("headroom"), truth["headroom"]
    hidden = truth.get("unfed", 0)
    if not stall or stall.get("center") is None:
        found.append("no stall")
    elif not -STALL_OFF[mode] <= stall["center"] - truth["starved"] <= STALL_OFF[mode] + hidden:
        found.append("stall")
    if true and headroom and not covers(headroom, true):
        found.append("headroom")
    if true and most > (1 + PROMISE_OFF) * max(true, 1):
        found.append("promise")
    return found


def fixture(name, expected, mode, truth):
    """What truth.json has of a recording, beside those of testdata/recordings/gpu."""
    return {
        "Recording": "%s-%s.jsonl" % (name, mode), "Class": list(expected), "Stall": round(truth["starved"], 4),
        "Most": round(truth["starved"] + truth.get("unfed", 0), 4), "Headroom": round(truth["headroom"] or 0, 3),
    }


def row(name, expected, mode, truth, report):
    verdict = report["verdict"]
    step, most = verdict.get("step") or {}, promised(report)
    kernels = truth.get("kernels")
    return (
        name, mode, " or ".join(expected), "%.3f" % truth["busy"], "-" if kernels is None else "%.3f" % kernels,
        "%.3f" % truth["starved"], "%.3f" % truth["waited"], "%.2f" % truth["headroom"] if truth["headroom"] else "-",
        "%s (%s)" % (verdict["class"], verdict["confidence"]), interval(step.get("data_stall_ratio")),
        interval(step.get("headroom")), "%.2f" % most if most else "-",
        ", ".join(misses(expected, mode, truth, report, most)) or "-",
    )


def table(rows):
    lines = [COLUMNS, tuple("---" for _ in COLUMNS)] + rows
    return "".join("| %s |\n" % " | ".join(line) for line in lines)
