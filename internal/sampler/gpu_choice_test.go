package sampler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// listedGPUs are four GPUs of one model as the kernel's module reports them, of which one was never started.
func listedGPUs() []nvml.Device {
	return []nvml.Device{
		{Place: "0:1", PCI: "0:1", Minor: new(0), Name: "A", UUID: "GPU-aaaa-1"},
		{Place: "0:2", PCI: "0:2", Minor: new(1), Name: "A", UUID: "GPU-bbbb-1"},
		{Place: "0:3", PCI: "0:3", Minor: new(2), Name: "A", UUID: "GPU-cccc-1"},
		{Place: "0:4", PCI: "0:4", Minor: new(3), Name: "A"},
	}
}

// TestGPUsThatAreOpened: those of others are left alone where it can be determined whose they are.
func TestGPUsThatAreOpened(t *testing.T) {
	trainer := func(pid int, visible string) job.Process {
		return job.Process{ID: procfs.ID{PID: pid}, Role: job.Trainer, GPUs: job.GPUChoice{Read: true,
			Set: visible != "-", Visible: visible, SameView: true}}
	}
	all := []string{"0:1", "0:2", "0:3", "0:4"}
	for name, c := range map[string]struct {
		processes []job.Process
		open      map[int]map[int]bool // minor numbers by process
		want      []string
	}{
		"its device is open": {[]job.Process{trainer(2, "-")}, map[int]map[int]bool{2: {1: true}},
			[]string{"0:2"}},
		"CUDA shows all, and all is open": {[]job.Process{trainer(2, "-")}, map[int]map[int]bool{2: {0: true, 1: true,
			2: true, 3: true}}, all},
		"all is open, two may be used": {[]job.Process{trainer(2, "1,2")}, map[int]map[int]bool{2: {0: true, 1: true,
			2: true, 3: true}}, []string{"0:2", "0:3"}},
		"descriptors cannot be read": {[]job.Process{trainer(2, "GPU-aaaa")}, nil, []string{"0:1"}},
		"two ranks": {[]job.Process{trainer(2, "0"), trainer(3, "2")},
			map[int]map[int]bool{2: {0: true}, 3: {2: true}}, []string{"0:1", "0:3"}},
		"never started, by its index": {[]job.Process{trainer(2, "3")}, map[int]map[int]bool{2: {3: true}},
			[]string{"0:4"}},
		"nothing can be told": {[]job.Process{trainer(2, "-")}, nil, all},
		"nobody":              {nil, nil, all},
	} {
		members := &crew{}
		members.are(c.processes...)
		g := NewGPU(procfs.FS{}, nil, members, false)
		g.devices = func(id procfs.ID) map[int]bool { return c.open[id.PID] }
		g.report(gpuNews{found: &nvml.Inventory{Devices: listedGPUs()}})
		if place, found := g.next(map[string]bool{}); found {
			t.Errorf("%s: %s is opened before the job was inspected", name, place)
		}
		g.Sample(t.Context(), newBook())
		var got []string
		for tried := map[string]bool{}; ; {
			place, more := g.next(tried)
			if !more {
				break
			}
			tried[place] = true
			got = append(got, place)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestGPUTakenLater: a process that begins to use a GPU during the watch is noticed though the job's processes are
// the same.
func TestGPUTakenLater(t *testing.T) {
	source := &playedGPUs{opens: lists(listedGPUs())}
	members := &crew{}
	members.are(job.Process{ID: procfs.ID{PID: 2}, Role: job.Trainer})
	held := map[int]bool{0: true}
	sink, g := watchGPUsOf(t, source, members,
		func(g *GPU) { g.devices = func(procfs.ID) map[int]bool { return held } },
		12*time.Second, func(at time.Duration) {
			if at > 2*time.Second {
				held = map[int]bool{0: true, 2: true}
			}
		})
	if diff := cmp.Diff([]string{"0:1", "0:3"}, source.places); diff != "" {
		t.Error(diff)
	}
	want := []recording.GPU{{UUID: "GPU-bbbb-1", Name: "A", Unwatched: true}, {UUID: "GPU-aaaa-1", Name: "A"},
		{UUID: "GPU-cccc-1", Name: "A"}}
	if diff := cmp.Diff(want, g.GPUs()); diff != "" {
		t.Errorf("for the header: %s", diff)
	}
	if len(sink.events) != 2 || len(sink.unseen) != 0 {
		t.Errorf("events %v, unseen %v", sink.events, sink.unseen)
	}
}

// TestGPUThatCannotBeOpened: the watch goes on with the others, and says why of the one.
func TestGPUThatCannotBeOpened(t *testing.T) {
	source := &playedGPUs{opens: lists(listedGPUs()[:3]),
		samples: reads(nvml.DeviceReading{UUID: "GPU-cccc-1", Values: busy(0.5)})}
	source.opensOf = func(place string) (nvml.Opened, error) {
		switch place {
		case "0:1":
			return nvml.Opened{Failed: nvml.ReasonNoPermission}, nil
		case "0:2":
			return nvml.Opened{}, &isolate.TimeoutError{Task: nvml.Task, After: gpuTimeout}
		}
		return nvml.Opened{Devices: listedGPUs()[2:3]}, nil
	}
	sink, _ := watchGPUs(t, source, true, 10*time.Second)
	if got := sink.get(t, metric.GPUUtil, "gpu/GPU-cccc-1"); got != 0.5 || source.opened != 2 {
		t.Errorf("the third GPU: %v after %d opens", got, source.opened)
	}
	if n := strings.Count(strings.Join(source.places, " "), "0:2"); n != 1 {
		t.Errorf("the GPU that hangs was opened %d times", n)
	}
	why := map[string]string{}
	for _, n := range sink.unseen {
		why[n.entity] = n.reason + "; " + n.cure
	}
	want := map[string]string{"gpu/GPU-aaaa-1": "no permission; run pipetune with CAP_SYS_ADMIN on the host",
		"gpu/GPU-bbbb-1": "opening it: gpu: no answer within 30s; nvidia-smi"}
	if diff := cmp.Diff(want, why); diff != "" || sink.last[metric.GPULost.Name+" gpu/GPU-aaaa-1"] != 0 {
		t.Error(diff)
	}
}

// TestGPUInSlices: the parent gives way to its slices.
func TestGPUInSlices(t *testing.T) {
	source := &playedGPUs{opens: lists(listedGPUs()[:1])}
	source.opensOf = func(place string) (nvml.Opened, error) {
		slice := nvml.Device{UUID: "MIG-aaaa-1", Place: place, Parent: "GPU-aaaa-1", Name: "A MIG 1g.10gb",
			MemoryBytes: 10 << 30, MIG: new(true)}
		return nvml.Opened{Devices: []nvml.Device{slice}}, nil
	}
	sink, g := watchGPUs(t, source, true, time.Second)
	want := []recording.GPU{{UUID: "MIG-aaaa-1", Parent: "GPU-aaaa-1", Name: "A MIG 1g.10gb", MemoryBytes: 10 << 30,
		MIG: true}}
	if diff := cmp.Diff(want, g.GPUs()); diff != "" || len(sink.events) != 1 || sink.events[0] != "gpu gpu/MIG-aaaa-1" {
		t.Errorf("events %v, %s", sink.events, diff)
	}
}

func TestGPUOfOthersToo(t *testing.T) {
	source := &playedGPUs{samples: func(n int, slow, processes bool) (nvml.Reading, error) {
		b := nvml.DeviceReading{UUID: "GPU-b", Values: busy(0.9)}
		if slow {
			b.ProcessUse = []nvml.ProcessUse{{PID: 4711, SMRatio: 0.5}, {PID: 9, SMRatio: 0.25},
				{PID: 10, SMRatio: 0.125}}
		}
		if processes {
			b.Processes = []nvml.Process{{PID: 4711, MemoryBytes: new(3e9)}, {PID: 9}, {PID: 10}}
		}
		return nvml.Reading{Devices: []nvml.DeviceReading{b}}, nil
	}}
	sink, _ := watchGPUs(t, source, true, 12*time.Second)
	if used := sink.get(t, metric.GPUOthersUtil, "gpu/GPU-b"); used != 0.375 {
		t.Errorf("others use %v", used)
	}
	if n := strings.Count(strings.Join(sink.events, " "), recording.EventGPUProcess+" process/4711.0"); n != 1 {
		t.Errorf("told %d times: %v", n, sink.events)
	}
}

// TestOpenMinors reads a process of its own, which has no GPU, and a fake one.
func TestOpenMinors(t *testing.T) {
	if minors := openMinors(procfs.FS{}, self(t)); len(minors) != 0 {
		t.Errorf("this test is on %v", minors)
	}
	m := newJob(t, 0)
	for fd, target := range map[int]string{5: "/dev/nvidiactl", 6: "/dev/nvidia-uvm", 7: "/dev/nvidia3",
		8: "/dev/nvidia0", 9: "/dev/nvidia3"} {
		m.link(100, fd, target)
	}
	if diff := cmp.Diff(map[int]bool{0: true, 3: true}, openMinors(procfs.FS{Root: m.Dir}, id(100))); diff != "" {
		t.Error(diff)
	}
	if minors := openMinors(procfs.FS{Root: m.Dir}, id(101)); minors != nil {
		t.Errorf("nobody is on %v", minors)
	}
}
