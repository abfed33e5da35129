package metric

// One process of the job's tree. Entity "process/<pid>.<start ticks>"; its role comes with the event
// recording.EventProcess.
var (
	ProcCPU      = Desc{"process_cpu_s", Seconds, Counter, "CPU time of all its threads (utime + stime)"}
	ProcEndedCPU = Desc{"process_ended_children_cpu_s", Seconds, Counter,
		"CPU time of its children that have ended and were waited for, theirs included (cutime + cstime)"}
	ProcMainCPU = Desc{"process_main_cpu_s", Seconds, Counter, "CPU time of its main thread, nanosecond resolution " +
		"(task schedstat field 1)"}
	ProcRunDelay = Desc{"process_main_run_delay_s", Seconds, Counter,
		"time its main thread was ready but had no CPU; includes being held back by a CPU quota (task schedstat " +
			"field 2)"}
	ProcReadChars = Desc{"process_read_chars_bytes", Bytes, Counter,
		"bytes through read system calls, page-cache hits and pipes included (rchar)"}
	ProcReadCalls = Desc{"process_read_calls", Count, Counter, "read system calls (syscr)"}
	ProcReadBytes = Desc{"process_read_bytes", Bytes, Counter, "bytes its reads caused to be fetched from storage " +
		"(read_bytes); FUSE and some network file systems do not count"}
	ProcRSS    = Desc{"process_rss_bytes", Bytes, Gauge, "resident memory, shared pages included"}
	ProcShared = Desc{"process_shared_bytes", Bytes, Gauge, "resident file-backed and shared-memory pages (statm " +
		"shared)"}
	ProcMajFaults = Desc{"process_major_faults", Count, Counter, "page faults that needed storage"}
	ProcThreads   = Desc{"process_threads", Count, Gauge, "threads"}

	// Of trainers only: what tells a spin on the device from work of the host, and the reads of the training loop from
	// those of other threads.
	ProcMainReadChars = Desc{"process_main_read_chars_bytes", Bytes, Counter,
		"bytes through read system calls of a trainer's main thread alone, page-cache hits and pipes included (task " +
			"io rchar)"}
	ProcMainWriteChars = Desc{"process_main_write_chars_bytes", Bytes, Counter,
		"bytes through write system calls of a trainer's main thread alone, pipes included (task io wchar)"}
	ProcMainSystem = Desc{"process_main_system_s", Seconds, Counter,
		"system time of a trainer's main thread, in steps of 10 ms (task stat stime)"}
)

// Process lists the signals of the process sampler.
var Process = []Desc{ProcCPU, ProcEndedCPU, ProcMainCPU, ProcRunDelay, ProcReadChars, ProcReadCalls, ProcReadBytes,
	ProcRSS, ProcShared, ProcMajFaults, ProcThreads, ProcMainReadChars, ProcMainWriteChars, ProcMainSystem}

