package metric

// Derived signals: what package evidence computes from a recording over the steady window, and what rules may need.
// Where several trainers (ranks) are watched, step and loader signals are those of the rank that waits most.

// Where a step goes. On the device's side the data stall, the device, the host and what is left add up to 1; the input
// wait is the trainer's, and may lie behind work that is queued on the device.
var (
	DataStall = Derived.gauge("data_stall_ratio", Ratio, "share of time the device has nothing to do because the "+
		"batch is not there; where the trainer has no device open, its input wait")
	Headroom   = Derived.gauge("headroom_ratio", Count, "rate with free data over the present rate, at least 1")
	DeviceWait = Derived.gauge("device_wait_ratio", Ratio, "share of time the trainer's main thread waits for its "+
		"device, spinning or asleep")
	RankStallSpread = Derived.gauge("rank_stall_spread_ratio", Ratio, "of several trainers: the largest data stall "+
		"less the median of the others'")
	FeedingRanks = Derived.gauge("feeding_ranks", Count, "of several trainers of a distributed training: how many "+
		"take batches from a loader of their own")
	RestBusy = Derived.gauge("other_ranks_gpu_busy_ratio", Ratio, "of several trainers: how busy the GPUs of all but "+
		"the leading one are, mean over them")
	CopyTime = Derived.gauge("copy_ratio", Ratio, "share of time copies to the device take, where the link's traffic "+
		"and speed were read, or the trainer was seen in a copy")
	InputWait = Derived.gauge("input_wait_ratio", Ratio, "share of time the trainer waits for a batch, waiting for "+
		"restarted workers included, and the CPU time of taking a batch, by its measured cost")
	HostTime = Derived.gauge("host_ratio", Ratio, "share of time the device idles while the trainer's main or "+
		"autograd thread runs")
	GILWait = Derived.gauge("gil_wait_ratio", Ratio, "share of time the trainer's main thread waits for Python's "+
		"global lock (GIL), which another thread of its process holds")
	DeviceTime = Derived.gauge("device_ratio", Ratio, "share of time the step is on the device: the GPU busy, or, "+
		"without GPU counters, the main thread asleep outside the loader")
	SaveTime = Derived.gauge("saving_ratio", Ratio, "share of time training stands still while the trainer's main "+
		"thread writes: fewer batches pass than else, by the loader's count")
	SavePause = Derived.gauge("saving_pause_s", Seconds, "median time that training stands still in one such pause, "+
		"at least")
	SaveBytes = Derived.gauge("saving_bytes", Bytes, "median of what the main thread writes in one")
	SaveEvery = Derived.gauge("saving_every_s", Seconds, "median time from one such pause to the next")
	EpochGap  = Derived.gauge("epoch_gap_ratio", Ratio, "share of time between the death of one set of workers and "+
		"the first batch of the next")
	SamplerTime = Derived.gauge("sampler_ratio", Ratio, "share of time the trainer draws the indices with which an "+
		"epoch begins, while no batch can be made")
	SamplerStart = Derived.gauge("sampler_start_s", Seconds, "median time of that, of an epoch")
	MainCPU      = Derived.gauge("main_cpu_ratio", Ratio, "CPU time of the trainer's main thread per second")
	MainRunDelay = Derived.gauge("main_run_delay_ratio", Ratio, "share of time the trainer's main thread was ready "+
		"but had no CPU")
	MainStorage = Derived.gauge("main_storage_wait_ratio", Ratio, "share of time the trainer's main thread waits for "+
		"storage itself")
	MainReadBytes = Derived.gauge("main_read_bytes_per_s", BytesPerS, "bytes per second the trainer process itself "+
		"reads through system calls, what it receives from workers' pipes included; unknown where a worker ended")
	InWorkerless = Derived.gauge("loads_in_main_ratio", Ratio, "with no workers: share of time the main thread may "+
		"be loading: reads, runs while it keeps reading dataset files, or sleeps for a time beside a device")
)

