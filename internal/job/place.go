package job

import (
	"strconv"

	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// most bounds ranks and numbers of nodes: what is larger is none.
const most = 1 << 20

// firstNumber is the first of the variables that holds a whole number, not negative; nil where none does.
func firstNumber(getenv func(string) string, names ...string) *int {
	for _, name := range names {
		if n, err := strconv.Atoi(getenv(name)); err == nil && n >= 0 && n < most {
			return &n
		}
	}
	return nil
}

// rankOf is the rank among all trainers that the environment names; -1 = none. torchrun's word stands before that of
// what started torchrun, and mpirun's before Slurm's, whose tasks are then mpirun's own helpers.
func rankOf(env map[string]string) int {
	n := firstNumber(func(name string) string { return env[name] }, "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
	if n == nil {
		return -1
	}
	return *n
}

// PlaceOf is where in a job of several nodes an environment says that its process stands. The nearest launcher has the
// last word: what it says of nodes fits the ranks that it gave.
func PlaceOf(getenv func(string) string) recording.Place {
	p := recording.Place{
		NodeRank:  firstNumber(getenv, "GROUP_RANK", "PET_NODE_RANK", "JOB_COMPLETION_INDEX", "SLURM_NODEID"),
		Nodes:     firstNumber(getenv, "GROUP_WORLD_SIZE", "PET_NNODES", "SLURM_STEP_NUM_NODES"),
		WorldSize: firstNumber(getenv, "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"),
	}
	if id := getenv("SLURM_JOB_ID"); id != "" {
		p.JobID = untrusted.Cut(id, maxJobID).String()
		p.Step = untrusted.Cut(getenv("SLURM_STEP_ID"), maxJobID).String()
	} else if id := getenv("TORCHELASTIC_RUN_ID"); id != "none" { // what torchrun says where it was given none
		p.JobID = untrusted.Cut(id, maxJobID).String()
	}
	return p
}

// SlurmKey names the Slurm job and the node that an environment is of; "" outside of Slurm.
func SlurmKey(getenv func(string) string) string {
	if id := getenv("SLURM_JOB_ID"); id != "" {
		return id + "@" + getenv("SLURMD_NODENAME")
	}
	return ""
}

const maxJobID = 80
