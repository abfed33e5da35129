package sampler

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// The GPU sampler's paces. The driver keeps samples of its own and hands them over together, so five readings a second
// lose nothing; each reading takes the driver's lock, which at 40 Hz was seen to be held two thirds of the time
// (MangoHud issue 2104).
const (
	gpuInterval  = 200 * time.Millisecond
	gpuSlowEvery = 5  // readings between two of temperature, limits and link: 1 s
	gpuListEvery = 25 // readings between two process lists: 5 s
	gpuBacklog   = 64 // readings kept for a Sample that does not come; older ones are dropped
	gpuReopen    = time.Second
)

// GPUSpec is the child that reads GPUs. The time-out covers the driver's own start, which takes seconds on a machine
// that keeps no persistence daemon, and still tells of a hang within 5 s. The grace lets the library shut down in
// order: a reader killed in the middle of a call once left a GPU frozen (dcgm-exporter issue 84).
func GPUSpec() isolate.Spec {
	return isolate.Spec{Task: nvml.Task, Key: "the NVIDIA driver", Timeout: 4 * time.Second, Grace: time.Second,
		Only: []string{"/"}, Write: []string{"/dev"}, UnixSockets: true} // devices, and the driver's own services
}

// GPU samples all GPUs through NVML, from a goroutine of its own: a call may block for seconds on a GPU with errors.
type GPU struct {
	source  gpuSource
	members Members
	// matchable says that NVML's process numbers mean the same processes here.
	matchable bool

	mu      sync.Mutex
	pending []gpuNews
	gpus    []recording.GPU
	lost    map[string]bool // by UUID

	// What the environment of the job's processes says: see narrow.
	found    []nvml.Device
	narrowed *job.Tree // the tree that was asked last; nil where the GPUs are new
	mayUse   map[procfs.ID]allowance

	stop    context.CancelFunc
	stopped chan struct{}
}

// gpuSource is where readings come from.
type gpuSource interface {
	open(ctx context.Context) (nvml.Inventory, error)
	sample(ctx context.Context, slow, processes bool) (nvml.Reading, error)
	close()
}

// gpuNews is what the goroutine hands over: one of an inventory, a reading, a failure.
type gpuNews struct {
	found   *nvml.Inventory
	reading *nvml.Reading
	reason  string
	cure    string
}

// NewGPU reads GPUs through the child, which must have been made with GPUSpec and is closed with the sampler.
// hostNumbers says that pipetune sees processes under the numbers of the host's first pid namespace, as NVML does.
func NewGPU(child *isolate.Child, members Members, hostNumbers bool) *GPU {
	return &GPU{source: nvmlChild{child}, members: members, matchable: hostNumbers, lost: map[string]bool{}, mayUse: map[procfs.ID]allowance{}}
}

// Name implements Sampler.
func (g *GPU) Name() string { return "gpu" }

// Every implements Sampler.
func (g *GPU) Every() time.Duration { return gpuInterval }

// Start implements Sampler: it begins the goroutine that reads, which ends with ctx or Close.
func (g *GPU) Start(ctx context.Context, _ recording.Sink) error {
	ctx, g.stop = context.WithCancel(ctx)
	g.stopped = make(chan struct{})
	go func() {
		defer close(g.stopped)
		defer g.source.close()
		g.watch(ctx)
	}()
	return nil
}

// Close implements Sampler. The goroutine ends at once: a request under way is given up.
func (g *GPU) Close() {
	if g.stop != nil {
		g.stop()
		<-g.stopped
	}
}

// GPUs returns the GPUs found so far, for the recording's header. OfJob is set on those that a process of the job uses, Barred on those that the
// job's environment keeps it from.
func (g *GPU) GPUs() []recording.GPU {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := append([]recording.GPU{}, g.gpus...)
	for i := range out {
		out[i].Barred = g.barred(out[i].UUID)
	}
	return out
}

