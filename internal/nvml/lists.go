package nvml

/*
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The calls of NVML that return lists. go-nvml allocates as many elements as the library says, and a library that
// says four billion ends the process; here the buffers have a fixed size. What they hold is of go-nvml's types, which
// are laid out as those of nvml.h.

typedef int (*use_call)(void *, void *, unsigned int *, unsigned long long);
typedef int (*samples_call)(void *, int, unsigned long long, int *, unsigned int *, void *);
typedef int (*processes_call)(void *, unsigned int *, void *);

static void *pt_symbol(const char *library, const char *name) {
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	void *symbol = NULL;
	if (handle != NULL) {
		symbol = dlsym(handle, name);
		dlclose(handle); // it was open before and stays open
	}
	return symbol;
}

static int pt_uses(void *call, void *device, void *buffer, unsigned int *count, unsigned long long since) {
	return ((use_call)call)(device, buffer, count, since);
}

static int pt_samples(void *call, void *device, int kind, unsigned long long since, int *type, unsigned int *count, void *buffer) {
	return ((samples_call)call)(device, kind, since, type, count, buffer);
}

static int pt_processes(void *call, void *device, unsigned int *count, void *buffer) {
	return ((processes_call)call)(device, count, buffer);
}
*/
import "C"

import (
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

const (
	// maxSamples bounds the driver's buffer, which holds some hundred samples.
	maxSamples = 1024
	// maxProcesses bounds the processes of one GPU. A CUDA context costs some hundred MB of its memory, so that even a
	// GPU of the future holds far fewer.
	maxProcesses = 4096
)

// lister calls these functions for one GPU or slice.
type lister struct {
	device    unsafe.Pointer
	samples   unsafe.Pointer
	processes unsafe.Pointer
	// those that compute through the Multi-Process Service; nil where the driver has no list of them
	clients unsafe.Pointer
	former  bool           // processes is the first version of the call, with smaller elements
	uses    unsafe.Pointer // what each process uses; nil where the driver does not tell
	buffer  []nvml.Sample
}

// plain is the driver's handle of a GPU or slice, nil where it cannot be had. go-nvml's device has it in an exported
// field, but is of a type that is not exported.
func plain(of nvml.Device) unsafe.Pointer {
	if device := reflect.ValueOf(of); device.Kind() == reflect.Struct {
		if handle := device.FieldByName("Handle"); handle.Kind() == reflect.Pointer {
			return handle.UnsafePointer()
		}
	}
	return nil
}

// lister returns what calls the functions for a device, which all are missing where it has no plain handle.
func (l *library) lister(of nvml.Device) lister {
	device := plain(of)
	if device == nil {
		return lister{}
	}
	found := lister{device: device, uses: l.first("nvmlDeviceGetProcessUtilization")}
	found.samples, found.buffer = l.first("nvmlDeviceGetSamples"), make([]nvml.Sample, maxSamples)
	found.processes = l.first("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")
	if found.processes == nil {
		found.processes, found.former = l.first("nvmlDeviceGetComputeRunningProcesses"), true
	}
	found.clients = l.first("nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2")
	return found
}

// first returns the address of the first of the functions that the open library has.
func (l *library) first(names ...string) unsafe.Pointer {
	path := C.CString(l.path)
	defer C.free(unsafe.Pointer(path))
	for _, name := range names {
		if !l.has(name) {
			continue
		}
		symbol := C.CString(name)
		address := C.pt_symbol(path, symbol)
		C.free(unsafe.Pointer(symbol))
		if address != nil {
			return address
		}
	}
	return nil
}

// utilizationSamples returns the samples newer than since, in microseconds of the driver's clock, and the type of their
// values. They are good until the next call.
func (l lister) utilizationSamples(since uint64) (samples []nvml.Sample, kind nvml.ValueType, ret nvml.Return,
	why string) {
	if l.samples == nil {
		return nil, 0, nvml.ERROR_FUNCTION_NOT_FOUND, ""
	}
	var valueType C.int
	var count C.uint
	// First without a buffer: the header asks for it, and the answer is only a bound.
	for _, buffer := range []unsafe.Pointer{nil, unsafe.Pointer(&l.buffer[0])} {
		ret = nvml.Return(C.pt_samples(l.samples, l.device, C.int(nvml.GPU_UTILIZATION_SAMPLES), C.ulonglong(since),
			&valueType, &count, buffer))
		switch {
		case ret != nvml.SUCCESS || count == 0:
			return nil, 0, ret, ""
		case count > maxSamples:
			return nil, 0, ret, tooMany("samples", uint32(count))
		}
	}
	return l.buffer[:count], nvml.ValueType(valueType), ret, ""
}

// processUses returns what each process used since a time of the driver's clock, and the newest such time.
func (l lister) processUses(since uint64) (uses []ProcessUse, newest uint64, ret nvml.Return, why string) {
	if l.uses == nil {
		return nil, 0, nvml.ERROR_FUNCTION_NOT_FOUND, ""
	}
	count := C.uint(maxProcesses)
	buffer := make([]nvml.ProcessUtilizationSample, maxProcesses)
	ret = nvml.Return(C.pt_uses(l.uses, l.device, unsafe.Pointer(&buffer[0]), &count, C.ulonglong(since)))
	if ret == nvml.ERROR_NOT_FOUND {
		return []ProcessUse{}, 0, ret, ""
	}
	if count > maxProcesses {
		return nil, 0, nvml.SUCCESS, tooMany("uses by processes", uint32(count))
	}
	if ret != nvml.SUCCESS {
		return nil, 0, ret, ""
	}
	uses, newest = latestUses(buffer[:count], since)
	return uses, newest, ret, ""
}

// computeProcesses returns the processes that compute on the GPU, by themselves or through the Multi-Process Service;
// empty where none does.
func (l lister) computeProcesses() (processes []Process, ret nvml.Return, why string) {
	processes, ret, why = l.list(l.processes, l.former)
	if l.clients == nil || ret != nvml.SUCCESS || why != "" {
		return processes, ret, why
	}
	clients, ret, why := l.list(l.clients, false)
	if ret == nvml.ERROR_NOT_SUPPORTED { // a GPU that knows no such service has no clients of it
		return processes, nvml.SUCCESS, ""
	}
	if ret != nvml.SUCCESS || why != "" {
		return nil, ret, why
	}
	for _, c := range clients {
		if !slices.ContainsFunc(processes, func(p Process) bool { return p.PID == c.PID }) {
			processes = append(processes, c)
		}
	}
	return processes, nvml.SUCCESS, ""
}

// list calls one of the functions that list processes.
func (l lister) list(call unsafe.Pointer, smaller bool) (processes []Process, ret nvml.Return, why string) {
	if call == nil {
		return nil, nvml.ERROR_FUNCTION_NOT_FOUND, ""
	}
	count := C.uint(maxProcesses)
	current := make([]nvml.ProcessInfo, maxProcesses) // the former version's elements are smaller and fit as well
	ret = nvml.Return(C.pt_processes(call, l.device, &count, unsafe.Pointer(&current[0])))
	if ret != nvml.SUCCESS && ret != nvml.ERROR_INSUFFICIENT_SIZE {
		return nil, ret, ""
	}
	if count > maxProcesses {
		return nil, nvml.SUCCESS, tooMany("processes", uint32(count))
	}
	if ret != nvml.SUCCESS {
		return nil, ret, ""
	}
	former := unsafe.Slice((*nvml.ProcessInfo_v1)(unsafe.Pointer(&current[0])), maxProcesses)
	processes = []Process{}
	for i := range int(count) {
		pid, used := current[i].Pid, current[i].UsedGpuMemory
		if smaller {
			pid, used = former[i].Pid, former[i].UsedGpuMemory
		}
		process := Process{PID: pid}
		if used <= maxMemoryBytes { // NVML_VALUE_NOT_AVAILABLE is 2^64-1
			process.MemoryBytes = new(float64(used))
		}
		processes = append(processes, process)
	}
	return processes, nvml.SUCCESS, ""
}

func (d *device) processes(r *DeviceReading, _ time.Time) (why string) {
	processes, ret, why := d.lister.computeProcesses()
	if why == "" && ret != nvml.SUCCESS {
		why = d.failed(ret)
	}
	r.Processes = processes
	return why
}
