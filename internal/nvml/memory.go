package nvml

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// memoryInfo is a GPU's memory, or that of a slice, in bytes.
type memoryInfo struct {
	used, total float64
	reserved    *float64 // by the driver; nil where it does not say. used does not hold it then
}

// memory reads what is in use. The second version of the call distinguishes what the driver keeps for itself, some
// hundred megabytes of a large card, with which an unused GPU looks used.
func (d *device) memory() (memoryInfo, string) {
	handle := d.handle
	if d.slice != nil {
		handle = d.slice.handle
	} else if d.mig {
		return memoryInfo{}, "MIG is enabled: memory is read of slices only, and none can be opened"
	}
	if d.library.has("nvmlDeviceGetMemoryInfo_v2") {
		if m, ret := handle.GetMemoryInfo_v2(); ret == nvml.SUCCESS {
			if why := implausible(m.Used, m.Total); why != "" {
				return memoryInfo{}, why
			}
			reserved := float64(m.Reserved)
			if m.Reserved > m.Total {
				return memoryInfo{used: float64(m.Used), total: float64(m.Total)}, ""
			}
			used := m.Used
			// nvml.h says that what is in use includes what is reserved, and drivers show it without: the sum tells.
			if m.Used >= m.Reserved && m.Used+m.Free+m.Reserved > m.Total+m.Reserved/2 {
				used -= m.Reserved
			}
			return memoryInfo{used: float64(used), total: float64(m.Total), reserved: &reserved}, ""
		} else if ret == nvml.ERROR_GPU_IS_LOST {
			return memoryInfo{}, d.failed(ret)
		}
	}
	if why := d.library.lacks("nvmlDeviceGetMemoryInfo"); why != "" {
		return memoryInfo{}, why
	}
	m, ret := handle.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return memoryInfo{}, d.failed(ret)
	}
	if why := implausible(m.Used, m.Total); why != "" {
		return memoryInfo{}, why
	}
	return memoryInfo{used: float64(m.Used), total: float64(m.Total)}, ""
}

func implausible(used, total uint64) string {
	if total == 0 || total > maxMemoryBytes || used > total {
		return fmt.Sprintf("the driver reports %d of %d bytes used, which cannot be", used, total)
	}
	return ""
}
