package metric

// Machine CPU time, from /proc/stat. Entity "host" is the whole machine, "cpu/N" one core.
var (
	CPUBusy = Desc{"cpu_busy_s", Seconds, Counter, "CPU time spent working (user, nice, system, irq, softirq), " +
		"without idle, iowait and steal"}
	CPUIdle   = Desc{"cpu_idle_s", Seconds, Counter, "CPU time idle, without iowait"}
	CPUIowait = Desc{"cpu_iowait_s", Seconds, Counter, "CPU time idle while some task waited for a block device; a " +
		"hint only"}
	CPUSteal   = Desc{"cpu_steal_s", Seconds, Counter, "CPU time the hypervisor gave to others"}
	CPUUsable  = Desc{"cpus_usable", Cores, Gauge, "cores the job may use: min(affinity, cpuset, cgroup quota)"}
	CPUPresent = Desc{"cpus_present", Count, Gauge, "cores of the machine that are online"}
)

// CPU lists the signals of the cpu sampler.
var CPU = []Desc{CPUBusy, CPUIdle, CPUIowait, CPUSteal, CPUUsable, CPUPresent}

// The job's own control group. Entity "cgroup/job".
var (
	CgroupCPUPeriods = Desc{"cgroup_cpu_periods", Count, Counter,
		"enforcement periods of the CPU quota that have elapsed"}
	CgroupCPUThrottled = Desc{"cgroup_cpu_throttled_periods", Count, Counter,
		"periods in which the job ran out of a CPU quota, its own or one above: that of the level that held it back " +
			"most"}
	CgroupMemLimit = Desc{"cgroup_memory_limit_bytes", Bytes, Gauge,
		"tightest memory limit among the job's cgroup and its ancestors; absent when there is none"}
	CgroupMemUsed = Desc{"cgroup_memory_used_bytes", Bytes, Gauge,
		"memory charged to the cgroup that holds the tightest limit, page cache included"}
	CgroupMemFile = Desc{"cgroup_memory_file_bytes", Bytes, Gauge,
		"page cache charged to that cgroup, tmpfs not counted"}
	CgroupRefaults = Desc{"cgroup_refaults", Count, Counter, "file pages read again soon after they were evicted " +
		"(workingset_refault_file)"}
	CgroupReadIOPSMax = Desc{"cgroup_read_iops_limit", PerSecond, Gauge,
		"read operations per second the cgroup allows on the dataset's device; absent when there is no limit"}
	CgroupReadBPSMax = Desc{"cgroup_read_bytes_limit", BytesPerS, Gauge,
		"bytes read per second the cgroup allows on the dataset's device; absent when there is no limit"}
)

// Cgroup lists the signals of the cgroup sampler.
var Cgroup = []Desc{CgroupCPUPeriods, CgroupCPUThrottled, CgroupMemLimit, CgroupMemUsed,
	CgroupMemFile, CgroupRefaults, CgroupReadIOPSMax, CgroupReadBPSMax}
