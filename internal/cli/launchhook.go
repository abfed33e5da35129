package cli

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// kinship says which processes belong to a launched job: its first one, and whoever descends from a process that was found to belong to it. It
// remembers, so that a trainer whose launcher has ended stays one of the job. It may be asked from any goroutine.
type kinship struct {
	fs    procfs.FS
	mu    sync.Mutex
	first int // process number of the job's first process; 0: not started yet
	known map[procfs.ID]bool
}

// root names the job's first process, a child that has not been collected.
func (k *kinship) root(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.first = pid
}

// identify implements hook.Config.Identify.
func (k *kinship) identify(pid int) (entity string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.first == 0 {
		return "", false
	}
	var line []procfs.ID
	for at := pid; at > 1 && len(line) < 256; {
		id, parent, err := k.look(at)
		if err != nil {
			return "", false
		}
		line = append(line, id)
		if at == k.first || k.known[id] {
			for _, id := range line {
				k.known[id] = true
			}
			return job.Entity(line[0]), true
		}
		at = parent
	}
	return "", false
}

// line is a process of the job and those above it, the topmost first; the job's first process is left out. Where those between have ended, it is what
// is left below. It is empty for a process that is not of the job.
func (k *kinship) line(pid int) (line []procfs.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	of := 0 // how many of them are known to be of the job
	for at := pid; at > 1 && at != k.first && len(line) < 256; {
		id, parent, err := k.look(at)
		if err != nil {
			break
		}
		line = append(line, id)
		if k.known[id] || parent == k.first {
			of = len(line)
		}
		at = parent
	}
	line = line[:of]
	slices.Reverse(line)
	return line
}

func (k *kinship) look(pid int) (procfs.ID, int, error) {
	p, err := k.fs.Open(pid)
	if err != nil {
		return procfs.ID{}, 0, err
	}
	defer p.Close()
	var st procfs.Stat
	err = p.Stat(&st)
	return p.ID, st.PPID, err
}

// hookSampler is the receiver as one of the samplers of a watch, and what the recording says where the hook told nothing. The receiver outlives
// the watch.
type hookSampler struct {
	receiver *hook.Receiver // nil: there is none, why says the reason
	taking   bool           // a trainer takes batches: the receiver's totals belong into this recording
	trainer  func() procfs.ID
	explain  func(procfs.ID) string
	why      string // why the hook tells nothing, as far as known
	asked    time.Time
	own      bool // the warm-up was chosen by the person
}

// explainEvery is the pace at which the reason for a silent hook is looked for: the job may replace its program by another.
const explainEvery = 5 * time.Second

// Name implements sampler.Sampler.
func (h *hookSampler) Name() string { return "hook" }

// Every implements sampler.Sampler.
func (h *hookSampler) Every() time.Duration { return 100 * time.Millisecond }

// Start implements sampler.Sampler.
func (h *hookSampler) Start(ctx context.Context, sink recording.Sink) error {
	if h.taking {
		return h.receiver.Start(ctx, sink)
	}
	return nil
}

// Sample implements sampler.Sampler.
func (h *hookSampler) Sample(ctx context.Context, sink recording.Sink) {
	if h.taking {
		h.receiver.Sample(ctx, sink)
		return
	}
	if h.receiver != nil && time.Since(h.asked) >= explainEvery {
		h.asked = time.Now()
		if why := h.explain(h.trainer()); why != "" {
			h.why = why
		}
	}
}

// Close implements sampler.Sampler. The receiver goes on: the job may begin to train later.
func (h *hookSampler) Close() {}

// align tells the receiver when the recording began.
func (h *hookSampler) align(start time.Duration) {
	if h.taking {
		h.receiver.Align(start)
	}
}

// finish says why there is nothing of the hook, and makes the warm-up fit a watch whose length nobody could know before.
func (h *hookSampler) finish(r *recording.Recorder, watched time.Duration, o *diagnoseOptions) {
	if !h.own && o.steps == 0 {
		r.Header().Warmup = min(o.warmup, defaultWarmup(watched))
	}
	if h.receiver != nil {
		if n := h.receiver.State().Refused; n > 0 {
			r.Event(recording.EventHook, "", recording.Attrs(recording.Hook{State: "refused", Messages: n}))
		}
	}
	if !h.taking {
		trainer := h.trainer()
		said := recording.Hook{State: "absent", Reason: h.why}
		if off, is := h.switchedOff(trainer.PID); is {
			said = recording.Hook{State: "off", Reason: off.Reason}
		} else if h.receiver != nil && h.receiver.State().Loaded > 0 {
			said = recording.Hook{State: "silent", Reason: loaded(h.receiver.State())}
		}
		r.Event(recording.EventHook, job.Entity(trainer), recording.Attrs(said))
	}
}

// switchedOff returns why the hook has switched itself off: in the trainer where it has done so there, else in the first process that it did.
func (h *hookSampler) switchedOff(trainer int) (hook.Off, bool) {
	if h.receiver == nil {
		return hook.Off{}, false
	}
	all := h.receiver.State().Off
	if len(all) == 0 {
		return hook.Off{}, false
	}
	if i := slices.IndexFunc(all, func(o hook.Off) bool { return o.PID == trainer }); i >= 0 {
		return all[i], true
	}
	return all[0], true
}
