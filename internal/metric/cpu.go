package metric

// Machine CPU time, from /proc/stat. Entity "host" is the whole machine, "cpu/N" one core.
var (
	CPUBusy = CPU.counter("cpu_busy_s", Seconds, "CPU time spent working (user, nice, system, irq, softirq), without "+
		"idle, iowait and steal")
	CPUIdle   = CPU.counter("cpu_idle_s", Seconds, "CPU time idle, without iowait")
	CPUIowait = CPU.counter("cpu_iowait_s", Seconds, "CPU time idle while some task waited for a block device; a "+
		"hint only")
	CPUSteal   = CPU.counter("cpu_steal_s", Seconds, "CPU time the hypervisor gave to others")
	CPUUsable  = CPU.gauge("cpus_usable", Cores, "cores the job may use: min(affinity, cpuset, cgroup quota)")
	CPUPresent = CPU.gauge("cpus_present", Count, "cores of the machine that are online")
)

// The job's own control group. Entity "cgroup/job".
var (
	CgroupCPUPeriods = Cgroup.counter("cgroup_cpu_periods", Count, "enforcement periods of the CPU quota that have "+
		"elapsed")
	CgroupCPUThrottled = Cgroup.counter("cgroup_cpu_throttled_periods", Count, "periods in which the job ran out of "+
		"a CPU quota, its own or one above: that of the level that held it back most")
	CgroupMemLimit = Cgroup.gauge("cgroup_memory_limit_bytes", Bytes, "tightest memory limit among the job's cgroup "+
		"and its ancestors; absent when there is none")
	CgroupMemUsed = Cgroup.gauge("cgroup_memory_used_bytes", Bytes, "memory charged to the cgroup that holds the "+
		"tightest limit, page cache included")
	CgroupMemFile = Cgroup.gauge("cgroup_memory_file_bytes", Bytes, "page cache charged to that cgroup, tmpfs not "+
		"counted")
	CgroupRefaults = Cgroup.counter("cgroup_refaults", Count, "file pages read again soon after they were evicted "+
		"(workingset_refault_file)")
	CgroupReadIOPSMax = Cgroup.gauge("cgroup_read_iops_limit", PerSecond, "read operations per second the cgroup "+
		"allows on the dataset's device; absent when there is no limit")
	CgroupReadBPSMax = Cgroup.gauge("cgroup_read_bytes_limit", BytesPerS, "bytes read per second the cgroup allows "+
		"on the dataset's device; absent when there is no limit")
)
