package recording

import "time"

// Header says what was watched, where and how. Strings in it are sanitized and redacted already.
type Header struct {
	Schema        string    `json:"schema"`
	SchemaVersion string    `json:"schema_version"`
	Tool          Tool      `json:"tool"`
	StartedAt     time.Time `json:"started_at"` // wall clock, UTC: a label, never used in arithmetic
	// CLOCK_MONOTONIC at the start, to line up with other programs' clocks
	StartMonotonic time.Duration `json:"start_monotonic_ns"`
	Mode           string        `json:"mode"`                 // "attach" or "launch"
	Interval       time.Duration `json:"interval_ns"`          // between ticks
	SampleInterval time.Duration `json:"look_interval_ns"`     // mean time between samples of threads
	Warmup         time.Duration `json:"warmup_ns"`            // asked for by the person
	BatchSize      int           `json:"batch_size,omitempty"` // told by the person; 0 = unknown
	Redacted       bool          `json:"redacted"`
	Host           Host          `json:"host"`
	Job            Job           `json:"job"`
}

// Tool is the program that made the recording.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
}

// Host is the machine, read once.
type Host struct {
	// tells this machine from others; a hash that its name cannot be guessed from
	ID            string    `json:"id,omitempty"`
	Name          string    `json:"name,omitempty"` // only where nothing is redacted
	Kernel        string    `json:"kernel"`
	CPUsPresent   int       `json:"cpus_present"`
	CoresPhysical int       `json:"cores_physical,omitempty"`  // without hardware threads; 0 = unknown
	CPUsUsable    float64   `json:"cpus_usable"`               // min(affinity, cpuset, quota) of the job
	CPUsAffinity  int       `json:"cpus_affinity,omitempty"`   // 0 = unknown
	CPUsCpuset    int       `json:"cpus_cpuset,omitempty"`     // 0 = unknown
	CPUQuota      *float64  `json:"cpu_quota_cores,omitempty"` // nil = no quota
	MemoryBytes   int64     `json:"memory_bytes"`
	MemoryLimit   *int64    `json:"memory_limit_bytes,omitempty"` // cgroup; nil = none
	SwapDevices   []string  `json:"swap_devices,omitempty"`       // names; zram is compressed memory
	CgroupVersion string    `json:"cgroup_version,omitempty"`     // "v1", "v2", "hybrid", "none"
	PtraceScope   *int      `json:"ptrace_scope,omitempty"`       // Yama; nil = no Yama
	Virtual       string    `json:"virtual,omitempty"`            // hypervisor hint, "" = none seen
	GPUs          []GPU     `json:"gpus,omitempty"`
	Storage       []Storage `json:"storage,omitempty"` // where the dataset lies
}

// GPU is one device, by UUID.
type GPU struct {
	UUID        string `json:"uuid"`
	Name        string `json:"name"`
	MemoryBytes int64  `json:"memory_bytes"`
	MIG         bool   `json:"mig,omitempty"`
	OfJob       bool   `json:"of_job"` // a process of the job uses it, as far as can be matched
	// Barred says that the environment of every trainer, as at its start, keeps CUDA off this GPU; false also where
	// that is not certain.
	Barred bool `json:"barred,omitempty"`
	// Parent is the UUID of the GPU that this one is a MIG slice of; "" where it is a whole one.
	Parent string `json:"parent,omitempty"`
	// Unwatched says that nothing was read of it, because it was known not to be the job's.
	Unwatched bool `json:"unwatched,omitempty"`
}

// Storage is where a part of the dataset lies.
type Storage struct {
	Path       string   `json:"path"`   // redacted
	FSType     string   `json:"fstype"` // as the mount table says
	Devices    []string `json:"devices,omitempty"`
	Kind       string   `json:"kind"` // "disk", "tmpfs", "network", "fuse", "unknown"
	Rotational *bool    `json:"rotational,omitempty"`
	Model      string   `json:"model,omitempty"`
}

// Job is the watched job at the start.
type Job struct {
	PID        int      `json:"pid"`
	StartTicks uint64   `json:"start_ticks"`
	Command    []string `json:"command"` // redacted
	Framework  string   `json:"framework,omitempty"`
	// Accelerator is the first trainer's: cuda, rocm or dxg where that driver is mapped or its device file open; "" =
	// none seen.
	Accelerator string `json:"accelerator,omitempty"`
	Python      string `json:"python,omitempty"`       // version, where it can be told
	HDF5Library string `json:"hdf5_library,omitempty"` // version of libhdf5 mapped by the job
	// the first trainer has mapped this library: transformers imports it
	Tokenizers bool     `json:"tokenizers,omitempty"`
	Trainers   []string `json:"trainers"`            // entities process/…, one per rank
	Container  bool     `json:"container,omitempty"` // in another pid namespace than pipetune
	Place      *Place   `json:"place,omitempty"`     // of the first trainer among several nodes
}

// Place is where in a job of several nodes a trainer stands, as its environment tells.
type Place struct {
	JobID     string `json:"job_id,omitempty"`     // of Slurm, or of torchrun's rendezvous
	Step      string `json:"step,omitempty"`       // of Slurm, in the job
	NodeRank  *int   `json:"node_rank,omitempty"`  // from 0
	Nodes     *int   `json:"nodes,omitempty"`      // that the job runs on
	WorldSize *int   `json:"world_size,omitempty"` // trainers on all nodes
}
