package nvml

import "github.com/pipetune/pipetune/internal/metric"

// Reading is all GPUs at one moment, in the order of the Inventory.
type Reading struct {
	Devices []DeviceReading `json:"devices"`
}

// DeviceReading is one GPU at one moment.
type DeviceReading struct {
	UUID string `json:"uuid"`
	Lost bool   `json:"lost,omitempty"` // the driver lost the GPU, now or earlier; nothing else is set

	// Values are by the names of signals, see metric.GPU. One that is missing was not asked for, not new, or not
	// readable; in the last case Absent says why.
	Values map[string]float64 `json:"values,omitempty"`

	// ProcessUse is what each process used of the SMs since the last slow reading: nil when not asked for, not
	// readable, or at the first, empty where nobody used any. Numbers of processes are as in Processes.
	ProcessUse []ProcessUse `json:"process_use,omitzero"`

	// Processes are those that compute on the GPU: nil when not asked for or not readable, empty where there is none.
	// In a container their numbers depend on the driver: the host's, or, from drivers that look them up (os_find_ns_pid
	// of NVIDIA's open kernel modules), the container's own, and then only of processes that it sees.
	Processes []Process `json:"processes,omitzero"`

	// Absent says, by signal, why it could not be read, once: it holds only what changed since the reading before.
	Absent map[string]string `json:"absent,omitempty"`
}

// Process is a process that computes on a GPU.
type Process struct {
	PID         uint32   `json:"pid"`
	MemoryBytes *float64 `json:"memory_bytes,omitempty"` // nil where the driver does not know
}

// ProcessUse is what a process used of a GPU.
type ProcessUse struct {
	PID     uint32  `json:"pid"`
	SMRatio float64 `json:"sm_ratio"`
}

// EverySignal stands in Absent for all signals of a GPU.
const EverySignal = "gpu_*"

// Signals that are readable or not as one.
var (
	memorySignals = []metric.Desc{metric.GPUMemUsed, metric.GPUMemTotal}
	linkSignals   = []metric.Desc{metric.GPUPcieGen, metric.GPUPcieGenMax, metric.GPUPcieWidth, metric.GPUPcieWidthMx}
	// ActivitySignals are those of GPU performance monitoring.
	ActivitySignals = []metric.Desc{metric.GPUGraphics, metric.GPUSMActivity, metric.GPUDRAM}
)
