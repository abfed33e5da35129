package nvml

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// slice is a MIG instance of a GPU.
type slice struct {
	handle   nvml.Device
	instance int // the GPU instance that GPM is asked about
}

// maxSlices bounds the instances of one GPU, of which there are 7 at most.
const maxSlices = 16

// slicesOf opens the MIG instances of a GPU, none where it is not cut up or they cannot be opened. Each reads its
// memory, its processes and its activity of its own, and power, clocks and the link of the GPU.
func (s *Session) slicesOf(whole *device) (slices []*device) {
	if whole.lost || !whole.mig || s.library.lacks("nvmlDeviceGetMigDeviceHandleByIndex") != "" {
		return nil
	}
	for i := range maxSlices {
		handle, ret := whole.handle.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS { // NOT_FOUND: there is none at this index
			continue
		}
		d := &device{library: s.library, place: whole.place, handle: whole.handle, mig: true,
			slice: &slice{handle: handle, instance: -1}, reported: map[string]string{},
			lister: s.library.lister(handle)}
		d.described = whole.described
		d.described.Parent = whole.uuid
		if id, why := ask(d, handle.GetGpuInstanceId, "nvmlDeviceGetGpuInstanceId"); why == "" {
			d.slice.instance = id
		}
		d.identify(handle)
		slices = append(slices, d)
	}
	if len(slices) > 0 {
		whole.gpm.free() // nobody reads it
	}
	return slices
}
