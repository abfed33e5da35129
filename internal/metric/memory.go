package metric

// Machine memory, from /proc/meminfo, /proc/vmstat and statfs of /dev/shm. Entity "host".
var (
	MemTotal     = Memory.gauge("memory_total_bytes", Bytes, "physical memory")
	MemAvailable = Memory.gauge("memory_available_bytes", Bytes, "the kernel's estimate of what can be allocated "+
		"without swapping (MemAvailable)")
	SwapIn   = Memory.counter("swap_in_bytes", Bytes, "bytes read back from swap")
	SwapOut  = Memory.counter("swap_out_bytes", Bytes, "bytes written to swap")
	Refaults = Memory.counter("refaults", Count, "file pages read again soon after eviction, whole machine "+
		"(workingset_refault_file)")
	ShmSize = Memory.gauge("shm_size_bytes", Bytes, "size of the job's /dev/shm")
	ShmUsed = Memory.gauge("shm_used_bytes", Bytes, "bytes in use in the job's /dev/shm")
)
