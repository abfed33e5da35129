package nvml

import (
	"fmt"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/pipetune/pipetune/internal/metric"
)

// device is one open GPU.
type device struct {
	library *library
	handle  nvml.Device
	place   string
	uuid    string
	mig     bool
	slice   *slice // what is read of; nil for a whole GPU, whose handle stands for all then
	lost    bool

	described Device

	lister  lister
	usage   usage
	traffic traffic
	gpm     gpm
	// where reading what processes use has got to, in microseconds of the driver's clock; 0 before the first reading
	usesSeen uint64

	reported map[string]string // the signals that were last reported absent, and why
	changed  map[string]string // what to report with this reading
}

// Bounds of what can be true of a GPU. A value beyond is garbage, and is reported as that instead of being recorded.
const (
	maxMemoryBytes = 16 << 40 // the largest GPU has 0.3 TB
	maxMilliwatts  = 10_000_000
	maxMegahertz   = 10_000
	maxGeneration  = 8 // PCI-SIG has published 7
	maxLanes       = 32
	maxReasons     = 1 << 32
)

// read takes one reading.
func (d *device) read(asked Request, now time.Time) DeviceReading {
	r := DeviceReading{UUID: d.uuid, Values: map[string]float64{}}
	if !d.lost {
		d.fast(&r, now)
	}
	if !d.lost && asked.Slow {
		d.numbers(&r, slowNumbers)
		d.trafficCalls(&r)
		d.processUse(&r)
	}
	if !d.lost && asked.Processes {
		processes, why := d.processes()
		d.absent(why, metric.GPUJobMemory)
		r.Processes = processes
	}
	if d.lost {
		r = DeviceReading{UUID: d.uuid, Lost: true}
	}
	r.Absent, d.changed = d.changed, nil
	return r
}

func (d *device) fast(r *DeviceReading, now time.Time) {
	why := d.utilization(r)
	d.absent(why, metric.GPUUtil)
	if d.lost {
		return
	}
	used, total, why := d.memory()
	d.absent(why, memorySignals...)
	if why == "" {
		r.Values[metric.GPUMemUsed.Name], r.Values[metric.GPUMemTotal.Name] = used, total
	}
	d.numbers(r, fastNumbers)
	d.throttle(r)
	d.gpm.read(d, r, now)
	d.trafficCounters(r, now)
}

// number is a call that yields one number. Times unit it is the value of a signal, where it lies in low..high.
type number struct {
	signal    metric.Desc
	low, high uint32
	unit      float64
	symbol    string
	call      func(nvml.Device) (uint32, nvml.Return)
}

var fastNumbers = []number{
	{metric.GPUPower, 1, maxMilliwatts, 1e-3, "nvmlDeviceGetPowerUsage", nvml.Device.GetPowerUsage},
	{metric.GPUSMClock, 0, maxMegahertz, 1e6, "nvmlDeviceGetClockInfo",
		func(d nvml.Device) (uint32, nvml.Return) { return d.GetClockInfo(nvml.CLOCK_SM) }},
}

var slowNumbers = []number{
	{metric.GPUPowerLimit, 1, maxMilliwatts, 1e-3, "nvmlDeviceGetEnforcedPowerLimit",
		nvml.Device.GetEnforcedPowerLimit},
	{metric.GPUSMClockMax, 1, maxMegahertz, 1e6, "nvmlDeviceGetMaxClockInfo",
		func(d nvml.Device) (uint32, nvml.Return) { return d.GetMaxClockInfo(nvml.CLOCK_SM) }},
	{metric.GPUPcieGen, 1, maxGeneration, 1, "nvmlDeviceGetCurrPcieLinkGeneration",
		unsigned(nvml.Device.GetCurrPcieLinkGeneration)},
	{metric.GPUPcieGenMax, 1, maxGeneration, 1, "nvmlDeviceGetMaxPcieLinkGeneration",
		unsigned(nvml.Device.GetMaxPcieLinkGeneration)},
	{metric.GPUPcieWidth, 1, maxLanes, 1, "nvmlDeviceGetCurrPcieLinkWidth",
		unsigned(nvml.Device.GetCurrPcieLinkWidth)},
	{metric.GPUPcieWidthMx, 1, maxLanes, 1, "nvmlDeviceGetMaxPcieLinkWidth",
		unsigned(nvml.Device.GetMaxPcieLinkWidth)},
}

func unsigned(call func(nvml.Device) (int, nvml.Return)) func(nvml.Device) (uint32, nvml.Return) {
	return func(d nvml.Device) (uint32, nvml.Return) {
		value, ret := call(d)
		return uint32(value), ret
	}
}

// numbers makes calls until the GPU is lost.
func (d *device) numbers(r *DeviceReading, calls []number) {
	for _, n := range calls {
		if d.lost {
			return
		}
		value, why := d.number(n)
		if why == "" {
			r.Values[n.signal.Name] = value
		} else if slices.Contains(linkSignals, n.signal) {
			d.absent(why, linkSignals...)
		} else {
			d.absent(why, n.signal)
		}
	}
}

func (d *device) number(n number) (value float64, why string) {
	if why := d.library.lacks(n.symbol); why != "" {
		return 0, why
	}
	got, ret := n.call(d.handle)
	if ret != nvml.SUCCESS {
		return 0, d.failed(ret)
	}
	if got < n.low || got > n.high {
		return 0, fmt.Sprintf("the driver reports %d, which cannot be", got)
	}
	return float64(got) * n.unit, ""
}

// throttle reads why the clocks are below their maximum. The call was renamed in driver 535.
func (d *device) throttle(r *DeviceReading) {
	if d.lost {
		return
	}
	const current, former = "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
	var bits uint64
	var ret nvml.Return
	switch {
	case d.library.has(current):
		bits, ret = d.handle.GetCurrentClocksEventReasons()
	case d.library.has(former):
		bits, ret = d.handle.GetCurrentClocksThrottleReasons()
	}
	switch why := d.library.lacks(current, former); {
	case why != "":
		d.absent(why, metric.GPUThrottle)
	case ret != nvml.SUCCESS:
		d.absent(d.failed(ret), metric.GPUThrottle)
	case bits >= maxReasons:
		d.absent(fmt.Sprintf("the driver reports bits %#x, which cannot be", bits), metric.GPUThrottle)
	default:
		r.Values[metric.GPUThrottle.Name] = float64(bits)
	}
}

// failed puts a return code into words, and notes the loss of the GPU.
func (d *device) failed(ret nvml.Return) string {
	if ret == nvml.ERROR_GPU_IS_LOST {
		d.lost = true
	}
	return reason(ret)
}

// absent notes why signals are missing, once per reason; "" means they were read.
func (d *device) absent(why string, signals ...metric.Desc) {
	for _, signal := range signals {
		if why == "" || d.reported[signal.Name] == why {
			continue
		}
		d.reported[signal.Name] = why
		if d.changed == nil {
			d.changed = map[string]string{}
		}
		d.changed[signal.Name] = why
	}
}
