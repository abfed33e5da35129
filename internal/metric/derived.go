package metric

// Derived signals: what package evidence computes from a recording over the steady window, and what rules may need.
// Where several trainers (ranks) are watched, step and loader signals are those of the rank that waits most.

// Where a step goes. On the device's side the data stall, the device, the host and what is left add up to 1; the input
// wait is the trainer's, and may lie behind work that is queued on the device.
var (
	DataStall = Desc{"data_stall_ratio", Ratio, Gauge, "share of time the device has nothing to do because the " +
		"batch is not there; where the trainer has no device open, its input wait"}
	Headroom   = Desc{"headroom_ratio", Count, Gauge, "rate with free data over the present rate, at least 1"}
	DeviceWait = Desc{"device_wait_ratio", Ratio, Gauge, "share of time the trainer's main thread waits for its " +
		"device, spinning or asleep"}
	RankStallSpread = Desc{"rank_stall_spread_ratio", Ratio, Gauge,
		"of several trainers: the largest data stall less the median of the others'"}
	FeedingRanks = Desc{"feeding_ranks", Count, Gauge, "of several trainers of a distributed training: how many " +
		"take batches from a loader of their own"}
	RestBusy = Desc{"other_ranks_gpu_busy_ratio", Ratio, Gauge,
		"of several trainers: how busy the GPUs of all but the leading one are, mean over them"}
	CopyTime = Desc{"copy_ratio", Ratio, Gauge, "share of time copies to the device take, where the link's " +
		"traffic and speed were read, or the trainer was seen in a copy"}
	InputWait = Desc{"input_wait_ratio", Ratio, Gauge, "share of time the trainer waits for a batch, waiting for " +
		"restarted workers included, and the CPU time of taking a batch, by its measured cost"}
	HostTime = Desc{"host_ratio", Ratio, Gauge, "share of time the device idles while the trainer's main or " +
		"autograd thread runs"}
	GILWait = Desc{"gil_wait_ratio", Ratio, Gauge, "share of time the trainer's main thread waits for Python's " +
		"global lock (GIL), which another thread of its process holds"}
	DeviceTime = Desc{"device_ratio", Ratio, Gauge, "share of time the step is on the device: the GPU busy, or, " +
		"without GPU counters, the main thread asleep outside the loader"}
	SaveTime = Desc{"saving_ratio", Ratio, Gauge, "share of time training stands still while the trainer's main " +
		"thread writes: fewer batches pass than else, by the loader's count"}
	SavePause = Desc{"saving_pause_s", Seconds, Gauge, "median time that training stands still in one such " +
		"pause, at least"}
	SaveBytes = Desc{"saving_bytes", Bytes, Gauge, "median of what the main thread writes in one"}
	SaveEvery = Desc{"saving_every_s", Seconds, Gauge, "median time from one such pause to the next"}
	EpochGap  = Desc{"epoch_gap_ratio", Ratio, Gauge, "share of time between the death of one set of workers and " +
		"the first batch of the next"}
	SamplerTime = Desc{"sampler_ratio", Ratio, Gauge, "share of time the trainer draws the indices with which an " +
		"epoch begins, while no batch can be made"}
	SamplerStart = Desc{"sampler_start_s", Seconds, Gauge, "median time of that, of an epoch"}
	MainCPU      = Desc{"main_cpu_ratio", Ratio, Gauge, "CPU time of the trainer's main thread per second"}
	MainRunDelay = Desc{"main_run_delay_ratio", Ratio, Gauge, "share of time the trainer's main thread was ready " +
		"but had no CPU"}
	MainStorage = Desc{"main_storage_wait_ratio", Ratio, Gauge, "share of time the trainer's main thread waits for " +
		"storage itself"}
	MainReadBytes = Desc{"main_read_bytes_per_s", BytesPerS, Gauge,
		"bytes per second the trainer process itself reads through system calls, what it receives from workers' " +
			"pipes included; unknown where a worker ended"}
	InWorkerless = Desc{"loads_in_main_ratio", Ratio, Gauge, "with no workers: share of time the main thread reads " +
		"or runs while it keeps reading dataset files; an upper bound of the time spent loading"}
)