// The loader's rates and settings.
var (
	NumWorkers = Derived.gauge("num_workers", Count, "loader workers of one trainer (median alive; 0 is seen, not "+
		"missing)")
	Ranks        = Derived.gauge("ranks", Count, "trainers watched")
	BatchesPerS  = Derived.gauge("batches_per_s", PerSecond, "batches per second received by one trainer")
	SamplesPerS  = Derived.gauge("samples_per_s", PerSecond, "samples per second; only where the batch size is known")
	BatchBytes   = Derived.gauge("batch_bytes", Bytes, "bytes of one batch's tensors")
	StepTime     = Derived.gauge("step_time_s", Seconds, "wall time per batch")
	FreeStepTime = Derived.gauge("free_step_time_s", Seconds, "the step if data were free: the larger of the host's, "+
		"the device's and the copies' demand where they overlap, their sum where the loop synchronises")
	QueueBatches    = Derived.gauge("queue_batches", Count, "finished batches waiting in shared memory")
	TensorsPerBatch = Derived.gauge("tensors_per_batch", Count, "tensors of one batch that a worker hands over, each "+
		"a shared-memory file: counted from outside, and at least those that the hook found in lists")
	QueueCapacity = Derived.gauge("queue_capacity_batches", Count, "most batches seen in flight at once: at least "+
		"num_workers × prefetch_factor when the loader is ahead")
	Restarts   = Derived.gauge("worker_restarts", Count, "times the whole set of workers was replaced in the window")
	EpochTime  = Derived.gauge("epoch_time_s", Seconds, "median time from one set of workers to the next")
	RestartGap = Derived.gauge("restart_gap_s", Seconds, "median time from the end of one set of workers to the "+
		"first batch of the next")
	RestartStart = Derived.gauge("restart_start_s", Seconds, "mean time in which the trainer starts a new set of "+
		"workers, one after the other")
	HeadOfLine = Derived.gauge("head_of_line_ratio", Ratio, "share of time the trainer waits while some workers are "+
		"idle and others busy")
	LoaderIsAhead = Derived.gauge("loader_ahead_ratio", Ratio, "share of time the trainer does not wait and all "+
		"workers are idle")
	IdleWhileWaits = Derived.gauge("idle_workers_while_waiting_ratio", Ratio, "share of workers that are idle while "+
		"the trainer waits")
	PinBusy = Derived.gauge("pin_thread_busy_ratio", Ratio, "share of time the thread that pins batches receives "+
		"one, copies it, or hands it on; else it waits for the workers")
	PinLock = Derived.gauge("pin_thread_lock_ratio", Ratio, "share of time that thread waits for a lock with a "+
		"time-out, as for the interpreter's")
	PinBatch      = Derived.gauge("pin_thread_per_batch_s", Seconds, "time that thread takes for a batch")
	FeedersAtOnce = Derived.gauge("feeders_at_once", Count, "of processes or threads that feed a trainer without a "+
		"DataLoader's workers: how many are at work at once while it waits")
)

// Where a worker's time goes: shares of the live workers' wall time, mean over workers. They add up to about 1. Where
// other processes or threads feed the trainer, num_workers is how many, and these shares are theirs; who of them waits
// for work, to hand over, or for a lock is idle.
var (
	WorkerIdle    = Derived.gauge("worker_idle_ratio", Ratio, "waiting for work: ahead of the trainer")
	WorkerBusy    = Derived.gauge("worker_busy_ratio", Ratio, "everything but waiting for work")
	WorkerRunning = Derived.gauge("worker_running_ratio", Ratio, "running or ready to run")
	WorkerStorage = Derived.gauge("worker_storage_wait_ratio", Ratio, "waiting for storage: state D, or asleep in a "+
		"file read")
	WorkerOpenWait   = Derived.gauge("worker_open_wait_ratio", Ratio, "asleep in open, stat, close or a directory read")
	WorkerFileLock   = Derived.gauge("worker_file_lock_ratio", Ratio, "waiting for a file lock (flock, fcntl)")
	WorkerLock       = Derived.gauge("worker_lock_ratio", Ratio, "waiting for a lock (futex), not for its own threads")
	WorkerSharedLock = Derived.gauge("worker_shared_lock_ratio", Ratio, "waiting for a lock that processes share "+
		"(futex): a part of worker_lock_ratio")
	WorkerHandOver  = Derived.gauge("worker_hand_over_ratio", Ratio, "blocked handing a batch over")
	WorkerOtherWait = Derived.gauge("worker_other_wait_ratio", Ratio, "asleep elsewhere: network, timers, other "+
		"system calls; not while a program that it runs uses a CPU")
	WorkerRemote = Derived.gauge("worker_remote_wait_ratio", Ratio, "asleep for a TCP connection: a part of "+
		"worker_other_wait_ratio, and where threads feed the trainer of what is at work")
	WorkerPrograms   = Derived.gauge("worker_programs_ratio", Ratio, "asleep while a program that it runs uses a CPU")
	WorkerOwnThreads = Derived.gauge("worker_own_threads_ratio", Ratio, "waiting for its own threads (futex) while "+
		"they use a CPU or queue for one")
	WorkerStopped  = Derived.gauge("worker_stopped_ratio", Ratio, "stopped or frozen")
	TrainerStopped = Derived.gauge("trainer_stopped_ratio", Ratio, "share of samples that found the trainer stopped "+
		"or frozen")
)

