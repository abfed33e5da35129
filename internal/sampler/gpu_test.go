package sampler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// playedGPUs is a gpuSource that plays readings.
type playedGPUs struct {
	opens   func(n int) (nvml.Inventory, error)
	opensOf func(place string) (nvml.Opened, error) // one GPU; nil opens it as it is listed
	samples func(n int, slow, processes bool) (nvml.Reading, error)

	listed                       []nvml.Device
	places                       []string // that were opened
	opened, sampled, slow, lists int
	closed                       bool
}

func (p *playedGPUs) Open(context.Context) (nvml.Inventory, error) {
	p.opened++
	if p.opens == nil {
		p.listed = twoGPUs().Devices
		return twoGPUs(), nil
	}
	found, err := p.opens(p.opened)
	p.listed = found.Devices
	return found, err
}

func (p *playedGPUs) OpenGPU(_ context.Context, place string) (nvml.Opened, error) {
	p.places = append(p.places, place)
	if p.opensOf != nil {
		return p.opensOf(place)
	}
	for _, d := range p.listed {
		if d.Place == place {
			return nvml.Opened{Devices: []nvml.Device{d}}, nil
		}
	}
	return nvml.Opened{}, errors.New("no such place")
}

func (p *playedGPUs) sample(ctx context.Context, slow, processes bool) (nvml.Reading, error) {
	p.sampled++
	if slow {
		p.slow++
	}
	if processes {
		p.lists++
	}
	if p.samples == nil {
		return nvml.Reading{}, ctx.Err()
	}
	return p.samples(p.sampled, slow, processes)
}

func (p *playedGPUs) Close() { p.closed = true }

// lists plays GPUs that are there each time.
func lists(devices []nvml.Device) func(int) (nvml.Inventory, error) {
	return func(int) (nvml.Inventory, error) { return nvml.Inventory{Devices: devices}, nil }
}

// reads plays readings that are the same each time.
func reads(devices ...nvml.DeviceReading) func(int, bool, bool) (nvml.Reading, error) {
	return func(int, bool, bool) (nvml.Reading, error) { return nvml.Reading{Devices: devices}, nil }
}

// busy are the values of a GPU of which only its utilization is read.
func busy(ratio float64) map[string]float64 { return map[string]float64{metric.GPUUtil.Name: ratio} }

func twoGPUs() nvml.Inventory {
	return nvml.Inventory{Devices: []nvml.Device{{UUID: "GPU-b", Place: "#0", Name: "B", MemoryBytes: 80 << 30,
		MIG: new(true)}, {UUID: "GPU-a", Place: "#1", Name: "A"}}}
}

func watchGPUs(t *testing.T, source *playedGPUs, hostNumbers bool, length time.Duration) (*book, *GPU) {
	t.Helper()
	members := jobOf(job.Process{ID: procfs.ID{PID: 4711}})
	return watchGPUsOf(t, source, members, func(g *GPU) { g.matchable = hostNumbers }, length, func(time.Duration) {})
}

// watchGPUsOf is watchGPUs for a job that a test changes.
func watchGPUsOf(t *testing.T, source *playedGPUs, members Members, prepare func(*GPU), length time.Duration,
	at func(time.Duration)) (*book, *GPU) {
	t.Helper()
	sink := newBook()
	g := NewGPU(procfs.FS{}, nil, members, true)
	g.source = source
	prepare(g)
	synctest.Test(t, func(t *testing.T) {
		must.Do(t, g.Start(t.Context(), sink))
		for i := range length / g.Every() {
			at(i * g.Every())
			time.Sleep(g.Every()) // of the played clock
			synctest.Wait()
			g.Sample(t.Context(), sink)
		}
		g.Close()
	})
	if !source.closed {
		t.Error("the source was not closed")
	}
	return sink, g
}