// The loader's rates and settings.
var (
	NumWorkers = Desc{"num_workers", Count, Gauge, "loader workers of one trainer (median alive; 0 is seen, not " +
		"missing)"}
	TensorsPerBatch = Desc{"tensors_per_batch", Count, Gauge, "tensors of one batch that a worker hands over, each a " +
		"shared-memory file: counted from outside, and at least those that the hook found in lists"}
	Ranks        = Desc{"ranks", Count, Gauge, "trainers watched"}
	BatchesPerS  = Desc{"batches_per_s", PerSecond, Gauge, "batches per second received by one trainer"}
	SamplesPerS  = Desc{"samples_per_s", PerSecond, Gauge, "samples per second; only where the batch size is known"}
	BatchBytes   = Desc{"batch_bytes", Bytes, Gauge, "bytes of one batch's tensors"}
	StepTime     = Desc{"step_time_s", Seconds, Gauge, "wall time per batch"}
	FreeStepTime = Desc{"free_step_time_s", Seconds, Gauge, "the step if data were free: the larger of the host's, " +
		"the device's and the copies' demand where they overlap, their sum where the loop synchronises"}
	QueueBatches  = Desc{"queue_batches", Count, Gauge, "finished batches waiting in shared memory"}
	QueueCapacity = Desc{"queue_capacity_batches", Count, Gauge, "most batches seen in flight at once: at least " +
		"num_workers × prefetch_factor when the loader is ahead"}
	Restarts   = Desc{"worker_restarts", Count, Gauge, "times the whole set of workers was replaced in the window"}
	EpochTime  = Desc{"epoch_time_s", Seconds, Gauge, "median time from one set of workers to the next"}
	RestartGap = Desc{"restart_gap_s", Seconds, Gauge, "median time from the end of one set of workers to the " +
		"first batch of the next"}
	HeadOfLine = Desc{"head_of_line_ratio", Ratio, Gauge, "share of time the trainer waits while some workers " +
		"are idle and others busy"}
	LoaderIsAhead = Desc{"loader_ahead_ratio", Ratio, Gauge, "share of time the trainer does not wait and all " +
		"workers are idle"}
	FeedersAtOnce = Desc{"feeders_at_once", Count, Gauge, "of processes or threads that feed a trainer without a " +
		"DataLoader's workers: how many are at work at once while it waits"}
	PinBusy = Desc{"pin_thread_busy_ratio", Ratio, Gauge, "share of time the thread that pins batches " +
		"receives one, copies it, or hands it on; else it waits for the workers"}
	PinLock = Desc{"pin_thread_lock_ratio", Ratio, Gauge, "share of time that thread waits for a lock with a " +
		"time-out, as for the interpreter's"}
	PinBatch       = Desc{"pin_thread_per_batch_s", Seconds, Gauge, "time that thread takes for a batch"}
	IdleWhileWaits = Desc{"idle_workers_while_waiting_ratio", Ratio, Gauge,
		"share of workers that are idle while the trainer waits"}
)

// Where a worker's time goes: shares of the live workers' wall time, mean over workers. They add up to about 1. Where
// other processes or threads feed the trainer, num_workers is how many, and these shares are theirs; who of them waits
// for work, to hand over, or for a lock is idle.
var (
	WorkerIdle    = Desc{"worker_idle_ratio", Ratio, Gauge, "waiting for work: ahead of the trainer"}
	WorkerBusy    = Desc{"worker_busy_ratio", Ratio, Gauge, "everything but waiting for work"}
	WorkerRunning = Desc{"worker_running_ratio", Ratio, Gauge, "running or ready to run"}
	WorkerStorage = Desc{"worker_storage_wait_ratio", Ratio, Gauge,
		"waiting for storage: state D, or asleep in a file read"}
	WorkerOpenWait   = Desc{"worker_open_wait_ratio", Ratio, Gauge, "asleep in open, stat, close or a directory read"}
	WorkerFileLock   = Desc{"worker_file_lock_ratio", Ratio, Gauge, "waiting for a file lock (flock, fcntl)"}
	WorkerLock       = Desc{"worker_lock_ratio", Ratio, Gauge, "waiting for a lock (futex)"}
	WorkerSharedLock = Desc{"worker_shared_lock_ratio", Ratio, Gauge,
		"waiting for a lock that processes share (futex): a part of worker_lock_ratio"}
	WorkerHandOver  = Desc{"worker_hand_over_ratio", Ratio, Gauge, "blocked handing a batch over"}
	WorkerOtherWait = Desc{"worker_other_wait_ratio", Ratio, Gauge,
		"asleep elsewhere: network, timers, other system calls; not while a program that it runs uses a CPU"}
	WorkerRemote = Desc{"worker_remote_wait_ratio", Ratio, Gauge,
		"asleep for a TCP connection: a part of worker_other_wait_ratio, and where threads feed the trainer of what " +
			"is at work"}
	WorkerPrograms = Desc{"worker_programs_ratio", Ratio, Gauge, "asleep while a program that it runs uses a CPU"}
	WorkerStopped  = Desc{"worker_stopped_ratio", Ratio, Gauge, "stopped or frozen"}
	TrainerStopped = Desc{"trainer_stopped_ratio", Ratio, Gauge,
		"share of samples that found the trainer stopped or frozen"}
)