// What a worker costs.
var (
	WorkerCPU = Derived.gauge("worker_cpu_ratio", Ratio, "CPU seconds per second and worker, of programs that it "+
		"runs too; above 1 where a worker runs several threads")
	WorkerParallel = Derived.gauge("worker_parallelism", Count, "CPUs on which a worker computes at once: CPU time "+
		"of all its threads over the time in which its main thread computes or waits for the others, queueing left out")
	WorkerRunDelay = Derived.gauge("worker_run_delay_ratio", Ratio, "share of time a worker was ready but had no "+
		"CPU, or waited for threads of its own that had none")
	WorkerCPUBatch = Derived.gauge("worker_cpu_per_batch_s", Seconds, "worker CPU time per batch, of programs that "+
		"it runs too")
	WorkerWaitBatch = Derived.gauge("worker_wait_per_batch_s", Seconds, "worker time per batch in which none of its "+
		"threads is on a CPU, waits for one, or waits for work")
	WorkerBusyBatch = Derived.gauge("worker_busy_per_batch_s", Seconds, "time per batch in which a worker does not "+
		"wait for work, mean over them")
	WorkerThreads = Derived.gauge("worker_threads", Count, "threads per worker")
	WorkerRSS     = Derived.gauge("worker_rss_bytes", Bytes, "resident memory per worker, pages shared with the "+
		"trainer included")
	WorkerPrivate = Derived.gauge("worker_private_bytes", Bytes, "resident memory per worker less file-backed and "+
		"shared pages; pages still shared with the trainer since fork count too")
	WorkerGrowth = Derived.gauge("worker_memory_growth_bytes_per_s", BytesPerS, "growth of resident memory per "+
		"second and worker")
	WorkerImbalance = Derived.gauge("worker_imbalance_ratio", Count, "CPU time of the busiest worker over the median "+
		"worker's")
	WithData = Derived.gauge("workers_with_data", Count, "workers of one trainer that have data to read: no more "+
		"than the dataset's shards")
	WorkersOneCPUSet = Derived.gauge("worker_affinity_cores", Cores, "cores the workers may run on, where fewer than "+
		"the trainer's")
)

// Reading.
var (
	ReadBytes = Derived.gauge("read_bytes_per_s", BytesPerS, "bytes per second that loading processes read through "+
		"system calls")
	StorageBytes = Derived.gauge("storage_bytes_per_s", BytesPerS, "bytes per second that loading processes fetched "+
		"from storage")
	CacheHits = Derived.gauge("cache_hit_ratio", Ratio, "share of bytes read that came from the page cache: 1 - "+
		"fetched/read, at least 0")
	BytesPerRead    = Derived.gauge("bytes_per_read", Bytes, "mean size of a read system call of the loading processes")
	ReadsPerBatch   = Derived.gauge("reads_per_batch", Count, "read system calls per batch")
	StoragePerBatch = Derived.gauge("storage_bytes_per_batch", Bytes, "bytes fetched from storage per batch")
	FileOpens       = Derived.gauge("file_opens_per_s", PerSecond, "dataset files opened per second")
	HDF5Opens       = Derived.gauge("hdf5_opens_per_s", PerSecond, "HDF5 files opened per second")
	OpensPerBatch   = Derived.gauge("opens_per_batch", Count, "dataset files opened per batch")
	DistinctOpens   = Derived.gauge("distinct_files_ratio", Ratio, "distinct files over opens in the window: near 1 "+
		"means each open is another file, near 0 the same files again and again")
	OpensPerFile = Derived.gauge("opens_per_file", Count, "how often a file of the dataset is opened before nearly "+
		"all have been opened once, at the least; 1 where each holds an item")
	HandlePresent = Derived.gauge("handle_present_ratio", Ratio, "share of samples of a busy worker that found a "+
		"dataset file open")
	DatasetBytes = Derived.gauge("dataset_bytes", Bytes, "size of the dataset on storage, where it could be seen")
	DatasetFileN = Derived.gauge("dataset_files", Count, "files of the dataset, where they could be counted (bounded)")
	FileBytes    = Derived.gauge("dataset_file_bytes", Bytes, "median size of the dataset's files")
)

