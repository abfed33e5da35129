package procfs

import (
	"bytes"
	"slices"
)

// environAllowed are the only variables ever taken from a job's environment:
// settings that decide how a loader behaves and which rank a process is. An
// environment is full of secrets (SLURM_JWT is one), so there is no pattern
// here, only names.
var environAllowed = []string{
	// torch.distributed.run, elastic/agent
	"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "MASTER_PORT",
	"TORCHELASTIC_RUN_ID",
	// what starts one torchrun on each node: Kubeflow, a Kubernetes Indexed Job; and Open MPI's mpirun
	"PET_NODE_RANK", "PET_NNODES", "JOB_COMPLETION_INDEX",
	"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	// thread pools
	"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_PROC_BIND",
	"KMP_AFFINITY", "GOMP_CPU_AFFINITY",
	// GPU and allocator
	"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING",
	"PYTORCH_CUDA_ALLOC_CONF", "MALLOC_ARENA_MAX",
	// whether pipetune's hook can be found
	"PIPETUNE_HOOK_SOCKET", "PYTHONPATH",
	// HDF5
	"HDF5_USE_FILE_LOCKING",
	// Slurm: job, step, ranks and what was allotted
	"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_STEP_NUM_NODES",
	"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_NNODES", "SLURM_JOB_NUM_NODES",
	"SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE", "SLURM_MEM_PER_NODE",
	"SLURM_MEM_PER_CPU", "SLURM_GPUS_ON_NODE",
	"SLURMD_NODENAME", // compared with pipetune's own, and kept nowhere
}

// Environ returns the allowed variables of the process' initial environment,
// values unclean. What a process set later in itself is not in it. Like Cmdline
// it takes the target's mmap lock and is for discovery only.
func (p *Process) Environ() (map[string]string, error) {
	b, err := p.readCold("environ")
	if err != nil {
		return nil, err
	}
	return ParseEnviron(b), nil
}

// maxEnvironValue bounds one value; none of the allowed ones is longer than a
// list of GPU identifiers.
const maxEnvironValue = 1024

// ParseEnviron keeps the allowed variables of a NUL-separated environment; the
// first of two with one name stands, as in getenv(3).
func ParseEnviron(b []byte) map[string]string {
	out := make(map[string]string)
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		name, value, ok := bytes.Cut(entry, []byte{'='})
		if !ok || !slices.Contains(environAllowed, string(name)) || len(value) > maxEnvironValue {
			continue
		}
		if _, dup := out[string(name)]; !dup {
			out[string(name)] = string(value)
		}
	}
	return out
}
