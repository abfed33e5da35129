package metric

// Machine memory, from /proc/meminfo, /proc/vmstat and statfs of /dev/shm. Entity "host".
var (
	MemTotal     = Desc{"memory_total_bytes", Bytes, Gauge, "physical memory"}
	MemAvailable = Desc{"memory_available_bytes", Bytes, Gauge, "the kernel's estimate of what can be allocated " +
		"without swapping (MemAvailable)"}
	SwapIn   = Desc{"swap_in_bytes", Bytes, Counter, "bytes read back from swap"}
	SwapOut  = Desc{"swap_out_bytes", Bytes, Counter, "bytes written to swap"}
	Refaults = Desc{"refaults", Count, Counter, "file pages read again soon after eviction, whole machine " +
		"(workingset_refault_file)"}
	ShmSize = Desc{"shm_size_bytes", Bytes, Gauge, "size of the job's /dev/shm"}
	ShmUsed = Desc{"shm_used_bytes", Bytes, Gauge, "bytes in use in the job's /dev/shm"}
)

// Memory lists the signals of the memory sampler.
var Memory = []Desc{MemTotal, MemAvailable, SwapIn, SwapOut, Refaults, ShmSize, ShmUsed}