func TestGPURecordsReadings(t *testing.T) {
	source := &playedGPUs{samples: func(n int, slow, processes bool) (nvml.Reading, error) {
		b := nvml.DeviceReading{UUID: "GPU-b", Values: map[string]float64{metric.GPUUtil.Name: 0.31,
			metric.GPUPower.Name: 300, metric.GPUPcieRx.Name: 1e9}}
		a := nvml.DeviceReading{UUID: "GPU-a", Values: busy(0)}
		if n == 1 {
			a.Absent = map[string]string{metric.GPUSMActivity.Name: "needs Hopper",
				metric.GPUPower.Name: nvml.ReasonNoPermission, metric.GPUPcieRx.Name: nvml.ReasonNoFunction + "x"}
		}
		if slow {
			b.Values[metric.GPUPowerLimit.Name] = 700
		}
		if processes {
			b.Processes = []nvml.Process{{PID: 4711, MemoryBytes: new(3e9)}, {PID: 9, MemoryBytes: new(7e9)}}
			a.Processes = []nvml.Process{{PID: 9, MemoryBytes: new(7e9)}}
		}
		return nvml.Reading{Devices: []nvml.DeviceReading{b, a}}, nil
	}}
	sink, g := watchGPUs(t, source, true, 10*time.Second)
	for _, want := range []struct {
		desc   metric.Desc
		entity string
		value  float64
	}{
		{metric.GPUUtil, "gpu/GPU-b", 0.31}, {metric.GPUUtil, "gpu/GPU-a", 0}, {metric.GPUPower, "gpu/GPU-b", 300},
		{metric.GPUPcieRx, "gpu/GPU-b", 1e9}, {metric.GPUPowerLimit, "gpu/GPU-b", 700},
		{metric.GPUJobMemory, "gpu/GPU-b", 3e9}, {metric.GPUJobMemory, "gpu/GPU-a", 0},
	} {
		if got := sink.get(t, want.desc, want.entity); got != want.value {
			t.Errorf("%s of %s: %v, want %v", want.desc.Name, want.entity, got, want.value)
		}
	}
	if diff := cmp.Diff([]string{"gpu gpu/GPU-b", "gpu-process process/4711.0", "gpu gpu/GPU-a"},
		sink.events); diff != "" {
		t.Errorf("events: %s", diff)
	}
	cures := map[string]string{}
	for _, n := range sink.unseen {
		cures[n.signal] = n.cure
	}
	want := map[string]string{"gpu_sm_activity_ratio": "", "gpu_power_w": "run pipetune with CAP_SYS_ADMIN on the host",
		"gpu_pcie_rx_bytes_per_s": "update the NVIDIA driver"}
	if diff := cmp.Diff(want, cures); diff != "" {
		t.Errorf("cures: %s", diff)
	}
	gpus := []recording.GPU{{UUID: "GPU-b", Name: "B", MemoryBytes: 80 << 30, MIG: true, OfJob: true},
		{UUID: "GPU-a", Name: "A"}}
	if diff := cmp.Diff(gpus, g.GPUs()); diff != "" {
		t.Errorf("for the header: %s", diff)
	}
	// Five readings a second, a slow one each second, a process list each five.
	if source.sampled < 49 || source.sampled > 51 || source.slow < 10 || source.slow > 11 || source.lists < 2 ||
		source.lists > 3 {
		t.Errorf("%d readings, %d slow, %d process lists in 10 s", source.sampled, source.slow, source.lists)
	}
}

func TestGPUInAContainer(t *testing.T) {
	source := &playedGPUs{samples: reads(nvml.DeviceReading{UUID: "GPU-b",
		Processes: []nvml.Process{{PID: 4711, MemoryBytes: new(3e9)}}})}
	sink, g := watchGPUs(t, source, false, time.Second)
	if _, found := sink.last[metric.GPUJobMemory.Name+" gpu/GPU-b"]; found || g.GPUs()[0].OfJob {
		t.Error("a number of another pid namespace was taken for the job's")
	}
	if len(sink.unseen) != 2*len(matched) || sink.unseen[0].signal != metric.GPUJobMemory.Name {
		t.Errorf("unseen: %v", sink.unseen)
	}
}

func TestGPUMemoryOfProcessesUnknown(t *testing.T) {
	source := &playedGPUs{samples: reads(nvml.DeviceReading{UUID: "GPU-b", Processes: []nvml.Process{{PID: 4711}}})}
	sink, g := watchGPUs(t, source, true, time.Second)
	if _, found := sink.last[metric.GPUJobMemory.Name+" gpu/GPU-b"]; found || !g.GPUs()[0].OfJob ||
		len(sink.unseen) == 0 {
		t.Errorf("recorded %v, unseen %v", sink.last, sink.unseen)
	}
}

func TestGPUBusyWithNobodyListed(t *testing.T) {
	values := busy(0.7)
	source := &playedGPUs{samples: reads(nvml.DeviceReading{UUID: "GPU-b", Values: values,
		Processes: []nvml.Process{}})}
	sink, _ := watchGPUs(t, source, true, time.Second)
	if v, found := sink.last[metric.GPUJobMemory.Name+" gpu/GPU-b"]; found || len(sink.unseen) == 0 ||
		!strings.Contains(sink.unseen[0].reason, "lists no process") {
		t.Errorf("recorded %v, unseen %v", v, sink.unseen)
	}
	values[metric.GPUUtil.Name] = 0
	if sink, _ = watchGPUs(t, source, true, time.Second); sink.get(t, metric.GPUJobMemory, "gpu/GPU-b") != 0 ||
		len(sink.unseen) != 0 {
		t.Errorf("an idle GPU: unseen %v", sink.unseen)
	}
}

func TestGPUUnavailable(t *testing.T) {
	source := &playedGPUs{opens: func(int) (nvml.Inventory, error) {
		return nvml.Inventory{Unavailable: &nvml.Unavailable{Reason: "no library", Cure: "install it"}}, nil
	}}
	sink, _ := watchGPUs(t, source, true, 10*time.Second)
	if diff := cmp.Diff([]note{{"gpu_*", "", "no library", "install it"}}, sink.unseen,
		cmp.AllowUnexported(note{})); diff != "" || source.opened != 1 {
		t.Errorf("%d opens, %s", source.opened, diff)
	}
}