// Samples of one thread: how often it was found in each state when sampled some 50 times a second. Entities
// "process/<pid>.<start>" (its main thread), "pin/<pid>.<start>" (the pinning thread of a trainer),
// "taker/<pid>.<start>" (a thread of the job's own that takes batches for a trainer's main thread, a prefetcher) and
// "autograd/<pid>.<start>" (the autograd threads of a trainer as one: running where any of them runs, else what the
// first is in), and "thread/<pid>.<start>.<tid>", a thread of a trainer without DataLoader workers that uses a CPU; it
// has process_main_cpu_s and process_main_run_delay_s of its own. All are counters of samples; the share of time in a
// state is the ratio of differences.
var (
	ThreadSamples = Desc{"looks", Count, Counter, "samples taken"}
	ThreadPlanned = Desc{"looks_planned", Count, Counter, "of a trainer: samples that the pace of the watch asked " +
		"for, which is lower where a sample costs much"}
	ThreadRunning     = Desc{"looks_running", Count, Counter, "on a CPU or ready to run"}
	ThreadHostRunning = Desc{"looks_host_running", Count, Counter, "of a trainer: samples in which its main thread " +
		"or one of its autograd threads was on a CPU, ready to run, or lacked nothing but Python's global lock"}
	ThreadQueuePoll = Desc{"looks_queue_poll", Count, Counter, "in poll on one descriptor with the DataLoader's own " +
		"time-out, of a trainer on a pipe: waiting for a batch (trainer, pinning thread) or for work (worker)"}
	ThreadFutexTimed = Desc{"looks_futex_timed", Count, Counter, "in a futex wait with a time-out"}
	ThreadFutex      = Desc{"looks_futex", Count, Counter, "in a futex wait without a time-out: a lock"}
	ThreadGIL        = Desc{"looks_gil", Count, Counter, "of a trainer: in a futex wait in the static data of " +
		"Python: for its global lock"}
	ThreadGILReceiving = Desc{"looks_gil_receiving", Count, Counter, "of looks_pipe_read, of a trainer: waiting for " +
		"Python's global lock as it receives a batch"}
	ThreadDisk     = Desc{"looks_disk", Count, Counter, "in uninterruptible sleep (state D): storage, as a rule"}
	ThreadFileRead = Desc{"looks_file_read", Count, Counter,
		"asleep in a read of a file, a network file system or FUSE"}
	ThreadFileOpen  = Desc{"looks_file_open", Count, Counter, "asleep in open, stat, close or a directory read"}
	ThreadFileLock  = Desc{"looks_file_lock", Count, Counter, "asleep in flock or fcntl: a file lock"}
	ThreadPipeWrite = Desc{"looks_pipe_write", Count, Counter, "asleep in a write: the receiver is slow"}
	ThreadPipeRead  = Desc{"looks_pipe_read", Count, Counter, "asleep in a read of a pipe or socket, of a trainer " +
		"only of one of this machine: receiving; of a trainer also running while it has a socket to a worker open, " +
		"which is how a batch is received"}
	ThreadSleep     = Desc{"looks_sleep", Count, Counter, "in nanosleep"}
	ThreadDevice    = Desc{"looks_device", Count, Counter, "asleep in ioctl or poll on a GPU's descriptor"}
	ThreadWaitChild = Desc{"looks_wait_child", Count, Counter, "waiting for a child process"}
	ThreadStopped   = Desc{"looks_stopped", Count, Counter, "stopped or frozen"}
	FeederAtWork    = Desc{"looks_at_work_beside", Count, Counter, "of a feeder: samples that found it neither " +
		"waiting nor stopped while its trainer's main thread did not run"}
	ThreadRemote = Desc{"looks_remote", Count, Counter, "of these, of a trainer, a worker or a feeder: asleep for a " +
		"TCP connection, in a receive, in a connect, or in a poll of a socket with a time-out"}
	ThreadSharedFutex = Desc{"looks_futex_shared", Count, Counter, "of these, of a worker: in a futex wait for " +
		"memory that processes share (without FUTEX_PRIVATE_FLAG): a lock between processes"}
	ThreadOther = Desc{"looks_other", Count, Counter, "in another system call, or asleep in an unknown place"}
)

// Threads lists the signals of sampling threads.
var Threads = []Desc{ThreadSamples, ThreadRunning, ThreadQueuePoll, ThreadFutexTimed, ThreadFutex, ThreadGIL,
	ThreadDisk, ThreadFileRead, ThreadFileOpen, ThreadFileLock, ThreadPipeWrite, ThreadPipeRead, ThreadSleep,
	ThreadDevice, ThreadWaitChild, ThreadStopped, ThreadOther, ThreadHostRunning, FeederAtWork, ThreadRemote,
	ThreadSharedFutex, ThreadGILReceiving, ThreadPlanned}

// RemoteSamples splits looks_remote of a trainer and those that load for it by who they wait for. Entity
// "remote/<trainer pid>.<start>.<address>".
var RemoteSamples = Desc{"remote_looks", Count, Counter, "samples of a trainer, its workers or feeders that found " +
	"one asleep for a connection to this peer"}

// Remote lists the signals of peers.
var Remote = []Desc{RemoteSamples}

// Samples of the code that a trainer runs, by a clock that the kernel runs on the thread while it is on a CPU
// (perf_event_open, user code only). Entities "process/<pid>.<start>" (the main thread of a trainer) and
// "autograd/<pid>.<start>" (its autograd threads together). All are counters of samples. What is none of these is other
// code: Python, NumPy, the C library.
var (
	HostSamples = Desc{"host_samples", Count, Counter, "samples of user code, 99 for a second of CPU time " +
		"less what was in the kernel"}
	HostSamplesDevice = Desc{"host_samples_device", Count, Counter,
		"of these, in the GPU driver's libraries or in what they wait with (the clock of the vDSO, the C library): " +
			"launching, copying, or spinning until the device is done"}
	HostSamplesReading = Desc{"host_samples_reading", Count, Counter,
		"of the samples, in libraries that read, decompress or decode data (HDF5, zlib, libjpeg, Pillow, Arrow, …) " +
			"or in what of the C library they call"}
	HostSamplesModel = Desc{"host_samples_model", Count, Counter, "of the samples, in the libraries that PyTorch " +
		"computes with"}
)

// Host lists the signals of the host sampler.
var Host = []Desc{HostSamples, HostSamplesDevice, HostSamplesReading, HostSamplesModel}
