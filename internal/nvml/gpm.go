package nvml

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// gpmSpacing is the least time between two samples. nvml.h asks for more than 100 ms; the metrics are means over the
// time between, so that a longer one loses nothing and costs less.
const gpmSpacing = 500 * time.Millisecond

// gpm reads GPU performance monitoring, which Hopper and newer GPUs have: how busy the SMs and the memory really are.
type gpm struct {
	before, after nvml.GpmSample
	at            time.Time
	taken         bool // before holds a sample
	ready         bool
}

// symbols are all functions that gpm calls, and sampleOf the one that takes a sample of a whole GPU or of a slice.
var symbols = []string{"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmMetricsGet", "nvmlGpmSampleFree"}

func (d *device) sampleOf() string {
	if d.slice != nil {
		return "nvmlGpmMigSampleGet"
	}
	return "nvmlGpmSampleGet"
}

// open probes for support and takes two buffers for samples.
func (g *gpm) open(d *device) bool {
	why := g.prepare(d)
	d.absent(FieldActivity, why)
	g.ready = why == ""
	return g.ready
}

// prepare says why activity cannot be read; "" where it can.
func (g *gpm) prepare(d *device) (why string) {
	for _, symbol := range append([]string{d.sampleOf()}, symbols...) {
		if why := d.library.lacks(symbol); why != "" {
			return why
		}
	}
	switch support, ret := d.handle.GpmQueryDeviceSupport(); {
	case ret != nvml.SUCCESS:
		return d.failed(ret)
	case support.IsSupportedDevice != 1:
		return "needs GPU performance monitoring (Hopper or newer)"
	case d.mig && d.slice == nil:
		return "activity is read of MIG slices only, and none can be opened"
	case d.slice != nil && d.slice.instance < 0:
		return "the driver does not say which instance the MIG slice is"
	}
	for _, buffer := range []*nvml.GpmSample{&g.before, &g.after} {
		sample, ret := d.library.nvml.GpmSampleAlloc()
		if ret != nvml.SUCCESS {
			g.free()
			return d.failed(ret)
		}
		*buffer = sample
	}
	return ""
}

func (g *gpm) free() {
	for _, buffer := range []*nvml.GpmSample{&g.before, &g.after} {
		if *buffer != nil {
			(*buffer).Free()
			*buffer = nil
		}
	}
	g.ready = false
}

// read takes a sample and computes the two ratios from it and the one before.
func (g *gpm) read(d *device, r *DeviceReading, now time.Time) {
	if d.lost || !g.ready || g.taken && now.Sub(g.at) < gpmSpacing {
		return
	}
	if ret := g.take(d); ret != nvml.SUCCESS {
		d.absent(FieldActivity, d.failed(ret))
		return
	}
	if g.taken {
		g.compute(d, r)
	}
	g.before, g.after = g.after, g.before
	g.at, g.taken = now, true
}

func (g *gpm) take(d *device) nvml.Return {
	if d.slice != nil {
		return g.after.MigGet(d.handle, d.slice.instance)
	}
	return g.after.Get(d.handle)
}

// gpmValues are the metrics that are asked for: where the value goes, the most that can be, and what one unit of it
// is. PCIe comes in MiB/s (nvml.h).
var gpmValues = []struct {
	id   nvml.GpmMetricId
	most float64
	unit float64
	to   func(*DeviceReading) **float64
}{
	// Rounding may lift a full GPU slightly above 100 %.
	{nvml.GPM_METRIC_GRAPHICS_UTIL, 100.5, 0.01, func(r *DeviceReading) **float64 { return &r.GraphicsRatio }},
	{nvml.GPM_METRIC_SM_UTIL, 100.5, 0.01, func(r *DeviceReading) **float64 { return &r.SMActivityRatio }},
	{nvml.GPM_METRIC_DRAM_BW_UTIL, 100.5, 0.01, func(r *DeviceReading) **float64 { return &r.DRAMRatio }},
	{nvml.GPM_METRIC_PCIE_TX_PER_SEC, maxPCIePerSec / (1 << 20), 1 << 20,
		func(r *DeviceReading) **float64 { return &r.PCIeTxPerSec }},
	{nvml.GPM_METRIC_PCIE_RX_PER_SEC, maxPCIePerSec / (1 << 20), 1 << 20,
		func(r *DeviceReading) **float64 { return &r.PCIeRxPerSec }},
}

// gpmRatios is how many of gpmValues are ratios, which stand first.
const gpmRatios = 3

func (g *gpm) compute(d *device, r *DeviceReading) {
	ask := &nvml.GpmMetricsGetType{NumMetrics: uint32(len(gpmValues)), Sample1: g.before, Sample2: g.after}
	for i, v := range gpmValues {
		ask.Metrics[i].MetricId = uint32(v.id)
	}
	if ret := d.library.nvml.GpmMetricsGet(ask); ret != nvml.SUCCESS {
		d.absent(FieldActivity, d.failed(ret))
		return
	}
	for i, v := range gpmValues {
		metric, why := ask.Metrics[i], ""
		switch ret := nvml.Return(metric.NvmlReturn); {
		case ret != nvml.SUCCESS:
			why = d.failed(ret)
		case !(metric.Value >= 0 && metric.Value <= v.most):
			why = fmt.Sprintf("the driver reports an activity of %v, which cannot be", metric.Value)
		case i < gpmRatios:
			*v.to(r) = new(min(metric.Value*v.unit, 1))
		default:
			*v.to(r) = new(metric.Value * v.unit)
		}
		if i < gpmRatios {
			d.absent(FieldActivity, why)
		}
	}
	d.traffic.measured = d.traffic.measured || r.PCIeTxPerSec != nil && r.PCIeRxPerSec != nil
}
