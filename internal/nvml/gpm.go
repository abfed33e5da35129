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

// symbols are all functions that gpm calls.
var symbols = []string{"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleGet", "nvmlGpmMetricsGet", "nvmlGpmSampleFree"}

// open probes for support and takes two buffers for samples.
func (g *gpm) open(d *device) bool {
	for _, symbol := range symbols {
		if why := d.library.lacks(symbol); why != "" {
			d.absent(FieldActivity, why)
			return false
		}
	}
	support, ret := d.handle.GpmQueryDeviceSupport()
	if ret != nvml.SUCCESS {
		d.absent(FieldActivity, d.failed(ret))
		return false
	}
	if support.IsSupportedDevice != 1 {
		d.absent(FieldActivity, "needs GPU performance monitoring (Hopper or newer)")
		return false
	}
	if d.mig {
		d.absent(FieldActivity, "MIG is enabled: activity is read of whole GPUs only")
		return false
	}
	for _, buffer := range []*nvml.GpmSample{&g.before, &g.after} {
		sample, ret := d.library.nvml.GpmSampleAlloc()
		if ret != nvml.SUCCESS {
			d.absent(FieldActivity, d.failed(ret))
			g.free()
			return false
		}
		*buffer = sample
	}
	g.ready = true
	return true
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
	if ret := g.after.Get(d.handle); ret != nvml.SUCCESS {
		d.absent(FieldActivity, d.failed(ret))
		return
	}
	if g.taken {
		g.compute(d, r)
	}
	g.before, g.after = g.after, g.before
	g.at, g.taken = now, true
}

func (g *gpm) compute(d *device, r *DeviceReading) {
	ask := &nvml.GpmMetricsGetType{NumMetrics: 2, Sample1: g.before, Sample2: g.after}
	ask.Metrics[0].MetricId = uint32(nvml.GPM_METRIC_SM_UTIL)
	ask.Metrics[1].MetricId = uint32(nvml.GPM_METRIC_DRAM_BW_UTIL)
	if ret := d.library.nvml.GpmMetricsGet(ask); ret != nvml.SUCCESS {
		d.absent(FieldActivity, d.failed(ret))
		return
	}
	for i, to := range []**float64{&r.SMActivityRatio, &r.DRAMRatio} {
		metric := ask.Metrics[i]
		if ret := nvml.Return(metric.NvmlReturn); ret != nvml.SUCCESS {
			d.absent(FieldActivity, d.failed(ret))
			continue
		}
		if !(metric.Value >= 0 && metric.Value <= 100.5) { // rounding may lift a full GPU slightly above 100 %
			d.absent(FieldActivity, fmt.Sprintf("the driver reports an activity of %v %%, which cannot be", metric.Value))
			continue
		}
		ratio := min(metric.Value/100, 1)
		*to = &ratio
	}
}
