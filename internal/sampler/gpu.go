package sampler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// The GPU sampler's paces. The driver keeps samples of its own and hands them over together, so five readings a second
// lose nothing; each reading takes the driver's lock, which at 40 Hz was seen to be held two thirds of the time
// (MangoHud issue 2104).
const (
	gpuInterval  = 200 * time.Millisecond
	gpuSlowEvery = 5  // readings between two of limits and link: 1 s
	gpuListEvery = 25 // readings between two process lists: 5 s
	gpuBacklog   = 64 // readings kept for a Sample that does not come; older ones are dropped
	gpuReopen    = time.Second
)

// GPUSpec is the child that reads GPUs. The time-out reports a hang within 5 s; what takes longer has its own (see
// OpenGPU). The grace lets the library shut down in order: a reader killed in the middle of a call once left a GPU
// frozen (dcgm-exporter issue 84).
func GPUSpec() isolate.Spec {
	return isolate.Spec{Task: nvml.Task, Key: "the NVIDIA driver", Timeout: 4 * time.Second, Grace: time.Second,
		Only: []string{"/"}, Write: []string{"/dev"}, UnixSockets: true} // devices, and the driver's own services
}

// gpuTimeout is for opening one GPU: the driver starts it, 0.5 to 2 s where no persistence daemon runs, more after an
// error.
const gpuTimeout = 30 * time.Second

// GPUChild is a child of GPUSpec.
type GPUChild struct{ *isolate.Child }

// Open asks for the GPUs that there are. None is open afterwards.
func (c GPUChild) Open(ctx context.Context) (nvml.Inventory, error) {
	return isolate.Ask[nvml.Request, nvml.Inventory](ctx, c.Child, nvml.Request{Op: nvml.OpOpen})
}

// OpenGPU opens one GPU. One that hangs is alone to blame: the others can be opened still.
func (c GPUChild) OpenGPU(ctx context.Context, place string) (nvml.Opened, error) {
	return isolate.AskWithin[nvml.Request, nvml.Opened](ctx, c.Child, "GPU "+place, gpuTimeout,
		nvml.Request{Op: nvml.OpOpenGPU, Place: place})
}

func (c GPUChild) sample(ctx context.Context, slow, processes bool) (nvml.Reading, error) {
	return isolate.Ask[nvml.Request, nvml.Reading](ctx, c.Child, nvml.Request{Op: nvml.OpSample, Slow: slow,
		Processes: processes})
}

// GPU samples the job's GPUs through NVML, from a goroutine of its own: a call may block for seconds on a GPU with
// errors. Where it cannot be determined which are the job's, it samples all.
type GPU struct {
	steady
	source  gpuSource
	members Members
	devices func(procfs.ID) map[int]bool // minor numbers of the NVIDIA device files that a process has open
	// matchable says that NVML's process numbers mean the same processes here.
	matchable bool

	mu      sync.Mutex
	pending []gpuNews
	gpus    []recording.GPU
	lost    map[string]bool // by UUID
	seen    map[string]bool // a process of the job and a GPU that it was seen on
	choice  gpuChoice
	found   []nvml.Device // opened ones as they were described then
	mayUse  map[procfs.ID]allowance

	stop    context.CancelFunc
	stopped chan struct{}
}

// gpuSource is where readings come from.
type gpuSource interface {
	Open(ctx context.Context) (nvml.Inventory, error)
	OpenGPU(ctx context.Context, place string) (nvml.Opened, error)
	sample(ctx context.Context, slow, processes bool) (nvml.Reading, error)
	Close()
}

// gpuNews is what the goroutine hands over: one of an inventory, an opened GPU, a reading, a failure.
type gpuNews struct {
	found   *nvml.Inventory
	opened  *nvml.Opened
	reading *nvml.Reading
	place   string // of what was opened, or failed; "" for all
	reason  string
	cure    string
}

// NewGPU reads GPUs through the child, which must have been made with GPUSpec and is closed with the sampler.
// hostNumbers says that pipetune sees processes under the numbers of the host's first pid namespace, as NVML does.
func NewGPU(fs procfs.FS, child *isolate.Child, members Members, hostNumbers bool) *GPU {
	return &GPU{steady: steady{"gpu", gpuInterval}, source: GPUChild{child}, members: members, matchable: hostNumbers,
		lost: map[string]bool{}, seen: map[string]bool{}, mayUse: map[procfs.ID]allowance{},
		choice:  gpuChoice{wanted: map[string]bool{}, failed: map[string]bool{}},
		devices: func(id procfs.ID) map[int]bool { return openMinors(fs, id) }}
}