// What a worker costs.
var (
	WorkerCPU = Desc{"worker_cpu_ratio", Ratio, Gauge, "CPU seconds per second and worker, of programs that " +
		"it runs too; above 1 where a worker runs several threads"}
	WorkerParallel = Desc{"worker_parallelism", Count, Gauge, "CPUs on which a worker computes at once: CPU time of " +
		"all its threads over that of its main thread, whose time to make a batch it is"}
	WorkerRunDelay = Desc{"worker_run_delay_ratio", Ratio, Gauge, "share of time a worker was ready but had no CPU"}
	WorkerCPUBatch = Desc{"worker_cpu_per_batch_s", Seconds, Gauge,
		"worker CPU time per batch, of programs that it runs too"}
	WorkerWaitBatch = Desc{"worker_wait_per_batch_s", Seconds, Gauge,
		"worker time per batch spent neither on a CPU nor waiting for work nor for a CPU"}
	WorkerThreads = Desc{"worker_threads", Count, Gauge, "threads per worker"}
	WorkerRSS     = Desc{"worker_rss_bytes", Bytes, Gauge, "resident memory per worker, pages shared with the " +
		"trainer included"}
	WorkerPrivate = Desc{"worker_private_bytes", Bytes, Gauge, "resident memory per worker less file-backed and " +
		"shared pages; pages still shared with the trainer since fork count too"}
	WorkerGrowth = Desc{"worker_memory_growth_bytes_per_s", BytesPerS, Gauge,
		"growth of resident memory per second and worker"}
	WorkerImbalance = Desc{"worker_imbalance_ratio", Count, Gauge,
		"CPU time of the busiest worker over the median worker's"}
	WithData = Desc{"workers_with_data", Count, Gauge, "workers of one trainer that have data to read: no " +
		"more than the dataset's shards"}
	WorkersOneCPUSet = Desc{"worker_affinity_cores", Cores, Gauge, "cores the workers may run on, where fewer than " +
		"the trainer's"}
)

// Reading.
var (
	ReadBytes = Desc{"read_bytes_per_s", BytesPerS, Gauge, "bytes per second that loading processes read " +
		"through system calls"}
	StorageBytes = Desc{"storage_bytes_per_s", BytesPerS, Gauge,
		"bytes per second that loading processes fetched from storage"}
	CacheHits = Desc{"cache_hit_ratio", Ratio, Gauge, "share of bytes read that came from the page cache: 1 - " +
		"fetched/read, at least 0"}
	BytesPerRead    = Desc{"bytes_per_read", Bytes, Gauge, "mean size of a read system call of the loading processes"}
	ReadsPerBatch   = Desc{"reads_per_batch", Count, Gauge, "read system calls per batch"}
	StoragePerBatch = Desc{"storage_bytes_per_batch", Bytes, Gauge, "bytes fetched from storage per batch"}
	FileOpens       = Desc{"file_opens_per_s", PerSecond, Gauge, "dataset files opened per second"}
	HDF5Opens       = Desc{"hdf5_opens_per_s", PerSecond, Gauge, "HDF5 files opened per second"}
	OpensPerBatch   = Desc{"opens_per_batch", Count, Gauge, "dataset files opened per batch"}
	DistinctOpens   = Desc{"distinct_files_ratio", Ratio, Gauge, "distinct files over opens in the window: near 1 " +
		"means each open is another file, near 0 the same files again and again"}
	OpensPerFile = Desc{"opens_per_file", Count, Gauge, "how often a file of the dataset is opened before nearly " +
		"all have been opened once, at the least; 1 where each holds an item"}
	HandlePresent = Desc{"handle_present_ratio", Ratio, Gauge, "share of samples of a busy worker that found a " +
		"dataset file open"}
	DatasetBytes = Desc{"dataset_bytes", Bytes, Gauge, "size of the dataset on storage, where it could be seen"}
	DatasetFileN = Desc{"dataset_files", Count, Gauge, "files of the dataset, where they could be counted (bounded)"}
	FileBytes    = Desc{"dataset_file_bytes", Bytes, Gauge, "median size of the dataset's files"}
)

