package nvml

// Reading is all GPUs at one moment, in the order of the Inventory.
type Reading struct {
	Devices []DeviceReading `json:"devices"`
}

// DeviceReading is one GPU at one moment. A nil field was not asked for, not new, or not readable; in the last case
// Absent says why, once: it holds only what changed since the reading before.
type DeviceReading struct {
	UUID string `json:"uuid"`
	Lost bool   `json:"lost,omitempty"` // the driver lost the GPU, now or earlier; nothing else is set

	// UtilizationRatio is the mean of the driver's own samples since the reading before, UtilizationSamples their
	// number. Where the GPU has no sample buffer it is the driver's latest value and UtilizationSamples is 0.
	UtilizationRatio   *float64 `json:"utilization_ratio,omitempty"`
	UtilizationSamples int      `json:"utilization_samples,omitempty"`

	// MemoryUsedBytes leaves out what the driver reports to have reserved for itself.
	MemoryUsedBytes  *float64 `json:"memory_used_bytes,omitempty"`
	MemoryTotalBytes *float64 `json:"memory_total_bytes,omitempty"`
	PowerWatts       *float64 `json:"power_w,omitempty"`
	SMClockHertz     *float64 `json:"sm_clock_hz,omitempty"`
	ThrottleReasons  *float64 `json:"throttle_reasons,omitempty"` // bits of nvmlClocksEventReasons in nvml.h
	PCIeRxPerSec     *float64 `json:"pcie_rx_bytes_per_s,omitempty"`
	PCIeTxPerSec     *float64 `json:"pcie_tx_bytes_per_s,omitempty"`
	GraphicsRatio    *float64 `json:"graphics_activity_ratio,omitempty"`
	SMActivityRatio  *float64 `json:"sm_activity_ratio,omitempty"`
	DRAMRatio        *float64 `json:"dram_activity_ratio,omitempty"`

	// Slow values.
	PowerLimitWatts   *float64 `json:"power_limit_w,omitempty"`
	SMClockMaxHertz   *float64 `json:"sm_clock_max_hz,omitempty"`
	PCIeGeneration    *float64 `json:"pcie_generation,omitempty"`
	PCIeGenerationMax *float64 `json:"pcie_generation_max,omitempty"`
	PCIeWidth         *float64 `json:"pcie_width,omitempty"`
	PCIeWidthMax      *float64 `json:"pcie_width_max,omitempty"`

	// ProcessUse is what each process used of the SMs since the last slow reading: nil when not asked for, not
	// readable, or at the first, empty where nobody used any. Numbers of processes are as in Processes.
	ProcessUse []ProcessUse `json:"process_use,omitzero"`

	// Processes are those that compute on the GPU: nil when not asked for or not readable, empty where there is none.
	// In a container their numbers depend on the driver: the host's, or, from drivers that look them up (os_find_ns_pid
	// of NVIDIA's open kernel modules), the container's own, and then only of processes that it sees.
	Processes []Process `json:"processes,omitzero"`

	Absent map[Field]string `json:"absent,omitempty"`
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

// Field names a group of values that is readable or not as one.
type Field string

// The fields that may be absent.
const (
	FieldUtilization  Field = "utilization"
	FieldMemory       Field = "memory"
	FieldPower        Field = "power"
	FieldPowerLimit   Field = "power-limit"
	FieldClock        Field = "sm-clock"
	FieldClockMax     Field = "sm-clock-max"
	FieldThrottle     Field = "throttle-reasons"
	FieldPCIeLink     Field = "pcie-link"
	FieldPCIeTraffic  Field = "pcie-throughput"
	FieldActivity     Field = "sm-activity"
	FieldProcesses    Field = "processes"
	FieldProcessUse   Field = "process-utilization"
	FieldEveryReading Field = "*" // the whole device
)
