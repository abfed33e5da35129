package metric

// One process of the job's tree. Entity "process/<pid>.<start ticks>"; its role comes with the event
// recording.EventProcess.
var (
	ProcCPU      = Process.counter("process_cpu_s", Seconds, "CPU time of all its threads (utime + stime)")
	ProcEndedCPU = Process.counter("process_ended_children_cpu_s", Seconds, "CPU time of its children that have "+
		"ended and were waited for, theirs included (cutime + cstime)")
	ProcMainCPU = Process.counter("process_main_cpu_s", Seconds, "CPU time of its main thread, nanosecond resolution "+
		"(task schedstat field 1)")
	ProcRunDelay = Process.counter("process_main_run_delay_s", Seconds, "time its main thread was ready but had no "+
		"CPU; includes being held back by a CPU quota (task schedstat field 2)")
	ProcReadChars = Process.counter("process_read_chars_bytes", Bytes, "bytes through read system calls, page-cache "+
		"hits and pipes included (rchar)")
	ProcReadCalls = Process.counter("process_read_calls", Count, "read system calls (syscr)")
	ProcReadBytes = Process.counter("process_read_bytes", Bytes, "bytes its reads caused to be fetched from storage "+
		"(read_bytes); FUSE and some network file systems do not count")
	ProcRSS    = Process.gauge("process_rss_bytes", Bytes, "resident memory, shared pages included")
	ProcShared = Process.gauge("process_shared_bytes", Bytes, "resident file-backed and shared-memory pages (statm "+
		"shared)")
	ProcMajFaults = Process.counter("process_major_faults", Count, "page faults that needed storage")
	ProcThreads   = Process.gauge("process_threads", Count, "threads")

	// Of trainers only: what tells a spin on the device from work of the host, and the reads of the training loop from
	// those of other threads.
	ProcMainReadChars = Process.counter("process_main_read_chars_bytes", Bytes, "bytes through read system calls of "+
		"a trainer's main thread alone, page-cache hits and pipes included (task io rchar)")
	ProcMainWriteChars = Process.counter("process_main_write_chars_bytes", Bytes, "bytes through write system calls "+
		"of a trainer's main thread alone, pipes included (task io wchar)")
	ProcMainSystem = Process.counter("process_main_system_s", Seconds, "system time of a trainer's main thread, in "+
		"steps of 10 ms (task stat stime)")
)

