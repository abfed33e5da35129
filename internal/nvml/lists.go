package nvml

/*
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The calls of NVML that return lists. go-nvml allocates as many elements as the library says, and a library that
// says four billion ends the process; here the buffers have a fixed size. Layouts from nvml.h.

typedef struct { unsigned long long at; unsigned char value[8]; } pt_sample;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gpu_instance, compute_instance; } pt_process;
typedef struct { unsigned int pid; unsigned long long used; } pt_process_v1;
typedef struct { unsigned int pid; unsigned long long at; unsigned int sm, memory, encoder, decoder; } pt_use;

typedef int (*handle_call)(unsigned int, void **);
typedef int (*place_call)(const char *, void **);
typedef int (*slice_call)(void *, unsigned int, void **);
typedef int (*use_call)(void *, pt_use *, unsigned int *, unsigned long long);
typedef int (*samples_call)(void *, int, unsigned long long, int *, unsigned int *, pt_sample *);
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

static int pt_handle(void *call, unsigned int index, void **device) {
	return ((handle_call)call)(index, device);
}

static int pt_place(void *call, const char *place, void **device) {
	return ((place_call)call)(place, device);
}

static int pt_slice(void *call, void *device, unsigned int index, void **slice) {
	return ((slice_call)call)(device, index, slice);
}

static int pt_uses(void *call, void *device, pt_use *buffer, unsigned int *count, unsigned long long since) {
	return ((use_call)call)(device, buffer, count, since);
}

static int pt_samples(void *call, void *device, int kind, unsigned long long since, int *type, unsigned int *count, pt_sample *buffer) {
	return ((samples_call)call)(device, kind, since, type, count, buffer);
}

static int pt_processes(void *call, void *device, unsigned int *count, void *buffer) {
	return ((processes_call)call)(device, count, buffer);
}
*/
import "C"

import (
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

// lister calls these functions for one GPU or slice. It has its own handle, because go-nvml does not show the one it
// holds.
type lister struct {
	device    unsafe.Pointer
	samples   unsafe.Pointer
	processes unsafe.Pointer
	// those that compute through the Multi-Process Service; nil where the driver has no list of them
	clients unsafe.Pointer
	former  bool           // processes is the first version of the call, with smaller elements
	uses    unsafe.Pointer // what each process uses; nil where the driver does not tell
	buffer  []C.pt_sample
}

// rawByIndex returns the plain handle of a GPU that is open already, nil where it cannot be had.
func (l *library) rawByIndex(index int) (device unsafe.Pointer) {
	call := l.first("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex")
	if call == nil || C.pt_handle(call, C.uint(index), &device) != 0 {
		return nil
	}
	return device
}

// rawByPCI is rawByIndex for a place on the bus.
func (l *library) rawByPCI(place string) (device unsafe.Pointer) {
	text := C.CString(place)
	defer C.free(unsafe.Pointer(text))
	call := l.first(byPCI)
	if call == nil || C.pt_place(call, text, &device) != 0 {
		return nil
	}
	return device
}

// rawSlice is rawByIndex for a MIG instance of a GPU.
func (l *library) rawSlice(parent unsafe.Pointer, index int) (device unsafe.Pointer) {
	call := l.first("nvmlDeviceGetMigDeviceHandleByIndex")
	if call == nil || parent == nil || C.pt_slice(call, parent, C.uint(index), &device) != 0 {
		return nil
	}
	return device
}

// lister returns what calls the functions for a device, which all are missing where its handle is nil.
func (l *library) lister(device unsafe.Pointer) lister {
	if device == nil {
		return lister{}
	}
	found := lister{device: device, uses: l.first("nvmlDeviceGetProcessUtilization")}
	found.samples, found.buffer = l.first("nvmlDeviceGetSamples"), make([]C.pt_sample, maxSamples)
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

// sample is one entry of the driver's buffer; at is in microseconds of the driver's clock.
type sample struct {
	at    uint64
	value [8]byte
}

// utilizationSamples returns the samples newer than since and the type of their values.
func (l lister) utilizationSamples(since uint64) (samples []sample, kind nvml.ValueType, ret nvml.Return, why string) {
	if l.samples == nil {
		return nil, 0, nvml.ERROR_FUNCTION_NOT_FOUND, ""
	}
	var valueType C.int
	var count C.uint
	// First without a buffer: the header asks for it, and the answer is only a bound.
	for _, buffer := range []*C.pt_sample{nil, &l.buffer[0]} {
		ret = nvml.Return(C.pt_samples(l.samples, l.device, C.int(nvml.GPU_UTILIZATION_SAMPLES), C.ulonglong(since),
			&valueType, &count, buffer))
		switch {
		case ret != nvml.SUCCESS || count == 0:
			return nil, 0, ret, ""
		case count > maxSamples:
			return nil, 0, ret, tooMany("samples", uint32(count))
		}
	}
	for _, got := range l.buffer[:count] {
		samples = append(samples, sample{uint64(got.at), *(*[8]byte)(unsafe.Pointer(&got.value))})
	}
	return samples, nvml.ValueType(valueType), ret, ""
}

// rawUse is one entry of the driver's list.
type rawUse = C.pt_use

// processUses returns what each process used since a time of the driver's clock, and the newest such time.
func (l lister) processUses(since uint64) (uses []ProcessUse, newest uint64, ret nvml.Return, why string) {
	if l.uses == nil {
		return nil, 0, nvml.ERROR_FUNCTION_NOT_FOUND, ""
	}
	count := C.uint(maxProcesses)
	buffer := make([]rawUse, maxProcesses)
	ret = nvml.Return(C.pt_uses(l.uses, l.device, &buffer[0], &count, C.ulonglong(since)))
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
	current := make([]C.pt_process, maxProcesses) // the former version's elements are smaller and fit as well
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
	former := unsafe.Slice((*C.pt_process_v1)(unsafe.Pointer(&current[0])), maxProcesses)
	processes = []Process{}
	for i := range int(count) {
		pid, used := uint32(current[i].pid), uint64(current[i].used)
		if smaller {
			pid, used = uint32(former[i].pid), uint64(former[i].used)
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
