package nvml

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/pipetune/pipetune/internal/metric"
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

// open probes for support and takes two buffers for samples.
func (g *gpm) open(d *device) bool {
	why := g.prepare(d)
	d.absent(why, ActivitySignals...)
	g.ready = why == ""
	return g.ready
}

// prepare says why activity cannot be read; "" where it can.
func (g *gpm) prepare(d *device) (why string) {
	sampling := "nvmlGpmSampleGet"
	if d.slice != nil {
		sampling = "nvmlGpmMigSampleGet"
	}
	for _, symbol := range []string{sampling, "nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmMetricsGet",
		"nvmlGpmSampleFree"} {
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

// activity takes a sample and computes the ratios from it and the one before.
func (d *device) activity(r *DeviceReading, now time.Time) (why string) {
	g := &d.gpm
	if !g.ready || g.taken && now.Sub(g.at) < gpmSpacing {
		return ""
	}
	if ret := g.take(d); ret != nvml.SUCCESS {
		return d.failed(ret)
	}
	if g.taken {
		why = g.compute(d, r)
	}
	g.before, g.after = g.after, g.before
	g.at, g.taken = now, true
	return why
}

func (g *gpm) take(d *device) nvml.Return {
	if d.slice != nil {
		return g.after.MigGet(d.handle, d.slice.instance)
	}
	return g.after.Get(d.handle)
}

// gpmValues are the metrics that are asked for: the most that can be, and what one unit is of the signal's. PCIe comes
// in MiB/s (nvml.h).
var gpmValues = []struct {
	id         nvml.GpmMetricId
	most, unit float64
	signal     metric.Desc
}{
	// Rounding may lift a full GPU slightly above 100 %.
	{nvml.GPM_METRIC_GRAPHICS_UTIL, 100.5, 0.01, metric.GPUGraphics},
	{nvml.GPM_METRIC_SM_UTIL, 100.5, 0.01, metric.GPUSMActivity},
	{nvml.GPM_METRIC_DRAM_BW_UTIL, 100.5, 0.01, metric.GPUDRAM},
	{nvml.GPM_METRIC_PCIE_RX_PER_SEC, maxPCIePerSec / (1 << 20), 1 << 20, metric.GPUPcieRx},
}

func (g *gpm) compute(d *device, r *DeviceReading) (why string) {
	ask := &nvml.GpmMetricsGetType{NumMetrics: uint32(len(gpmValues)), Sample1: g.before, Sample2: g.after}
	for i, v := range gpmValues {
		ask.Metrics[i].MetricId = uint32(v.id)
	}
	if ret := d.library.nvml.GpmMetricsGet(ask); ret != nvml.SUCCESS {
		return d.failed(ret)
	}
	for i, v := range gpmValues {
		got, ill := ask.Metrics[i], ""
		ratio := v.signal.Unit == metric.Ratio
		switch ret := nvml.Return(got.NvmlReturn); {
		case ret != nvml.SUCCESS:
			ill = d.failed(ret)
		case !(got.Value >= 0 && got.Value <= v.most):
			ill = fmt.Sprintf("the driver reports an activity of %v, which cannot be", got.Value)
		case ratio:
			r.Values[v.signal.Name] = min(got.Value*v.unit, 1)
		default: // the rate over PCIe, which is else read by itself
			r.Values[v.signal.Name], d.traffic.measured = got.Value*v.unit, true
		}
		if ratio && ill != "" {
			why = ill
		}
	}
	return why
}
