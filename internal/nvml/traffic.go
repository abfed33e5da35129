package nvml

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// maxPCIePerSec is twice what 16 lanes of PCIe 7 carry in one direction (242 GB/s).
const maxPCIePerSec = 500e9

// traffic follows the cumulative PCIe counters of newer GPUs, or remembers that there are none.
type traffic struct {
	measured bool // GPM reports the rates
	calls    bool // no counters: ask for the throughput instead
	at       time.Time
	tx, rx   float64
	known    bool
}

// wrapAt is where counters of 32 bits begin at zero again.
const wrapAt = 1 << 32

// grown returns what a counter has gone on by; false where that cannot be determined. The counters may wrap (nvml.h,
// NVML_FI_DEV_PCIE_COUNT_TX_BYTES): one of 32 bits does so once in a reading at most where the link carries less than
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

// trafficCounters turns the counters into rates since the reading before.
func (d *device) trafficCounters(r *DeviceReading, now time.Time) {
	t := &d.traffic
	if d.lost || t.calls || t.measured {
		return
	}
	if !d.library.has("nvmlDeviceGetFieldValues") {
		t.calls = true
		return
	}
	fields := []nvml.FieldValue{{FieldId: nvml.FI_DEV_PCIE_COUNT_TX_BYTES}, {FieldId: nvml.FI_DEV_PCIE_COUNT_RX_BYTES}}
	ret := d.handle.GetFieldValues(fields)
	if ret == nvml.ERROR_GPU_IS_LOST {
		d.absent(FieldPCIeTraffic, d.failed(ret))
		return
	}
	if ret != nvml.SUCCESS || nvml.Return(fields[0].NvmlReturn) != nvml.SUCCESS ||
		nvml.Return(fields[1].NvmlReturn) != nvml.SUCCESS {
		t.calls = true
		return
	}
	tx := number(nvml.ValueType(fields[0].ValueType), fields[0].Value)
	rx := number(nvml.ValueType(fields[1].ValueType), fields[1].Value)
	if !(tx >= 0) || !(rx >= 0) {
		d.absent(FieldPCIeTraffic, "the driver's PCIe counters are no numbers")
		t.calls = true
		return
	}
	sent, sure := grown(nvml.ValueType(fields[0].ValueType), t.tx, tx)
	received, also := grown(nvml.ValueType(fields[1].ValueType), t.rx, rx)
	if seconds := now.Sub(t.at).Seconds(); t.known && seconds > 0 && sure && also {
		r.PCIeTxPerSec, r.PCIeRxPerSec = d.rate(sent/seconds), d.rate(received/seconds)
	}
	t.at, t.tx, t.rx, t.known = now, tx, rx, true
}

// trafficCalls measures the throughput of older GPUs: each call counts for 20 ms (nvml.h, nvmlDeviceGetPcieThroughput).
// Its unit is KB/s, taken as 1000 bytes.
func (d *device) trafficCalls(r *DeviceReading) {
	if d.lost || !d.traffic.calls || d.traffic.measured {
		return
	}
	if why := d.library.lacks("nvmlDeviceGetPcieThroughput"); why != "" {
		d.absent(FieldPCIeTraffic, why)
		return
	}
	for counter, to := range map[nvml.PcieUtilCounter]**float64{nvml.PCIE_UTIL_TX_BYTES: &r.PCIeTxPerSec,
		nvml.PCIE_UTIL_RX_BYTES: &r.PCIeRxPerSec} {
		value, ret := d.handle.GetPcieThroughput(counter)
		if ret != nvml.SUCCESS {
			d.absent(FieldPCIeTraffic, d.failed(ret))
			return
		}
		*to = d.rate(float64(value) * 1000)
	}
}

func (d *device) rate(perSec float64) *float64 {
	if perSec > maxPCIePerSec {
		d.absent(FieldPCIeTraffic, fmt.Sprintf("the driver reports %.0f bytes/s over PCIe, which cannot be", perSec))
		return nil
	}
	return &perSec
}
