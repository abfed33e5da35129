package nvml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// byPCI opens one GPU by its place on the bus and starts no other; to open one by its UUID may start all that come
// before it (nvml.h).
const byPCI = "nvmlDeviceGetHandleByPciBusId_v2"

// openGPU takes hold of one GPU. Of one that MIG has cut up the slices are opened in its place, where there are any:
// the driver reports slices what it does not report their parent. A GPU that is lost is kept as that, so that the
// report names it.
func (s *Session) openGPU(place string) Opened {
	var again []Device
	for _, d := range s.devices {
		if d.place == place {
			again = append(again, d.described)
		}
	}
	if len(again) > 0 {
		return Opened{Devices: again}
	}
	handle, ret := s.take(place)
	whole := &device{library: s.library, place: place, handle: handle, reported: map[string]string{}}
	switch {
	case ret == nvml.ERROR_GPU_IS_LOST:
		whole.lost = true
		whole.absent(reason(ret), metric.Desc{Name: EverySignal})
	case ret != nvml.SUCCESS:
		return Opened{Failed: reason(ret)}
	default:
		whole.lister = s.library.lister(handle)
	}
	whole.describe()
	opened := []*device{whole}
	if slices := s.slicesOf(whole); len(slices) > 0 {
		opened = slices
	}
	var out Opened
	for _, d := range opened {
		s.name(d)
		s.devices = append(s.devices, d)
		out.Devices = append(out.Devices, d.described)
	}
	return out
}

// take returns the handle of the GPU at a place.
func (s *Session) take(place string) (nvml.Device, nvml.Return) {
	if index, isIndex := strings.CutPrefix(place, indexPlace); isIndex {
		n, err := strconv.Atoi(index)
		if err != nil || n < 0 || n >= maxDevices {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		return s.library.nvml.DeviceGetHandleByIndex(n)
	}
	if !s.library.has(byPCI) {
		return nil, nvml.ERROR_FUNCTION_NOT_FOUND
	}
	return s.library.nvml.DeviceGetHandleByPciBusId(place)
}

// name makes a GPU's UUID its own: two that claim the same, or none, are held apart by their places.
func (s *Session) name(d *device) {
	if d.uuid == "" {
		d.uuid = "unknown-" + strings.TrimPrefix(d.place, indexPlace)
	}
	if slices.ContainsFunc(s.devices, func(other *device) bool { return other.uuid == d.uuid }) {
		d.uuid = fmt.Sprintf("%s-%d", d.uuid, len(s.devices))
	}
	d.described.UUID = d.uuid
}

// identify reads what does not change of a GPU or a slice.
func (d *device) identify(handle nvml.Device) {
	if uuid, why := ask(d, handle.GetUUID, "nvmlDeviceGetUUID"); why == "" && uuidForm.MatchString(uuid) {
		d.uuid = uuid
	}
	if name, why := ask(d, handle.GetName, "nvmlDeviceGetName"); why == "" {
		d.described.Name = untrusted.Cut(name, 96).String()
	}
	_, total, _ := d.memory() // 0 where it cannot be read
	d.described.MemoryBytes = int64(total)
	d.described.GPM = d.gpm.open(d)
}

// describe reads what does not change of a whole GPU.
func (d *device) describe() {
	d.described = Device{Place: d.place, Lost: d.lost}
	if d.lost {
		return
	}
	minor, why := ask(d, d.handle.GetMinorNumber, "nvmlDeviceGetMinorNumber")
	if why == "" && minor >= 0 && minor < maxDevices {
		d.described.Minor = &minor
	}
	if d.library.has("nvmlDeviceGetMigMode") {
		if current, _, ret := d.handle.GetMigMode(); ret == nvml.SUCCESS && (current == 0 ||
			current == nvml.DEVICE_MIG_ENABLE) {
			mig := current == nvml.DEVICE_MIG_ENABLE
			d.described.MIG, d.mig = &mig, mig
		}
	}
	pci, why := ask(d, d.handle.GetPciInfo, "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2")
	if why == "" {
		d.described.PCI = pciText(pci.Domain, pci.Bus, pci.Device)
	}
	d.identify(d.handle)
}