// The layout of the HDF5 dataset most likely read: the largest one of the files the job has open.
var (
	HDF5Chunk    = Desc{"hdf5_chunk_bytes", Bytes, Gauge, "bytes of one chunk, decoded; absent for contiguous layout"}
	HDF5Item     = Desc{"hdf5_item_bytes", Bytes, Gauge, "bytes of one item (first axis)"}
	HDF5PerChunk = Desc{"hdf5_items_per_chunk", Count, Gauge, "items (first axis) a chunk holds"}
	HDF5Touched  = Desc{"hdf5_chunks_per_item", Count, Gauge, "chunks one item touches"}
	HDF5Amplify  = Desc{"hdf5_read_amplification", Count, Gauge,
		"bytes of the chunks an item touches over the item's bytes"}
	HDF5Cache = Desc{"hdf5_cache_bytes", Bytes, Gauge, "chunk cache the job's HDF5 library gives a dataset by " +
		"default (1 MiB before version 2.0, 8 MiB from it on); assumed, the job may set another"}
	HDF5Filters = Desc{"hdf5_filters", Count, Gauge, "filters in the dataset's pipeline; 0 is uncompressed"}
	HDF5Stored  = Desc{"hdf5_stored_bytes", Bytes, Gauge, "bytes the dataset occupies in the file"}
)