// watch opens the library and reads until ctx ends, there is nothing to read, or the child has failed too often. After
// a hang the runner refuses the driver for a while; then it is tried again, as often as after a death.
func (g *GPU) watch(ctx context.Context) {
	for failures := 0; ; {
		err := g.round(ctx)
		if ctx.Err() != nil || err == nil {
			return
		}
		refused := errors.Is(err, isolate.ErrStuck)
		if !refused || failures == 0 {
			g.report(gpuNews{reason: err.Error(), cure: "nvidia-smi"})
		}
		if !refused {
			failures++
		}
		if failures > isolate.MaxRestarts || errors.Is(err, isolate.ErrGaveUp) || !pause(ctx, gpuReopen) {
			return
		}
	}
}

// round is one life of the child. It returns nil when no GPU can be read on this machine.
func (g *GPU) round(ctx context.Context) error {
	found, err := g.source.open(ctx)
	if err != nil {
		return err
	}
	g.report(gpuNews{found: &found})
	if found.Unavailable != nil {
		return nil
	}
	for n := 0; ; n++ {
		reading, err := g.source.sample(ctx, n%gpuSlowEvery == 0, n%gpuListEvery == 0)
		if err != nil {
			return err
		}
		g.report(gpuNews{reading: &reading})
		if !pause(ctx, gpuInterval) {
			return ctx.Err()
		}
	}
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// report queues news for the next Sample. Of a backlog only readings are dropped, the oldest first.
func (g *GPU) report(news gpuNews) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.pending) >= gpuBacklog {
		for i := range g.pending {
			if g.pending[i].reading != nil {
				g.pending = append(g.pending[:i], g.pending[i+1:]...)
				break
			}
		}
	}
	g.pending = append(g.pending, news)
}

// Sample implements Sampler: it records what the goroutine has gathered.
func (g *GPU) Sample(_ context.Context, sink recording.Sink) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, news := range g.pending {
		switch {
		case news.found != nil:
			g.meet(sink, news.found)
		case news.reading != nil:
			for i := range news.reading.Devices {
				g.record(sink, &news.reading.Devices[i])
			}
		default:
			sink.Unseen("gpu_*", "", news.reason, news.cure)
		}
	}
	g.pending = g.pending[:0]
	g.narrow()
}

// meet records the GPUs of an inventory that are new.
func (g *GPU) meet(sink recording.Sink, found *nvml.Inventory) {
	if why := found.Unavailable; why != nil {
		sink.Unseen("gpu_*", "", why.Reason, why.Cure)
		return
	}
	g.found, g.narrowed = found.Devices, nil
	for _, d := range found.Devices {
		if g.known(d.UUID) != nil {
			continue
		}
		g.gpus = append(g.gpus, recording.GPU{UUID: d.UUID, Name: d.Name, MemoryBytes: d.MemoryBytes, MIG: d.MIG != nil && *d.MIG})
		sink.Event(recording.EventGPU, gpuEntity(d.UUID), map[string]string{"state": "found", "name": d.Name})
		if !g.matchable {
			sink.Unseen(metric.GPUJobMemory.Name, gpuEntity(d.UUID), "the driver names processes by the host's numbers, which mean others in a container",
				"run pipetune on the host, or in a container started with --pid=host")
		}
	}
}

func (g *GPU) known(uuid string) *recording.GPU {
	for i := range g.gpus {
		if g.gpus[i].UUID == uuid {
			return &g.gpus[i]
		}
	}
	return nil
}

func gpuEntity(uuid string) string { return "gpu/" + uuid }

// nvmlChild asks the isolated child.
type nvmlChild struct{ child *isolate.Child }

func (c nvmlChild) open(ctx context.Context) (nvml.Inventory, error) {
	return isolate.Ask[nvml.Request, nvml.Inventory](ctx, c.child, nvml.Request{Op: nvml.OpOpen})
}

func (c nvmlChild) sample(ctx context.Context, slow, processes bool) (nvml.Reading, error) {
	return isolate.Ask[nvml.Request, nvml.Reading](ctx, c.child, nvml.Request{Op: nvml.OpSample, Slow: slow, Processes: processes})
}

func (c nvmlChild) close() { c.child.Close() }
