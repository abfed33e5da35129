package job

import (
	"strconv"

	"github.com/pipetune/pipetune/internal/procfs"
)

// Role is the part a process plays in a training job.
type Role string

// The roles. A thread has none; the pinning thread of a trainer is Process.PinThread.
const (
	// Trainer runs the training loop; one per rank.
	Trainer Role = "trainer"
	// Worker is a DataLoader worker of a trainer.
	Worker Role = "worker"
	// Server is Python's forkserver, its resource tracker, or torch's shared-memory manager.
	Server Role = "server"
	// Launcher started trainers and waits for them: torchrun, a shell, srun, conda run.
	Launcher Role = "launcher"
	// Feeder is a child that a trainer started with Python's multiprocessing and that is no DataLoader worker: a pool,
	// somebody's own loader. It may feed the trainer; what it does tells.
	Feeder Role = "feeder"
	// Other is everything else below the job: a subprocess, a child of a worker.
	Other Role = "other"
)

// StartMethod is how a worker was started, in the words of Python's multiprocessing.
type StartMethod string

// The start methods; "" means unknown.
const (
	Fork       StartMethod = "fork"
	Spawn      StartMethod = "spawn"
	Forkserver StartMethod = "forkserver"
)

// Process is one process of the job.
type Process struct {
	procfs.ID
	// InnerPID is the number the process itself knows, which names its shared-memory files; it differs from PID in a
	// container.
	InnerPID int
	Role     Role
	// Trainer is the trainer a worker or feeder belongs to; the zero ID for other roles.
	Trainer procfs.ID
	// Rank is the rank of a trainer and of its workers: from RANK, else OMPI_COMM_WORLD_RANK, else SLURM_PROCID, else
	// the order of start; -1 for other roles.
	Rank   int
	Method StartMethod // of a worker
	// Named says of a worker that PyTorch gave it its name, as 2.5 and newer do: it then names the trainer's pinning
	// thread, too.
	Named bool
	// PinThread is the thread of a trainer that pins batches, found by its name (torch 2.5 and newer, or Python 3.14
	// and newer); 0 = none, or one without a name.
	PinThread int
	// AutogradThreads are the threads of a trainer that run the backward pass on a device, found by their names; at
	// most 16. It is never changed in place.
	AutogradThreads []int
	// Python is where the static data of its Python lie, of processes that were looked into; nil where that is not
	// known. Who waits for memory there waits for Python's global lock.
	Python procfs.Statics
	// OnGPU says that it was found with a GPU's library or device, where it was looked into as one that may be a
	// trainer.
	OnGPU bool
	// GPUs is of processes that were looked into; the zero value for others.
	GPUs GPUChoice
}

// Entity names a process in a recording.
func Entity(id procfs.ID) string { return entity("process/", id) }

// PinEntity names the pinning thread of a trainer.
func PinEntity(trainer procfs.ID) string { return entity("pin/", trainer) }

// TakerEntity names a thread of the job's own that takes batches for a trainer's main thread.
func TakerEntity(trainer procfs.ID) string { return entity("taker/", trainer) }

// AutogradEntity names the threads of a trainer that run the backward pass.
func AutogradEntity(trainer procfs.ID) string { return entity("autograd/", trainer) }

// FeedersEntity names a trainer together with all that may feed it and is no DataLoader worker.
func FeedersEntity(trainer procfs.ID) string { return entity("feeders/", trainer) }

// ThreadEntity names a thread of a trainer.
func ThreadEntity(trainer procfs.ID, tid int) string {
	return entity("thread/", trainer) + "." + strconv.Itoa(tid)
}

// RemoteEntity names a peer of a trainer's connections, by its number and port.
func RemoteEntity(trainer procfs.ID, address string) string {
	return entity("remote/", trainer) + "." + address
}

// CodeEntity names a library that a worker of a trainer executes, metric.CodePython or metric.CodeOther.
func CodeEntity(trainer procfs.ID, library string) string {
	return entity("code/", trainer) + "." + library
}

// LoaderEntity names a trainer together with its loader, the first of several.
func LoaderEntity(trainer procfs.ID) string { return entity("loader/", trainer) }

func entity(prefix string, id procfs.ID) string {
	return prefix + strconv.Itoa(id.PID) + "." + strconv.FormatUint(id.Start, 10)
}
