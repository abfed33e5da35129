package job

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// node is one living process below the job's roots: what is known of it and the role it was given.
type node struct {
	id      procfs.ID
	ppid    int
	proc    *procfs.Process
	follows bool // its births matter at every tick
	facts   facts
	inside  inside

	seen      time.Duration // when it was first seen
	described bool
	// everOwner says that it had loader workers: a trainer stays one between two epochs, when its workers are gone.
	everOwner    bool
	takesBatches bool // as it was reported
	// everLauncher says that trainers with workers, or ranks, were found below it: it is none itself once they are
	// gone.
	everLauncher bool
	threads      threadNames // of a trainer

	part
	recordedRole bool // the sink knows this part

	// What was handed to the sink: of a worker, that its birth was counted; of a trainer, the count.
	counted        bool
	recorded       bool // its birth is among the events, and so must its exit be
	recordedBirths int  // -1: none yet
}

// part is what classification gives a process.
type part struct {
	role   Role
	owner  procfs.ID // trainer of a worker
	rank   int
	method StartMethod
}

// facts is what /proc tells every reader of a process, without the job's mmap lock but for the command line.
type facts struct {
	comm     string // raw
	argv     [][]byte
	kind     commandKind
	exe      string
	python   bool
	uid      int // -1 = unknown
	innerPID int
	affinity int
	caught   uint64
	// polls says that it was once found as only a loader worker is found; looked for where its signal handlers tell
	// nothing.
	polls bool
}

// inside is what only the same user may read, under the process' mmap lock: read once, for processes that may be
// trainers.
type inside struct {
	tries int
	libraries
	rank int // from the environment; -1 = none
	step string
	// slurm names the Slurm job and the node; "" outside of Slurm.
	slurm string
	// place is where in a job of several nodes it stands.
	place recording.Place
	gpus  GPUChoice
	// statics are where the static data of its Python lie.
	statics procfs.Statics
}

// workerSignals are the handlers every DataLoader worker installs, in all versions seen (torch/csrc/DataLoader.cpp:
// setHandler for SIGBUS, SIGSEGV, SIGFPE and SIGTERM): bits 6, 7, 10 and 14 of SigCgt.
const workerSignals = 0x44c0

// dataWorkerName is what torch 2.5 and newer names its workers' main thread (torch/utils/data/_utils/worker.py).
const dataWorkerName = "pt_data_worker"

// readInside reads what is inside a process that may be a trainer.
func readInside(fs procfs.FS, p *procfs.Process) inside {
	in := inside{rank: -1}
	if env, err := p.Environ(); err == nil {
		getenv := func(name string) string { return env[name] }
		in.rank, in.gpus = rankOf(env), choiceOf(fs, p, env)
		in.slurm, in.place = SlurmKey(getenv), PlaceOf(getenv)
		if env["SLURM_JOB_ID"] != "" {
			in.step = env["SLURM_JOB_ID"] + "." + env["SLURM_STEP_ID"]
		}
	}
	in.libraries, _ = readLibraries(p) // what cannot be read is unknown
	in.statics, _ = p.Statics(isRuntime)
	if in.accelerator == "" {
		in.accelerator = acceleratorHeld(p)
	}
	return in
}

// queuePollMillis is the time-out of a worker's wait for work: MP_STATUS_CHECK_INTERVAL of
// torch/utils/data/_utils/__init__.py, in every version seen.
const queuePollMillis = 5000

// pollsForWork says whether the process holds batches in shared memory under its own number, or waits for work as a
// worker does: poll on one descriptor for five seconds. Both are of DataLoader workers alone.
func (n *node) pollsForWork() bool {
	if task, err := n.proc.Task(n.id.PID); err == nil {
		defer task.Close()
		var sc procfs.Syscall
		if task.Syscall(&sc) == nil && !sc.Running && sc.Number >= 0 && sc.Args[1] == 1 &&
			sc.Args[2] == queuePollMillis {
			return true
		}
	}
	fds, _, err := n.proc.FDs(maxGPUDescriptors)
	own := "/dev/shm/torch_" + strconv.Itoa(n.facts.innerPID) + "_" // not at the start for a job in a chroot
	return err == nil && slices.ContainsFunc(fds, func(fd procfs.FD) bool { return strings.Contains(fd.Target, own) })
}

// patience is how long a read that takes another process' mmap lock may last. Such reads take well under a millisecond
// and hang only while a thread of that process holds the lock and waits for a dead mount.
const patience = 250 * time.Millisecond

// maxStuck bounds the goroutines that wait for such reads; further ones are then not begun.
const maxStuck = 4

// Guard runs reads that may hang. Its zero value is ready.
type Guard struct{ stuck atomic.Int32 }

// Guarded reads something of a process, through a hold of its own, in a goroutine that it gives up on after patience;
// false where nothing was read. read must own everything it touches.
func Guarded[T any](g *Guard, fs procfs.FS, id procfs.ID, read func(*procfs.Process) (T, error)) (value T, ok bool) {
	if g.stuck.Load() >= maxStuck {
		return value, false
	}
	done := make(chan T, 1)
	g.stuck.Add(1)
	go func() {
		var v T
		p, err := fs.OpenID(id)
		if err == nil {
			v, err = read(p)
			p.Close()
		}
		g.stuck.Add(-1)
		if err == nil {
			done <- v
		}
		close(done)
	}()
	select {
	case value, ok = <-done:
	case <-time.After(patience):
	}
	return value, ok
}