// Start implements Sampler: it begins the goroutine that reads, which ends with ctx or Close.
func (g *GPU) Start(ctx context.Context, _ recording.Sink) error {
	ctx, g.stop = context.WithCancel(ctx)
	g.stopped = make(chan struct{})
	go func() {
		defer close(g.stopped)
		defer g.source.Close()
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

// GPUs returns the GPUs found so far, for the recording's header. OfJob is set on those that a process of the job
// uses, Barred on those that the job's environment keeps it from.
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
		place, err := g.round(ctx)
		if ctx.Err() != nil || err == nil {
			return
		}
		refused := errors.Is(err, isolate.ErrStuck)
		if !refused || failures == 0 {
			g.report(gpuNews{place: place, reason: err.Error(), cure: "nvidia-smi"})
		}
		if !refused {
			failures++
		}
		if failures > isolate.MaxRestarts || errors.Is(err, isolate.ErrGaveUp) || !pause(ctx, gpuReopen) {
			return
		}
	}
}

// round is one life of the child. It returns nil when no GPU can be read on this machine. GPUs are opened one by one,
// and those that are open are read in between. closed is the place of one that could not be opened.
func (g *GPU) round(ctx context.Context) (closed string, err error) {
	found, err := g.source.Open(ctx)
	if err != nil {
		return "", err
	}
	g.report(gpuNews{found: &found})
	if found.Unavailable != nil {
		return "", nil
	}
	open, tried := 0, map[string]bool{}
	for n := 0; ; {
		place, more := g.next(tried)
		if more {
			tried[place] = true
			opened, err := g.source.OpenGPU(ctx, place)
			if err != nil {
				g.giveUp(place)
				return place, fmt.Errorf("opening it: %w", err)
			}
			open, n = open+len(opened.Devices), 0 // all is read of a new one at once
			g.report(gpuNews{opened: &opened, place: place})
		}
		if open > 0 {
			reading, err := g.source.sample(ctx, n%gpuSlowEvery == 0, n%gpuListEvery == 0)
			if err != nil {
				return "", err
			}
			g.report(gpuNews{reading: &reading})
			n++
		}
		if !more && !pause(ctx, gpuInterval) {
			return "", ctx.Err()
		}
	}
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
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
		if i := slices.IndexFunc(g.pending, func(n gpuNews) bool { return n.reading != nil }); i >= 0 {
			g.pending = slices.Delete(g.pending, i, i+1)
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
		case news.opened != nil:
			g.opened(sink, news.place, news.opened)
		case news.reading != nil:
			for i := range news.reading.Devices {
				g.record(sink, &news.reading.Devices[i])
			}
		default:
			sink.Unseen(nvml.EverySignal, g.entityAt(news.place), news.reason, news.cure)
		}
	}
	g.pending = g.pending[:0]
	g.choose()
}

// meet takes the GPUs of an inventory. Of those that were open before the child's end, what is known stays.
func (g *GPU) meet(sink recording.Sink, found *nvml.Inventory) {
	if why := found.Unavailable; why != nil {
		sink.Unseen(nvml.EverySignal, "", why.Reason, why.Cure)
		return
	}
	if len(g.found) > 0 {
		return
	}
	g.found, g.choice.tree = found.Devices, nil
	for _, d := range found.Devices {
		if d.UUID != "" {
			g.gpus = append(g.gpus, recording.GPU{UUID: d.UUID, Name: d.Name, MIG: d.MIG != nil &&
				*d.MIG, Unwatched: true})
		}
	}
}

// opened records the GPU at a place, or the slices of it.
func (g *GPU) opened(sink recording.Sink, place string, opened *nvml.Opened) {
	if opened.Failed != "" {
		sink.Unseen(nvml.EverySignal, g.entityAt(place), opened.Failed, gpuCure(nvml.EverySignal, opened.Failed))
		return
	}
	listed := g.entityAt(place)
	g.gpus = slices.DeleteFunc(g.gpus, func(known recording.GPU) bool {
		return known.Unwatched && gpuEntity(known.UUID) == listed
	})
	g.found = slices.DeleteFunc(g.found, func(d nvml.Device) bool { return d.Place == place })
	g.found, g.choice.tree = append(g.found, opened.Devices...), nil
	for _, d := range opened.Devices {
		if g.known(d.UUID) != nil {
			continue
		}
		g.gpus = append(g.gpus, recording.GPU{UUID: d.UUID, Name: d.Name, MemoryBytes: d.MemoryBytes,
			MIG: d.MIG != nil && *d.MIG, Parent: d.Parent})
		sink.Event(recording.EventGPU, gpuEntity(d.UUID), map[string]string{"state": "found", "name": d.Name})
		if !g.matchable {
			for _, signal := range matched {
				sink.Unseen(signal.Name, gpuEntity(d.UUID),
					"the driver names processes by the host's numbers, which mean others in a container",
					"run pipetune on the host, or in a container started with --pid=host")
			}
		}
	}
}

// entityAt is the GPU at a place, "" for all.
func (g *GPU) entityAt(place string) string {
	if place == "" {
		return ""
	}
	for _, d := range g.found {
		if d.Place == place && d.UUID != "" && d.Parent == "" {
			return gpuEntity(d.UUID)
		}
	}
	return gpuEntity("unknown-" + strings.TrimPrefix(place, "#"))
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