// The layout of the HDF5 dataset most likely read: the largest one of the files the job has open.
var (
	HDF5Chunk    = Derived.gauge("hdf5_chunk_bytes", Bytes, "bytes of one chunk, decoded; absent for contiguous layout")
	HDF5Item     = Derived.gauge("hdf5_item_bytes", Bytes, "bytes of one item (first axis)")
	HDF5PerChunk = Derived.gauge("hdf5_items_per_chunk", Count, "items (first axis) a chunk holds")
	HDF5Touched  = Derived.gauge("hdf5_chunks_per_item", Count, "chunks one item touches")
	HDF5Amplify  = Derived.gauge("hdf5_read_amplification", Count, "bytes of the chunks an item touches over the "+
		"item's bytes")
	HDF5Cache = Derived.gauge("hdf5_cache_bytes", Bytes, "chunk cache the job's HDF5 library gives a dataset by "+
		"default (1 MiB before version 2.0, 8 MiB from it on); assumed, the job may set another")
	HDF5Filters = Derived.gauge("hdf5_filters", Count, "filters in the dataset's pipeline; 0 is uncompressed")
	HDF5Stored  = Derived.gauge("hdf5_stored_bytes", Bytes, "bytes the dataset occupies in the file")
)

// The machine.
var (
	UsableCPUs = Derived.gauge("usable_cpus", Cores, "cores the job may use: min(affinity, cpuset, cgroup quota)")
	FullCPUs   = Derived.gauge("full_cpus", Cores, "usable CPUs that lose nothing to each other beyond what was seen: "+
		"as many as there are cores or, where a hypervisor may hide that two share one, as computed in the watch")
	PresentCPUs  = Derived.gauge("present_cpus", Count, "cores of the machine that are online")
	CPUBusyRatio = Derived.gauge("cpu_busy_ratio", Ratio, "share of all the machine's CPU time that was used by "+
		"anybody")
	UsableBusy = Derived.gauge("usable_cpu_busy_ratio", Ratio, "share of the job's usable CPU time that was in use, "+
		"by the job or by others")
	JobCPU     = Derived.gauge("job_cpu_cores", Cores, "cores' worth of CPU time the job's process tree used")
	TrainerCPU = Derived.gauge("trainer_cpu_cores", Cores, "cores' worth of CPU time the trainers used, without "+
		"their workers")
	OtherCPU = Derived.gauge("other_cpu_cores", Cores, "cores' worth of CPU time used by processes outside the job, "+
		"pipetune excepted")
	StealRatio = Derived.gauge("cpu_steal_ratio", Ratio, "share of CPU time the hypervisor gave to others")
	StealUsual = Derived.gauge("cpu_steal_usual_ratio", Ratio, "share of the CPU time that was wanted which the "+
		"hypervisor gave to others, from the machine's start to the watch's")
	Throttled = Derived.gauge("cpu_quota_throttled_ratio", Ratio, "share of quota periods in which the job was held "+
		"back")
	CPUPressure = Derived.gauge("cpu_pressure_ratio", Ratio, "share of time some task waited for a CPU (PSI some; "+
		"the job's cgroup where there is one, else the machine)")
	IOPressure = Derived.gauge("io_pressure_ratio", Ratio, "share of time some task waited for input or output (PSI "+
		"some)")
	MemPressure = Derived.gauge("memory_pressure_ratio", Ratio, "share of time all tasks waited for memory (PSI full)")
	Available   = Derived.gauge("available_memory_bytes", Bytes, "memory that can still be used: the smaller of "+
		"MemAvailable and the room left in the cgroup")
	MemLimit     = Derived.gauge("memory_limit_bytes", Bytes, "the smaller of physical memory and the cgroup's limit")
	MemLimitUsed = Derived.gauge("memory_limit_used_ratio", Ratio, "memory that cannot be reclaimed over the limit: "+
		"(used - page cache) / limit of the cgroup, or of the machine")
	SwapInRate   = Derived.gauge("swap_in_bytes_per_s", BytesPerS, "bytes per second read back from swap")
	SwapOutRate  = Derived.gauge("swap_out_bytes_per_s", BytesPerS, "bytes per second written to swap")
	RefaultRate  = Derived.gauge("refaults_per_s", PerSecond, "file pages read again soon after eviction, per second")
	ShmFree      = Derived.gauge("shm_free_bytes", Bytes, "room left in the job's /dev/shm: the least seen")
	ShmTotal     = Derived.gauge("shm_total_bytes", Bytes, "size of the job's /dev/shm")
	DiskReadRate = Derived.gauge("disk_reads_per_s", PerSecond, "read requests per second of the devices that hold "+
		"the dataset")
	DiskByteRate = Derived.gauge("disk_read_bytes_per_s", BytesPerS, "bytes per second read from those devices")
	DiskLatency  = Derived.gauge("disk_read_latency_s", Seconds, "mean time of a read request in queue and device")
	DiskQueue    = Derived.gauge("disk_queue_depth", Count, "mean requests in flight")
	DiskUtil     = Derived.gauge("disk_busy_ratio", Ratio, "share of time with at least one request in flight")
	StorageNet   = Derived.gauge("storage_is_network", Count, "1 where the dataset lies on a network or FUSE file "+
		"system, 0 where it does not")
	StorageTmpfs = Derived.gauge("storage_is_tmpfs", Count, "1 where the dataset lies on tmpfs, 0 where it does not")
	Rotational   = Derived.gauge("storage_rotational", Count, "the kernel's rotational flag of the device; virtual "+
		"disks set it too")
	ReadIOPSLimit = Derived.gauge("read_iops_limit", PerSecond, "read operations per second the job's cgroup allows")
	ReadBPSLimit  = Derived.gauge("read_bytes_limit_per_s", BytesPerS, "bytes per second the job's cgroup allows to "+
		"be read")
)

