package metric

// Block devices that hold the job's dataset, from /proc/diskstats. Entity "disk/<name>", physical devices only; of NVMe
// multipath its paths, such as "disk/nvme0c1n1", since the device over them is not counted before Linux 6.2.
var (
	DiskReads     = Desc{"disk_reads", Count, Counter, "read requests completed"}
	DiskReadBytes = Desc{"disk_read_bytes", Bytes, Counter, "bytes read"}
	DiskReadTime  = Desc{"disk_read_time_s", Seconds, Counter, "time read requests spent in the device queue and the " +
		"device, summed over requests"}
	DiskBusy = Desc{"disk_busy_s", Seconds, Counter, "time with at least one request in flight; says nothing of " +
		"saturation on devices that serve many at once"}
	DiskQueueTime = Desc{"disk_queue_time_s", Seconds, Counter, "time-integral of requests in flight; its rate is " +
		"the mean queue depth"}
)

// Disk lists the signals of the disk sampler.
var Disk = []Desc{DiskReads, DiskReadBytes, DiskReadTime, DiskBusy, DiskQueueTime}

// Pressure stall information. Entity "host" from /proc/pressure, "cgroup/job" from the job's cgroup (version 2).
var (
	PressureCPUSome = Desc{"pressure_cpu_some_s", Seconds, Counter, "time in which at least one task waited for a CPU"}
	PressureMemFull = Desc{"pressure_memory_full_s", Seconds, Counter,
		"time in which all non-idle tasks waited for memory"}
	PressureIOSome = Desc{"pressure_io_some_s", Seconds, Counter,
		"time in which at least one task waited for input or output"}
)

// Pressure lists the signals of the pressure sampler.
var Pressure = []Desc{PressureCPUSome, PressureMemFull, PressureIOSome}