// The machine.
var (
	UsableCPUs = Desc{"usable_cpus", Cores, Gauge, "cores the job may use: min(affinity, cpuset, cgroup quota)"}
	FullCPUs   = Desc{"full_cpus", Cores, Gauge, "usable CPUs that lose nothing to each other beyond what was seen: " +
		"as many as there are cores or, where a hypervisor may hide that two share one, as computed in the watch"}
	PresentCPUs  = Desc{"present_cpus", Count, Gauge, "cores of the machine that are online"}
	CPUBusyRatio = Desc{"cpu_busy_ratio", Ratio, Gauge, "share of all the machine's CPU time that was used by anybody"}
	UsableBusy   = Desc{"usable_cpu_busy_ratio", Ratio, Gauge, "share of the job's usable CPU time that was in use, " +
		"by the job or by others"}
	JobCPU     = Desc{"job_cpu_cores", Cores, Gauge, "cores' worth of CPU time the job's process tree used"}
	TrainerCPU = Desc{"trainer_cpu_cores", Cores, Gauge, "cores' worth of CPU time the trainers used, without " +
		"their workers"}
	OtherCPU = Desc{"other_cpu_cores", Cores, Gauge, "cores' worth of CPU time used by processes outside the " +
		"job, pipetune excepted"}
	StealRatio = Desc{"cpu_steal_ratio", Ratio, Gauge, "share of CPU time the hypervisor gave to others"}
	StealUsual = Desc{"cpu_steal_usual_ratio", Ratio, Gauge, "share of the CPU time that was wanted which the " +
		"hypervisor gave to others, from the machine's start to the watch's"}
	Throttled = Desc{"cpu_quota_throttled_ratio", Ratio, Gauge,
		"share of quota periods in which the job was held back"}
	CPUPressure = Desc{"cpu_pressure_ratio", Ratio, Gauge, "share of time some task waited for a CPU (PSI some; " +
		"the job's cgroup where there is one, else the machine)"}
	IOPressure = Desc{"io_pressure_ratio", Ratio, Gauge, "share of time some task waited for input or output (PSI " +
		"some)"}
	MemPressure = Desc{"memory_pressure_ratio", Ratio, Gauge, "share of time all tasks waited for memory (PSI full)"}
	Available   = Desc{"available_memory_bytes", Bytes, Gauge, "memory that can still be used: the smaller of " +
		"MemAvailable and the room left in the cgroup"}
	MemLimit     = Desc{"memory_limit_bytes", Bytes, Gauge, "the smaller of physical memory and the cgroup's limit"}
	MemLimitUsed = Desc{"memory_limit_used_ratio", Ratio, Gauge, "memory that cannot be reclaimed over the limit: " +
		"(used - page cache) / limit of the cgroup, or of the machine"}
	SwapInRate   = Desc{"swap_in_bytes_per_s", BytesPerS, Gauge, "bytes per second read back from swap"}
	SwapOutRate  = Desc{"swap_out_bytes_per_s", BytesPerS, Gauge, "bytes per second written to swap"}
	RefaultRate  = Desc{"refaults_per_s", PerSecond, Gauge, "file pages read again soon after eviction, per second"}
	ShmFree      = Desc{"shm_free_bytes", Bytes, Gauge, "room left in the job's /dev/shm: the least seen"}
	ShmTotal     = Desc{"shm_total_bytes", Bytes, Gauge, "size of the job's /dev/shm"}
	DiskReadRate = Desc{"disk_reads_per_s", PerSecond, Gauge, "read requests per second of the devices that hold " +
		"the dataset"}
	DiskByteRate = Desc{"disk_read_bytes_per_s", BytesPerS, Gauge, "bytes per second read from those devices"}
	DiskLatency  = Desc{"disk_read_latency_s", Seconds, Gauge, "mean time of a read request in queue and device"}
	DiskQueue    = Desc{"disk_queue_depth", Count, Gauge, "mean requests in flight"}
	DiskUtil     = Desc{"disk_busy_ratio", Ratio, Gauge, "share of time with at least one request in flight"}
	StorageNet   = Desc{"storage_is_network", Count, Gauge, "1 where the dataset lies on a network or FUSE file " +
		"system, 0 where it does not"}
	StorageTmpfs = Desc{"storage_is_tmpfs", Count, Gauge, "1 where the dataset lies on tmpfs, 0 where it does not"}
	Rotational   = Desc{"storage_rotational", Count, Gauge, "the kernel's rotational flag of the device; virtual " +
		"disks set it too"}
	ReadIOPSLimit = Desc{"read_iops_limit", PerSecond, Gauge, "read operations per second the job's cgroup allows"}
	ReadBPSLimit  = Desc{"read_bytes_limit_per_s", BytesPerS, Gauge,
		"bytes per second the job's cgroup allows to be read"}
)

// GPUs of the job: the mean over them, unless the help says otherwise.
var (
	GPUBusy         = Desc{"gpu_busy_ratio", Ratio, Gauge, "share of time at least one kernel ran"}
	GPUCount        = Desc{"gpus", Count, Gauge, "GPUs the job uses, or, where that is not known, that are visible"}
	GPUMemUsedRatio = Desc{"gpu_memory_used_ratio", Ratio, Gauge,
		"device memory allocated over device memory, fullest GPU"}
	GPUPowerRatio = Desc{"gpu_power_ratio", Ratio, Gauge, "power draw over the enforced limit"}
	GPUThrottled  = Desc{"gpu_throttled_ratio", Ratio, Gauge, "share of readings with a slowdown reason that costs " +
		"speed (power cap, thermal, power brake), worst GPU"}
	GPUClockLost = Desc{"gpu_clock_lost_ratio", Ratio, Gauge, "share of the highest SM clock that readings with " +
		"such a reason lack, over all readings, worst GPU"}
	GPUSMActive   = Desc{"gpu_sm_activity", Ratio, Gauge, "mean share of SMs at work (GPM)"}
	GPUDRAMActive = Desc{"gpu_dram_activity", Ratio, Gauge, "share of peak device-memory bandwidth in use (GPM)"}
	PcieGenRatio  = Desc{"gpu_pcie_link_ratio", Ratio, Gauge, "link bandwidth in use over what device and slot allow " +
		"(generation and width), best seen under load, worst GPU"}
	PcieRxRate    = Desc{"gpu_pcie_rx_rate_bytes_per_s", BytesPerS, Gauge, "bytes per second from host to GPU"}
	GPUOthersBusy = Desc{"gpu_others_busy_ratio", Ratio, Gauge, "share of time the GPUs compute for processes " +
		"outside the job"}
	GPUIdleJob = Desc{"gpus_idle", Count, Gauge, "visible GPUs that no process uses"}
)

