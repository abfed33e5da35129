#!/usr/bin/python3
"""Print the parts of /proc and /sys that pipetune reads, as an archive for package fakeroot.

usage: capture.py PID... > NAME.txtar

Run it as the user of the processes. Look through the result before it is shared: it holds paths and command lines. Of the
environment it keeps only variables that pipetune itself would take.
"""
import os
import re
import sys

ALLOWED = {b"RANK", b"LOCAL_RANK", b"WORLD_SIZE", b"LOCAL_WORLD_SIZE", b"OMP_NUM_THREADS", b"MKL_NUM_THREADS", b"CUDA_VISIBLE_DEVICES",
           b"HDF5_USE_FILE_LOCKING", b"SLURM_JOB_ID", b"SLURM_PROCID", b"SLURM_CPUS_PER_TASK"}
LIBRARIES = re.compile(rb"libtorch|libc10|libcuda|libcudart|libhdf5|libtensorflow|libjax|/python3|libjpeg|libmkl|libgomp")
MACHINE = ["stat", "meminfo", "vmstat", "diskstats", "loadavg", "uptime", "swaps", "cpuinfo", "pressure/cpu", "pressure/memory",
           "pressure/io", "pressure/irq", "sys/kernel/osrelease", "sys/kernel/yama/ptrace_scope", "self/mountinfo"]
TASK = ["stat", "status", "schedstat", "syscall", "wchan", "comm", "children"]
PROCESS = ["stat", "status", "statm", "schedstat", "io", "comm", "cmdline", "cgroup", "wchan", "mountinfo"]
BLOCK = ["dev", "size", "partition", "queue/rotational", "queue/read_ahead_kb", "queue/scheduler", "device/model", "dm/name",
         "loop/backing_file"]
GROUP = ["cpu.max", "cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage", "cpuset.cpus", "cpuset.effective_cpus",
         "cpuset.cpus.effective", "memory.max", "memory.current", "memory.stat", "memory.events", "memory.limit_in_bytes",
         "memory.usage_in_bytes", "memory.failcnt", "io.max", "cgroup.controllers", "cgroup.events", "cpu.pressure", "memory.pressure", "io.pressure",
         "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device", "blkio.throttle.read_iops_device",
         "blkio.throttle.write_iops_device"]
seen = set()


def put(name, content):
    if name in seen:
        return
    seen.add(name)
    if name.rsplit("/", 1)[-1] in ("cmdline", "environ"):
        content = content.replace(b"\0", b"\n")
    if content and not content.endswith(b"\n"):
        content += b"\n"
    sys.stdout.buffer.write(b"-- " + name.encode() + b" --\n" + content)


def copy(path, keep=None):
    try:
        with open(path, "rb") as f:
            content = f.read()
    except OSError:
        return
    put(path.lstrip("/"), keep(content) if keep else content)


def link(path):
    try:
        target = os.readlink(path)
    except OSError:
        return
    put("%s -> %s" % (path.lstrip("/"), target), b"")


def block(dev):
    path = "/sys/dev/block/" + dev
    if not os.path.exists(path):
        return
    link(path)
    real = os.path.realpath(path)
    for folder in (real, os.path.dirname(real)):
        for name in BLOCK:
            copy(folder + "/" + name)
    for slave in os.listdir(real + "/slaves") if os.path.isdir(real + "/slaves") else []:
        link(real + "/slaves/" + slave)
        with open(real + "/slaves/" + slave + "/dev") as f:
            block(f.read().strip())


def groups(pid):
    try:
        mounts = [line.split() for line in open("/proc/self/mountinfo")]
        entries = [line.rstrip("\n").split(":", 2) for line in open("/proc/%s/cgroup" % pid)]
    except OSError:
        return
    for m in mounts:
        if " - cgroup" not in " ".join(m):
            continue
        for _, controllers, path in entries:
            if controllers and not set(controllers.split(",")) & set(m[-1].split(",")) or not controllers and "cgroup2" not in m:
                continue
            folder = m[4] + path
            while len(folder) >= len(m[4]):
                for name in GROUP:
                    copy(folder.rstrip("/") + "/" + name)
                folder = folder.rstrip("/").rsplit("/", 1)[0]


def process(pid):
    base = "/proc/%s" % pid
    for name in PROCESS:
        copy("%s/%s" % (base, name))
    copy(base + "/environ", lambda b: b"\0".join(v for v in b.split(b"\0") if v.split(b"=")[0] in ALLOWED))
    copy(base + "/maps", lambda b: b"".join({line.split()[-1]: line for line in b.splitlines(True) if LIBRARIES.search(line)}.values()))
    for name in ("cwd", "exe", "root", "ns/pid", "ns/mnt"):
        link("%s/%s" % (base, name))
    for fd in sorted(os.listdir(base + "/fd"), key=int):
        link("%s/fd/%s" % (base, fd))
    for tid in sorted(os.listdir(base + "/task"), key=int):
        for name in TASK:
            copy("%s/task/%s/%s" % (base, tid, name))
    groups(pid)


for name in MACHINE:
    copy("/proc/" + name)
link("/proc/self/ns/mnt")
for line in open("/proc/self/mountinfo"):
    block(line.split()[2])
copy("/sys/devices/system/cpu/online")
for cpu in sorted(os.listdir("/sys/devices/system/cpu")):
    copy("/sys/devices/system/cpu/%s/topology/core_cpus_list" % cpu)
for pid in sys.argv[1:]:
    process(pid)