func TestGPULostWhileWatched(t *testing.T) {
	source := &playedGPUs{samples: func(n int, _, _ bool) (nvml.Reading, error) {
		b := nvml.DeviceReading{UUID: "GPU-b", Values: busy(0.5)}
		if n > 5 {
			b = nvml.DeviceReading{UUID: "GPU-b", Lost: true}
		}
		return nvml.Reading{Devices: []nvml.DeviceReading{b, {UUID: "GPU-a", Values: busy(float64(n) / 100)}}},
			nil
	}}
	sink, _ := watchGPUs(t, source, true, 4*time.Second)
	if sink.get(t, metric.GPULost, "gpu/GPU-b") != 1 || len(sink.events) != 3 || len(sink.unseen) != 1 ||
		sink.unseen[0].entity != "gpu/GPU-b" {
		t.Errorf("events %v, unseen %v", sink.events, sink.unseen)
	}
	if got := sink.get(t, metric.GPUUtil, "gpu/GPU-a"); got < 0.15 {
		t.Errorf("the other GPU stopped at reading %v", got*100)
	}
}

func TestGPUChildDies(t *testing.T) {
	death := &isolate.DeathError{Task: nvml.Task, ExitCode: 2, Line: "SIGABRT: abort"}
	source := &playedGPUs{samples: func(n int, _, _ bool) (nvml.Reading, error) {
		if n == 3 {
			return nvml.Reading{}, death
		}
		return nvml.Reading{Devices: []nvml.DeviceReading{{UUID: "GPU-b", Values: busy(0.5)}}}, nil
	}}
	sink, _ := watchGPUs(t, source, true, 5*time.Second)
	if source.opened != 2 || source.sampled < 15 {
		t.Errorf("%d opens, %d readings: it did not go on", source.opened, source.sampled)
	}
	if len(sink.unseen) != 1 || sink.unseen[0].reason != death.Error() || len(sink.events) != 2 {
		t.Errorf("unseen %v, events %v", sink.unseen, sink.events)
	}
}

func TestGPUGivesUp(t *testing.T) {
	final := fmt.Errorf("the gpu process %w: x", isolate.ErrGaveUp)
	source := &playedGPUs{opens: func(n int) (nvml.Inventory, error) {
		if n == 3 {
			return nvml.Inventory{}, final
		}
		return nvml.Inventory{}, errors.New("died")
	}}
	sink, _ := watchGPUs(t, source, true, 20*time.Second)
	if source.opened != 3 || sink.unseen[len(sink.unseen)-1].reason != final.Error() {
		t.Errorf("%d opens, unseen %v", source.opened, sink.unseen)
	}

	// A driver that hangs is tried once and three times more, whatever is refused in between.
	hangs := 0
	source = &playedGPUs{opens: func(n int) (nvml.Inventory, error) {
		if n%5 != 1 {
			return nvml.Inventory{}, &isolate.StuckError{Key: "the NVIDIA driver"}
		}
		hangs++
		return nvml.Inventory{}, &isolate.TimeoutError{Task: nvml.Task, After: 4 * time.Second}
	}}
	sink, _ = watchGPUs(t, source, true, time.Minute)
	if hangs != 1+isolate.MaxRestarts {
		t.Errorf("%d hangs", hangs)
	}
	for _, n := range sink.unseen {
		if n.reason != "gpu: no answer within 4s" {
			t.Errorf("told %v", n)
		}
	}
}

// TestGPUNeverBlocksTheTick lets the driver hang for a minute: Sample and Close return at once.
func TestGPUNeverBlocksTheTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := newBook()
		g := NewGPU(procfs.FS{}, nil, jobOf(), true)
		g.source = hanging{}
		must.Do(t, g.Start(t.Context(), sink))
		begin := time.Now()
		for range 100 {
			g.Sample(t.Context(), sink)
		}
		g.Close()
		if took := time.Since(begin); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

type hanging struct{}

func (hanging) Open(ctx context.Context) (nvml.Inventory, error) {
	<-ctx.Done() // as isolate.Ask does
	return nvml.Inventory{}, ctx.Err()
}
func (hanging) OpenGPU(context.Context, string) (nvml.Opened, error)     { return nvml.Opened{}, nil }
func (hanging) sample(context.Context, bool, bool) (nvml.Reading, error) { return nvml.Reading{}, nil }
func (hanging) Close()                                                   {}

func TestGPUBacklogIsBounded(t *testing.T) {
	g := NewGPU(procfs.FS{}, nil, jobOf(), true)
	found := twoGPUs()
	g.report(gpuNews{found: &found})
	for range 10 * gpuBacklog {
		g.report(gpuNews{reading: &nvml.Reading{}})
	}
	if len(g.pending) != gpuBacklog || g.pending[0].found == nil {
		t.Errorf("%d kept, the inventory lost: %v", len(g.pending), g.pending[0].found == nil)
	}
}
