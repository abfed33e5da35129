package nvml

import (
	"fmt"
	"regexp"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// maxDevices is far above the 16 GPUs of the largest single servers; more is garbage.
const maxDevices = 256

// uuidForm is what the driver gives: GPU- or MIG- and hexadecimal groups.
var uuidForm = regexp.MustCompile(`^(GPU|MIG)-[0-9A-Za-z-]{8,80}$`)

// open loads the library and lists the GPUs. A second open lists them again.
func (s *Session) open() Inventory {
	s.Close()
	library, unavailable := load(s.places)
	if unavailable != nil {
		return Inventory{Unavailable: unavailable}
	}
	s.library = library
	inventory := Inventory{}
	if library.has("nvmlSystemGetDriverVersion") {
		if version, ret := library.nvml.SystemGetDriverVersion(); ret == nvml.SUCCESS {
			inventory.Driver = untrusted.Cut(version, 80).String()
		}
	}
	fail := func(what, why, cure string) Inventory {
		s.Close()
		inventory.Unavailable = &Unavailable{Reason: what + ": " + why, Cure: cure}
		return inventory
	}
	if why := library.lacks("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"); why != "" {
		return fail("counting GPUs", why, cureDriver)
	}
	if why := library.lacks("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"); why != "" {
		return fail("opening GPUs", why, cureDriver)
	}
	count, ret := library.nvml.DeviceGetCount()
	switch {
	case ret != nvml.SUCCESS:
		return fail("counting GPUs", reason(ret), cureModule)
	case count == 0:
		return fail("counting GPUs", "NVML sees none", "in a container, ask for a GPU (--gpus all); check nvidia-smi")
	case count < 0 || count > maxDevices:
		return fail("counting GPUs", fmt.Sprintf("the library reports %d, which cannot be", count), cureModule)
	}
	seen := map[string]bool{}
	for index := range count {
		d := s.openDevice(index)
		if seen[d.uuid] {
			d.uuid = fmt.Sprintf("%s-%d", d.uuid, index)
		}
		seen[d.uuid] = true
		s.devices = append(s.devices, d)
		inventory.Devices = append(inventory.Devices, d.describe())
	}
	return inventory
}

// openDevice takes a handle and the identity of the GPU at an index. One that fails is kept as lost, so that the
// others are read and the report names it.
func (s *Session) openDevice(index int) *device {
	d := &device{library: s.library, index: index, uuid: fmt.Sprintf("unknown-%d", index), told: map[Field]string{}}
	handle, ret := s.library.nvml.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		d.lost = true
		d.absent(FieldEveryReading, reason(ret))
		return d
	}
	d.handle, d.lister = handle, s.library.lister(index)
	if why := s.library.lacks("nvmlDeviceGetUUID"); why == "" {
		if uuid, ret := handle.GetUUID(); ret == nvml.SUCCESS && uuidForm.MatchString(uuid) {
			d.uuid = uuid
		}
	}
	return d
}

// describe reads what does not change.
func (d *device) describe() Device {
	described := Device{UUID: d.uuid, Lost: d.lost}
	if d.lost {
		return described
	}
	if d.library.has("nvmlDeviceGetName") {
		if name, ret := d.handle.GetName(); ret == nvml.SUCCESS {
			described.Name = untrusted.Cut(name, 96).String()
		}
	}
	if _, total, why := d.memory(); why == "" {
		described.MemoryBytes = int64(total)
	}
	if d.library.has("nvmlDeviceGetMigMode") {
		if current, _, ret := d.handle.GetMigMode(); ret == nvml.SUCCESS && (current == 0 || current == nvml.DEVICE_MIG_ENABLE) {
			mig := current == nvml.DEVICE_MIG_ENABLE
			described.MIG, d.mig = &mig, mig
		}
	}
	if d.library.has("nvmlDeviceGetPciInfo_v3") || d.library.has("nvmlDeviceGetPciInfo_v2") {
		if pci, ret := d.handle.GetPciInfo(); ret == nvml.SUCCESS {
			described.PCI = fmt.Sprintf("%08x:%08x:%08x", pci.Domain, pci.Bus, pci.Device)
		}
	}
	described.GPM = d.gpm.open(d)
	return described
}
