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

// open loads the library and lists the GPUs. A second open closes all and lists them again.
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
	inventory.Devices = s.listed(count)
	return inventory
}