// Samples of one thread: how often it was found in each state when sampled some 50 times a second. Entities
// "process/<pid>.<start>" (its main thread), "pin/<pid>.<start>" (the pinning thread of a trainer),
// "taker/<pid>.<start>" (a thread of the job's own that takes batches for a trainer's main thread, a prefetcher) and
// "autograd/<pid>.<start>" (the autograd threads of a trainer as one: running where any of them runs, else what the
// first is in), and "thread/<pid>.<start>.<tid>", a thread of a trainer without DataLoader workers that uses a CPU; it
// has process_main_cpu_s and process_main_run_delay_s of its own. All are counters of samples; the share of time in a
// state is the ratio of differences.
var (
	ThreadSamples = Threads.counter("looks", Count, "samples taken")
	ThreadPlanned = Threads.counter("looks_planned", Count, "of a trainer: samples that the pace of the watch asked "+
		"for, which is lower where a sample costs much")
	ThreadRunning     = Threads.counter("looks_running", Count, "on a CPU or ready to run")
	ThreadHostRunning = Threads.counter("looks_host_running", Count, "of a trainer: samples in which its main thread "+
		"or one of its autograd threads was on a CPU, ready to run, or lacked nothing but Python's global lock")
	ThreadQueuePoll = Threads.counter("looks_queue_poll", Count, "in poll on one descriptor with the DataLoader's "+
		"own time-out, of a trainer on a pipe: waiting for a batch (trainer, pinning thread) or for work (worker)")
	ThreadFutexTimed = Threads.counter("looks_futex_timed", Count, "in a futex wait with a time-out")
	ThreadFutex      = Threads.counter("looks_futex", Count, "in a futex wait without a time-out: a lock")
	ThreadGIL        = Threads.counter("looks_gil", Count, "of a trainer: in a futex wait in the static data of "+
		"Python: for its global lock")
	ThreadGILReceiving = Threads.counter("looks_gil_receiving", Count, "of looks_pipe_read, of a trainer: waiting "+
		"for Python's global lock as it receives a batch")
	ThreadDisk     = Threads.counter("looks_disk", Count, "in uninterruptible sleep (state D): storage, as a rule")
	ThreadFileRead = Threads.counter("looks_file_read", Count, "asleep in a read of a file, a network file system or "+
		"FUSE")
	ThreadFileOpen  = Threads.counter("looks_file_open", Count, "asleep in open, stat, close or a directory read")
	ThreadFileLock  = Threads.counter("looks_file_lock", Count, "asleep in flock or fcntl: a file lock")
	ThreadPipeWrite = Threads.counter("looks_pipe_write", Count, "asleep in a write: the receiver is slow")
	ThreadPipeRead  = Threads.counter("looks_pipe_read", Count, "asleep in a read of a pipe or socket, of a trainer "+
		"only of one of this machine: receiving; of a trainer also running while it has a socket to a worker open, "+
		"which is how a batch is received")
	ThreadSleep     = Threads.counter("looks_sleep", Count, "in nanosleep")
	ThreadDevice    = Threads.counter("looks_device", Count, "asleep in ioctl or poll on a GPU's descriptor")
	ThreadWaitChild = Threads.counter("looks_wait_child", Count, "waiting for a child process")
	ThreadStopped   = Threads.counter("looks_stopped", Count, "stopped or frozen")
	FeederAtWork    = Threads.counter("looks_at_work_beside", Count, "of a feeder: samples that found it neither "+
		"waiting nor stopped while its trainer's main thread did not run")
	ThreadRemote = Threads.counter("looks_remote", Count, "of these, of a trainer, a worker or a feeder: asleep for "+
		"a TCP connection, in a receive, in a connect, or in a poll of a socket with a time-out")
	ThreadSharedFutex = Threads.counter("looks_futex_shared", Count, "of these, of a worker: in a futex wait for "+
		"memory that processes share (without FUTEX_PRIVATE_FLAG): a lock between processes")
	ThreadOther = Threads.counter("looks_other", Count, "in another system call, or asleep in an unknown place")
)

// RemoteSamples splits looks_remote of a trainer and those that load for it by who they wait for. Entity
// "remote/<trainer pid>.<start>.<address>".
var RemoteSamples = Remote.counter("remote_looks", Count, "samples of a trainer, its workers or feeders that found "+
	"one asleep for a connection to this peer")

// Samples of the code that a trainer runs, by a clock that the kernel runs on the thread while it is on a CPU
// (perf_event_open, user code only). Entities "process/<pid>.<start>" (the main thread of a trainer) and
// "autograd/<pid>.<start>" (its autograd threads together). All are counters of samples. What is none of these is other
// code: Python, NumPy, the C library.
var (
	HostSamples = Host.counter("host_samples", Count, "samples of user code, 99 for a second of CPU time less what "+
		"was in the kernel")
	HostSamplesDevice = Host.counter("host_samples_device", Count, "of these, in the GPU driver's libraries or in "+
		"what they wait with (the clock of the vDSO, the C library): launching, copying, or spinning until the "+
		"device is done")
	HostSamplesReading = Host.counter("host_samples_reading", Count, "of the samples, in libraries that read, "+
		"decompress or decode data (HDF5, zlib, libjpeg, Pillow, Arrow, …) or in what of the C library they call")
	// Entity "code/<trainer pid>.<start>.<library>".
	WorkerCode = Host.counter("worker_code_samples", Count, "samples of the trainer's workers, of one at a time, "+
		"that found it in this library, in Python itself, in the kernel, or in other code")
	HostSamplesModel = Host.counter("host_samples_model", Count, "of the samples, in the libraries that PyTorch "+
		"computes with")
)

// What WorkerCode has in the place of a library.
const (
	CodePython = "Python" // the interpreter
	CodeKernel = "kernel" // not sampled: what the samples leave of the CPU time
	CodeOther  = "other"
)

// NoLibrary are these.
var NoLibrary = []string{CodePython, CodeKernel, CodeOther}
