package metric

// Block devices that hold the job's dataset, from /proc/diskstats. Entity "disk/<name>", physical devices only; of NVMe
// multipath its paths, such as "disk/nvme0c1n1", since the device over them is not counted before Linux 6.2.
var (
	DiskReads     = Disk.counter("disk_reads", Count, "read requests completed")
	DiskReadBytes = Disk.counter("disk_read_bytes", Bytes, "bytes read")
	DiskReadTime  = Disk.counter("disk_read_time_s", Seconds, "time read requests spent in the device queue and the "+
		"device, summed over requests")
	DiskBusy = Disk.counter("disk_busy_s", Seconds, "time with at least one request in flight; says nothing of "+
		"saturation on devices that serve many at once")
	DiskQueueTime = Disk.counter("disk_queue_time_s", Seconds, "time-integral of requests in flight; its rate is the "+
		"mean queue depth")
)

// Pressure stall information. Entity "host" from /proc/pressure, "cgroup/job" from the job's cgroup (version 2).
var (
	PressureCPUSome = Pressure.counter("pressure_cpu_some_s", Seconds, "time in which at least one task waited for a "+
		"CPU")
	PressureMemFull = Pressure.counter("pressure_memory_full_s", Seconds, "time in which all non-idle tasks waited "+
		"for memory")
	PressureIOSome = Pressure.counter("pressure_io_some_s", Seconds, "time in which at least one task waited for "+
		"input or output")
)