// GPUs of the job: the mean over them, unless the help says otherwise.
var (
	GPUBusy         = Derived.gauge("gpu_busy_ratio", Ratio, "share of time at least one kernel ran")
	GPUCount        = Derived.gauge("gpus", Count, "GPUs the job uses, or, where that is not known, that are visible")
	GPUMemUsedRatio = Derived.gauge("gpu_memory_used_ratio", Ratio, "device memory allocated over device memory, "+
		"fullest GPU")
	GPUPowerRatio = Derived.gauge("gpu_power_ratio", Ratio, "power draw over the enforced limit")
	GPUThrottled  = Derived.gauge("gpu_throttled_ratio", Ratio, "share of readings with a slowdown reason that costs "+
		"speed (power cap, thermal, power brake), worst GPU")
	GPUClockLost = Derived.gauge("gpu_clock_lost_ratio", Ratio, "share of the highest SM clock that readings with "+
		"such a reason lack, over all readings, worst GPU")
	GPUSMActive   = Derived.gauge("gpu_sm_activity", Ratio, "mean share of SMs at work (GPM)")
	GPUDRAMActive = Derived.gauge("gpu_dram_activity", Ratio, "share of peak device-memory bandwidth in use (GPM)")
	PcieGenRatio  = Derived.gauge("gpu_pcie_link_ratio", Ratio, "link bandwidth in use over what device and slot "+
		"allow (generation and width), best seen under load, worst GPU")
	PcieRxRate    = Derived.gauge("gpu_pcie_rx_rate_bytes_per_s", BytesPerS, "bytes per second from host to GPU")
	GPUOthersBusy = Derived.gauge("gpu_others_busy_ratio", Ratio, "share of time the GPUs compute for processes "+
		"outside the job")
	GPUIdleJob = Derived.gauge("gpus_idle", Count, "visible GPUs that no process uses")
)

// The watch itself.
var (
	WindowTime     = Derived.gauge("window_s", Seconds, "length of the steady window")
	SampleCoverage = Derived.gauge("look_coverage_ratio", Ratio, "samples taken over samples planned in the window")
	WaitNoise      = Derived.gauge("input_wait_spread_ratio", Ratio, "width of the 95 % interval of the input wait")
	SyscallSeen    = Derived.gauge("syscall_visible_ratio", Ratio, "share of samples for which /proc/PID/syscall "+
		"could be read")
)