// The watch itself.
var (
	WindowTime     = Desc{"window_s", Seconds, Gauge, "length of the steady window"}
	SampleCoverage = Desc{"look_coverage_ratio", Ratio, Gauge, "samples taken over samples planned in the window"}
	WaitNoise      = Desc{"input_wait_spread_ratio", Ratio, Gauge, "width of the 95 % interval of the input wait"}
	SyscallSeen    = Desc{"syscall_visible_ratio", Ratio, Gauge,
		"share of samples for which /proc/PID/syscall could be read"}
)

// Derived lists all derived signals.
var Derived = []Desc{
	DataStall, Headroom, DeviceWait, RankStallSpread, FeedingRanks, RestBusy, CopyTime, InputWait, HostTime, GILWait,
	DeviceTime, SaveTime, SavePause, SaveBytes, SaveEvery, EpochGap, SamplerTime, SamplerStart, MainCPU, MainRunDelay,
	MainStorage, MainReadBytes, InWorkerless, NumWorkers, Ranks, BatchesPerS, SamplesPerS, BatchBytes, StepTime,
	FreeStepTime, QueueBatches,
	TensorsPerBatch, QueueCapacity, Restarts, EpochTime, RestartGap, HeadOfLine, LoaderIsAhead, IdleWhileWaits, PinBusy,
	PinLock, PinBatch, FeedersAtOnce, WorkerIdle, WorkerBusy, WorkerRunning, WorkerStorage, WorkerOpenWait,
	WorkerFileLock, WorkerLock, WorkerSharedLock, WorkerHandOver, WorkerOtherWait, WorkerRemote, WorkerPrograms,
	WorkerStopped, TrainerStopped, WorkerCPU, WorkerParallel, WorkerRunDelay, WorkerCPUBatch, WorkerWaitBatch,
	WorkerThreads, WorkerRSS, WorkerPrivate, WorkerGrowth,
	WorkerImbalance, WithData, WorkersOneCPUSet, ReadBytes, StorageBytes, CacheHits, BytesPerRead, ReadsPerBatch,
	StoragePerBatch, FileOpens, HDF5Opens, OpensPerBatch, DistinctOpens, OpensPerFile, HandlePresent,
	DatasetBytes, DatasetFileN, FileBytes,
	HDF5Chunk, HDF5Item, HDF5PerChunk, HDF5Touched, HDF5Amplify, HDF5Cache, HDF5Filters, HDF5Stored,
	UsableCPUs, FullCPUs, PresentCPUs, CPUBusyRatio, UsableBusy, JobCPU, TrainerCPU, OtherCPU, StealRatio, StealUsual,
	Throttled, CPUPressure, IOPressure, MemPressure, Available, MemLimit, MemLimitUsed, SwapInRate, SwapOutRate,
	RefaultRate, ShmFree, ShmTotal,
	DiskReadRate, DiskByteRate, DiskLatency, DiskQueue, DiskUtil, StorageNet, StorageTmpfs, Rotational, ReadIOPSLimit,
	ReadBPSLimit, GPUBusy, GPUCount, GPUMemUsedRatio, GPUPowerRatio, GPUThrottled, GPUClockLost, GPUSMActive,
	GPUDRAMActive, PcieGenRatio, PcieRxRate, GPUOthersBusy, GPUIdleJob, WindowTime, SampleCoverage, WaitNoise,
	SyscallSeen,
}
