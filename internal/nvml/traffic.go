package nvml

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/pipetune/pipetune/internal/metric"
)

// maxPCIePerSec is twice what 16 lanes of PCIe 7 carry in one direction (242 GB/s).
const maxPCIePerSec = 500e9

// traffic follows the cumulative PCIe counter of newer GPUs, or remembers that there is none.
type traffic struct {
	measured bool // GPM reports the rate
	calls    bool // no counter: ask for the throughput instead
	at       time.Time
	received float64
	known    bool
}

// wrapAt is where counters of 32 bits begin at zero again.
const wrapAt = 1 << 32

// grown returns what a counter has gone on by; false where that cannot be determined. The counters may wrap (nvml.h,
// NVML_FI_DEV_PCIE_COUNT_RX_BYTES): one of 32 bits does so once in a reading at most where the link carries less than
// 21 GB/s, and beyond that only GPM reports the rate.
func grown(kind nvml.ValueType, before, now float64) (float64, bool) {
	switch {
	case now >= before:
		return now - before, true
	case kind == nvml.VALUE_TYPE_UNSIGNED_INT && before < wrapAt:
		return now + wrapAt - before, true
	}
	return 0, false
}

// trafficCounters turns the counter of bytes received into a rate since the reading before.
func (d *device) trafficCounters(r *DeviceReading, now time.Time) (why string) {
	t := &d.traffic
	if t.calls || t.measured {
		return ""
	}
	if !d.library.has("nvmlDeviceGetFieldValues") {
		t.calls = true
		return ""
	}
	fields := []nvml.FieldValue{{FieldId: nvml.FI_DEV_PCIE_COUNT_RX_BYTES}}
	ret := d.handle.GetFieldValues(fields)
	if ret == nvml.ERROR_GPU_IS_LOST {
		return d.failed(ret)
	}
	if ret != nvml.SUCCESS || nvml.Return(fields[0].NvmlReturn) != nvml.SUCCESS {
		t.calls = true
		return ""
	}
	kind := nvml.ValueType(fields[0].ValueType)
	received := decode(kind, fields[0].Value)
	if !(received >= 0) {
		t.calls = true
		return "the driver's PCIe counters are no numbers"
	}
	more, sure := grown(kind, t.received, received)
	if seconds := now.Sub(t.at).Seconds(); t.known && seconds > 0 && sure {
		why = rate(r, more/seconds)
	}
	t.at, t.received, t.known = now, received, true
	return why
}

// trafficCalls measures the throughput of older GPUs: the call counts for 20 ms (nvml.h, nvmlDeviceGetPcieThroughput).
// Its unit is KB/s, taken as 1000 bytes.
func (d *device) trafficCalls(r *DeviceReading, _ time.Time) (why string) {
	if !d.traffic.calls || d.traffic.measured {
		return ""
	}
	call := func() (uint32, nvml.Return) { return d.handle.GetPcieThroughput(nvml.PCIE_UTIL_RX_BYTES) }
	value, why := ask(d, call, "nvmlDeviceGetPcieThroughput")
	if why != "" {
		return why
	}
	return rate(r, float64(value)*1000)
}

func rate(r *DeviceReading, perSec float64) (why string) {
	if perSec > maxPCIePerSec {
		return fmt.Sprintf("the driver reports %.0f bytes/s over PCIe, which cannot be", perSec)
	}
	r.Values[metric.GPUPcieRx.Name] = perSec
	return ""
}
