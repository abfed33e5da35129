package procfs

import "bytes"

// environAllowed are the only variables ever taken from a job's environment:
// settings that decide how a loader behaves and which rank a process is. An
// environment is full of secrets (SLURM_JWT is one), so there is no pattern
// here, only names.
var environAllowed = map[string]bool{
	// torch.distributed.run, elastic/agent
	"RANK": true, "LOCAL_RANK": true, "WORLD_SIZE": true, "LOCAL_WORLD_SIZE": true,
	"GROUP_RANK": true, "GROUP_WORLD_SIZE": true, "MASTER_PORT": true, "TORCHELASTIC_RUN_ID": true,
	// what starts one torchrun on each node: Kubeflow, a Kubernetes Indexed Job; and Open MPI's mpirun
	"PET_NODE_RANK": true, "PET_NNODES": true, "JOB_COMPLETION_INDEX": true,
	"OMPI_COMM_WORLD_RANK": true, "OMPI_COMM_WORLD_SIZE": true, "OMPI_COMM_WORLD_LOCAL_RANK": true,
	// thread pools
	"OMP_NUM_THREADS": true, "MKL_NUM_THREADS": true, "OPENBLAS_NUM_THREADS": true,
	"NUMEXPR_NUM_THREADS": true, "OMP_PROC_BIND": true, "KMP_AFFINITY": true, "GOMP_CPU_AFFINITY": true,
	// GPU and allocator
	"CUDA_VISIBLE_DEVICES": true, "CUDA_DEVICE_ORDER": true, "NVIDIA_VISIBLE_DEVICES": true,
	"CUDA_LAUNCH_BLOCKING": true, "PYTORCH_CUDA_ALLOC_CONF": true, "MALLOC_ARENA_MAX": true,
	// whether pipetune's hook can be found
	"PIPETUNE_HOOK_SOCKET": true, "PYTHONPATH": true,
	// HDF5
	"HDF5_USE_FILE_LOCKING": true,
	// Slurm: job, step, ranks and what was allotted
	"SLURM_JOB_ID": true, "SLURM_STEP_ID": true, "SLURM_PROCID": true, "SLURM_LOCALID": true, "SLURM_NODEID": true,
	"SLURM_STEP_NUM_NODES": true, "SLURM_STEP_NUM_TASKS": true, "SLURM_NTASKS": true, "SLURM_NTASKS_PER_NODE": true,
	"SLURM_NNODES": true, "SLURM_JOB_NUM_NODES": true, "SLURM_CPUS_PER_TASK": true, "SLURM_CPUS_ON_NODE": true,
	"SLURM_JOB_CPUS_PER_NODE": true,
	"SLURMD_NODENAME":         true, // compared with pipetune's own, and kept nowhere
	"SLURM_MEM_PER_NODE":      true, "SLURM_MEM_PER_CPU": true, "SLURM_GPUS_ON_NODE": true,
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
		if !ok || !environAllowed[string(name)] || len(value) > maxEnvironValue {
			continue
		}
		if _, dup := out[string(name)]; !dup {
			out[string(name)] = string(value)
		}
	}
	return out
}
