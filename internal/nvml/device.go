package nvml

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
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

	reported map[Field]string // what was last reported absent, and why
	changed  map[Field]string // what to report with this reading
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
	r := DeviceReading{UUID: d.uuid}
	if !d.lost {
		d.fast(&r, now)
	}
	if !d.lost && asked.Slow {
		d.slow(&r)
	}
	if !d.lost && asked.Processes {
		processes, why := d.processes()
		d.absent(FieldProcesses, why)
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
	d.absent(FieldUtilization, why)
	if d.lost {
		return
	}
	used, total, why := d.memory()
	d.absent(FieldMemory, why)
	if why == "" {
		r.MemoryUsedBytes, r.MemoryTotalBytes = &used, &total
	}
	r.PowerWatts = d.number(FieldPower, 1, maxMilliwatts, 1e-3, "nvmlDeviceGetPowerUsage", d.handle.GetPowerUsage)
	r.SMClockHertz = d.number(FieldClock, 0, maxMegahertz, 1e6, "nvmlDeviceGetClockInfo", func() (uint32, nvml.Return) {
		return d.handle.GetClockInfo(nvml.CLOCK_SM)
	})
	r.ThrottleReasons = d.throttle()
	d.gpm.read(d, r, now)
	d.trafficCounters(r, now)
}

func (d *device) slow(r *DeviceReading) {
	r.PowerLimitWatts = d.number(FieldPowerLimit, 1, maxMilliwatts, 1e-3, "nvmlDeviceGetEnforcedPowerLimit",
		d.handle.GetEnforcedPowerLimit)
	r.SMClockMaxHertz = d.number(FieldClockMax, 1, maxMegahertz, 1e6, "nvmlDeviceGetMaxClockInfo",
		func() (uint32, nvml.Return) {
			return d.handle.GetMaxClockInfo(nvml.CLOCK_SM)
		})
	r.PCIeGeneration = d.number(FieldPCIeLink, 1, maxGeneration, 1, "nvmlDeviceGetCurrPcieLinkGeneration",
		unsigned(d.handle.GetCurrPcieLinkGeneration))
	r.PCIeGenerationMax = d.number(FieldPCIeLink, 1, maxGeneration, 1, "nvmlDeviceGetMaxPcieLinkGeneration",
		unsigned(d.handle.GetMaxPcieLinkGeneration))
	r.PCIeWidth = d.number(FieldPCIeLink, 1, maxLanes, 1, "nvmlDeviceGetCurrPcieLinkWidth",
		unsigned(d.handle.GetCurrPcieLinkWidth))
	r.PCIeWidthMax = d.number(FieldPCIeLink, 1, maxLanes, 1, "nvmlDeviceGetMaxPcieLinkWidth",
		unsigned(d.handle.GetMaxPcieLinkWidth))
	d.trafficCalls(r)
	d.processUse(r)
}

func unsigned(call func() (int, nvml.Return)) func() (uint32, nvml.Return) {
	return func() (uint32, nvml.Return) {
		value, ret := call()
		return uint32(value), ret
	}
}

// number makes one call that yields one number, and returns it times unit when it lies in low..high.
func (d *device) number(field Field, low, high uint32, unit float64, symbol string,
	call func() (uint32, nvml.Return)) *float64 {
	if d.lost {
		return nil
	}
	if why := d.library.lacks(symbol); why != "" {
		d.absent(field, why)
		return nil
	}
	value, ret := call()
	if ret != nvml.SUCCESS {
		d.absent(field, d.failed(ret))
		return nil
	}
	if value < low || value > high {
		d.absent(field, fmt.Sprintf("the driver reports %d, which cannot be", value))
		return nil
	}
	return new(float64(value) * unit)
}

// throttle reads why the clocks are below their maximum. The call was renamed in driver 535.
func (d *device) throttle() *float64 {
	if d.lost {
		return nil
	}
	const current, former = "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
	var bits uint64
	var ret nvml.Return
	switch {
	case d.library.has(current):
		bits, ret = d.handle.GetCurrentClocksEventReasons()
	case d.library.has(former):
		bits, ret = d.handle.GetCurrentClocksThrottleReasons()
	default:
		d.absent(FieldThrottle, d.library.lacks(current, former))
		return nil
	}
	if ret != nvml.SUCCESS {
		d.absent(FieldThrottle, d.failed(ret))
		return nil
	}
	if bits >= maxReasons {
		d.absent(FieldThrottle, fmt.Sprintf("the driver reports bits %#x, which cannot be", bits))
		return nil
	}
	return new(float64(bits))
}

// failed puts a return code into words, and notes the loss of the GPU.
func (d *device) failed(ret nvml.Return) string {
	if ret == nvml.ERROR_GPU_IS_LOST {
		d.lost = true
	}
	return reason(ret)
}

// absent notes why a field is missing, once per reason; "" means it was read.
func (d *device) absent(field Field, why string) {
	if why == "" || d.reported[field] == why {
		return
	}
	d.reported[field] = why
	if d.changed == nil {
		d.changed = map[Field]string{}
	}
	d.changed[field] = why
}
