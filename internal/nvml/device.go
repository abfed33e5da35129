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

// part reads signals that are readable or not as one. It says why they could not be read; "" means that they were, or
// that nothing of them is new.
type part struct {
	signals []metric.Desc
	read    func(d *device, r *DeviceReading, now time.Time) (why string)
}

// The parts of a reading, in their order: those of each, of a slow one, and of one that lists processes.
var (
	fastParts = []part{
		{[]metric.Desc{metric.GPUUtil}, (*device).utilization},
		{memorySignals, (*device).memoryUse},
		number(metric.GPUPower, 1, maxMilliwatts, 1e-3, "nvmlDeviceGetPowerUsage", nvml.Device.GetPowerUsage),
		number(metric.GPUSMClock, 0, maxMegahertz, 1e6, "nvmlDeviceGetClockInfo",
			func(d nvml.Device) (uint32, nvml.Return) { return d.GetClockInfo(nvml.CLOCK_SM) }),
		{[]metric.Desc{metric.GPUThrottle}, (*device).throttle},
		{ActivitySignals, (*device).activity},
		{[]metric.Desc{metric.GPUPcieRx}, (*device).trafficCounters},
	}
	slowParts = []part{
		number(metric.GPUPowerLimit, 1, maxMilliwatts, 1e-3, "nvmlDeviceGetEnforcedPowerLimit",
			nvml.Device.GetEnforcedPowerLimit),
		number(metric.GPUSMClockMax, 1, maxMegahertz, 1e6, "nvmlDeviceGetMaxClockInfo",
			func(d nvml.Device) (uint32, nvml.Return) { return d.GetMaxClockInfo(nvml.CLOCK_SM) }),
		number(metric.GPUPcieGen, 1, maxGeneration, 1, "nvmlDeviceGetCurrPcieLinkGeneration",
			unsigned(nvml.Device.GetCurrPcieLinkGeneration)),
		number(metric.GPUPcieGenMax, 1, maxGeneration, 1, "nvmlDeviceGetMaxPcieLinkGeneration",
			unsigned(nvml.Device.GetMaxPcieLinkGeneration)),
		number(metric.GPUPcieWidth, 1, maxLanes, 1, "nvmlDeviceGetCurrPcieLinkWidth",
			unsigned(nvml.Device.GetCurrPcieLinkWidth)),
		number(metric.GPUPcieWidthMx, 1, maxLanes, 1, "nvmlDeviceGetMaxPcieLinkWidth",
			unsigned(nvml.Device.GetMaxPcieLinkWidth)),
		{[]metric.Desc{metric.GPUPcieRx}, (*device).trafficCalls},
		{[]metric.Desc{metric.GPUOthersUtil}, (*device).processUse},
	}
	listParts = []part{{[]metric.Desc{metric.GPUJobMemory}, (*device).processes}}
)

// read takes one reading, as far as the GPU is not lost.
func (d *device) read(asked Request, now time.Time) DeviceReading {
	r, parts := DeviceReading{UUID: d.uuid, Values: map[string]float64{}}, fastParts
	if asked.Slow {
		parts = slices.Concat(parts, slowParts)
	}
	if asked.Processes {
		parts = slices.Concat(parts, listParts)
	}
	for _, p := range parts {
		if !d.lost {
			d.absent(p.read(d, &r, now), p.signals...)
		}
	}
	if d.lost {
		r = DeviceReading{UUID: d.uuid, Lost: true}
	}
	r.Absent, d.changed = d.changed, nil
	return r
}

// number is a call that yields one number. Times unit it is the value of a signal, where it lies in low..high.
func number(signal metric.Desc, low, high uint32, unit float64, symbol string,
	call func(nvml.Device) (uint32, nvml.Return)) part {
	signals := []metric.Desc{signal}
	if slices.Contains(linkSignals, signal) {
		signals = linkSignals
	}
	return part{signals, func(d *device, r *DeviceReading, _ time.Time) string {
		got, why := ask(d, func() (uint32, nvml.Return) { return call(d.handle) }, symbol)
		if why != "" {
			return why
		}
		if got < low || got > high {
			return fmt.Sprintf("the driver reports %d, which cannot be", got)
		}
		r.Values[signal.Name] = float64(got) * unit
		return ""
	}}
}

func unsigned(call func(nvml.Device) (int, nvml.Return)) func(nvml.Device) (uint32, nvml.Return) {
	return func(d nvml.Device) (uint32, nvml.Return) {
		value, ret := call(d)
		return uint32(value), ret
	}
}

// throttle reads why the clocks are below their maximum. The call was renamed in driver 535.
func (d *device) throttle(r *DeviceReading, _ time.Time) (why string) {
	const current, former = "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
	call := d.handle.GetCurrentClocksEventReasons
	if !d.library.has(current) {
		call = d.handle.GetCurrentClocksThrottleReasons
	}
	switch bits, why := ask(d, call, current, former); {
	case why != "":
		return why
	case bits >= maxReasons:
		return fmt.Sprintf("the driver reports bits %#x, which cannot be", bits)
	default:
		r.Values[metric.GPUThrottle.Name] = float64(bits)
		return ""
	}
}

// ask makes a call that the library has by one of the names, and says why it brought nothing.
func ask[T any](d *device, call func() (T, nvml.Return), symbols ...string) (value T, why string) {
	if why := d.library.lacks(symbols...); why != "" {
		return value, why
	}
	value, ret := call()
	if ret != nvml.SUCCESS {
		why = d.failed(ret)
	}
	return value, why
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
