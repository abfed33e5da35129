package nvml

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/pipetune/pipetune/internal/metric"
)

func (d *device) memoryUse(r *DeviceReading, _ time.Time) (why string) {
	used, total, why := d.memory()
	if why == "" {
		r.Values[metric.GPUMemUsed.Name], r.Values[metric.GPUMemTotal.Name] = used, total
	}
	return why
}

// memory reads how many bytes of a GPU, or of a slice, are in use. The second version of the call distinguishes what
// the driver keeps for itself, some hundred megabytes of a large card, with which an unused GPU looks used.
func (d *device) memory() (used, total float64, why string) {
	handle := d.handle
	if d.slice != nil {
		handle = d.slice.handle
	} else if d.mig {
		return 0, 0, "MIG is enabled: memory is read of slices only, and none can be opened"
	}
	if d.library.has("nvmlDeviceGetMemoryInfo_v2") {
		switch m, ret := handle.GetMemoryInfo_v2(); ret {
		case nvml.SUCCESS:
			used, total, why = plausible(m.Used, m.Total)
			// nvml.h says that what is in use includes what is reserved, and drivers show it without: the sum tells.
			if m.Reserved <= m.Used && m.Used+m.Free+m.Reserved > m.Total+m.Reserved/2 {
				used -= float64(m.Reserved)
			}
			return used, total, why
		case nvml.ERROR_GPU_IS_LOST:
			return 0, 0, d.failed(ret)
		}
	}
	m, why := ask(d, handle.GetMemoryInfo, "nvmlDeviceGetMemoryInfo")
	if why != "" {
		return 0, 0, why
	}
	return plausible(m.Used, m.Total)
}

// plausible returns what the driver reports, or why it cannot be.
func plausible(used, total uint64) (float64, float64, string) {
	if total == 0 || total > maxMemoryBytes || used > total {
		return 0, 0, fmt.Sprintf("the driver reports %d of %d bytes used, which cannot be", used, total)
	}
	return float64(used), float64(total), ""
}
