package nvml

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/pipetune/pipetune/internal/metric"
)

// usage remembers where reading the driver's samples has got to.
type usage struct {
	lastSeen uint64 // microseconds of the driver's clock; 0 before the first reading
	instant  bool   // there is no sample buffer: read the driver's latest value
}

// utilization reads the share of time in which at least one kernel ran: the mean of the driver's samples since the
// last call, which say more at less cost than polling (nvml.h, nvmlDeviceGetSamples). The first call only finds the
// newest sample, because what lies before it is from before the watch. No value without a reason means that nothing
// is new.
func (d *device) utilization(r *DeviceReading, _ time.Time) (why string) {
	if d.mig {
		why := "MIG is enabled, and of a slice nothing but GPU performance monitoring shows whether it works"
		if refused := d.reported[metric.GPUGraphics.Name]; refused != "" {
			why += ": " + refused
		}
		return why
	}
	if !d.usage.instant {
		found, kind, ret, why := d.lister.utilizationSamples(d.usage.lastSeen)
		switch {
		case why != "":
			return why
		case ret == nvml.SUCCESS:
			return d.usage.mean(found, kind, r)
		case ret == nvml.ERROR_NOT_FOUND:
			return ""
		case ret != nvml.ERROR_NOT_SUPPORTED && ret != nvml.ERROR_FUNCTION_NOT_FOUND:
			return d.failed(ret)
		}
		d.usage.instant = true
	}
	rates, why := ask(d, d.handle.GetUtilizationRates, "nvmlDeviceGetUtilizationRates")
	if why != "" {
		return why
	}
	if rates.Gpu > 100 {
		return fmt.Sprintf("the driver reports a utilization of %d %%, which cannot be", rates.Gpu)
	}
	r.Values[metric.GPUUtil.Name] = float64(rates.Gpu) / 100
	return ""
}

// mean averages the new samples and moves lastSeen on. A sample that cannot be is passed over; only where all are,
// there is a reason.
func (u *usage) mean(found []nvml.Sample, kind nvml.ValueType, r *DeviceReading) (why string) {
	before, newest, sum, samples := u.lastSeen, u.lastSeen, 0.0, 0
	for _, s := range found {
		if s.TimeStamp <= before { // also the empty places of a buffer that is not full yet
			continue
		}
		newest = max(newest, s.TimeStamp)
		value := decode(kind, s.SampleValue)
		if !(value >= 0 && value <= 100) {
			why = fmt.Sprintf("the driver reports a utilization of %v %%, which cannot be", value)
			continue
		}
		sum += value
		samples++
	}
	u.lastSeen = newest
	if samples == 0 {
		return why
	}
	if before == 0 {
		return ""
	}
	r.Values[metric.GPUUtil.Name] = sum / float64(samples) / 100
	return ""
}

// decode reads a value of nvmlValue_t, a union of 8 bytes.
func decode(kind nvml.ValueType, raw [8]byte) float64 {
	order := binary.NativeEndian
	switch kind {
	case nvml.VALUE_TYPE_DOUBLE:
		return math.Float64frombits(order.Uint64(raw[:]))
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return float64(order.Uint32(raw[:]))
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return float64(order.Uint64(raw[:]))
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int64(order.Uint64(raw[:])))
	case nvml.VALUE_TYPE_SIGNED_INT:
		return float64(int32(order.Uint32(raw[:])))
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return float64(order.Uint16(raw[:]))
	}
	return math.NaN()
}
