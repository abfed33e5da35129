package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
)

// Startup is the stretch after the warm-up in which no step of a young job was seen: it imports, reads an index,
// compiles. The zero value: none.
type Startup struct {
	From, To float64 // seconds since the recording's start
	Whole    bool    // it lasted to the end of the watch
	Doing    string  // what was seen of it
}

const (
	// young is how long after its start a trainer may still start up, in seconds: compiling a large model takes
	// minutes.
	young = 600.0
	// leastStartup is the shortest stretch that is reported, in seconds; less is a long step.
	leastStartup = 2.0
	// mostlyAhead is the share of samples that found all workers idle and the trainer not waiting. A worker wakes each
	// 5 s to see whether its trainer lives, and on full CPUs takes a tenth of a second for it.
	mostlyAhead = 0.8
	// recurring is how far apart two stretches in which PyTorch computes lie at most, in seconds, for them to be of
	// steps, and apart how far they are no longer one: importing it computes for a second or two.
	recurring, apart = 10.0, 1.0
	// allSamples is the share of samples that counts as all of them: one of a second's fifty may catch a moment between
	// two.
	allSamples = 0.98
)

// readStartup finds it in what a watch saw of a stretch; a launched job whose batches are reported is watched from its
// first one on. It ends with the first second in which any trainer shows a sign of a step.
func (f *frame) readStartup(life span) Startup {
	if f.rec.Header.Mode == "launch" && len(f.all(metric.HookSteps)) > 0 || len(f.processes.trainers) == 0 {
		return Startup{}
	}
	out := Startup{From: life.from, To: life.from}
	for _, s := range cut([]span{life}, usualWindow) {
		doing := ""
		for _, a := range f.processes.trainers {
			if doing = f.startingUp(a, s); doing == "" || a.Accelerator == "" && f.computes(a, s) {
				doing = ""
				break
			}
		}
		if doing == "" {
			break
		}
		out.To, out.Doing = s.to, doing
	}
	if out.To-out.From < leastStartup {
		return Startup{}
	}
	out.Whole = out.To >= life.to-usualWindow/2
	return out
}

// startingUp says what a young trainer does in a stretch that shows no step of it; "" where one may have passed. A
// step passes where a batch does, a GPU works, workers have anything to do, somebody else feeds it, or its main thread
// sleeps outside of storage.
func (f *frame) startingUp(a *process, s span) string {
	grown := func(entity string, ds ...metric.Desc) float64 { return f.grown(entity, s, ds...) }
	works := func(t *track) bool { return slices.ContainsFunc(t.within(s), func(x float64) bool { return x > 0 }) }
	samples, joint := grown(a.entity, metric.ThreadSamples), grown(a.loader(), metric.LoaderSamples)
	switch {
	case !(a.born > s.to-young) || samples <= 0 || slices.ContainsFunc(f.all(metric.GPUUtil), works):
		return ""
	case grown(a.loader(), metric.LoaderTensors, metric.LoaderBatches) > 0:
		return ""
	case joint > 0 && grown(a.loader(), metric.LoaderAhead) >= mostlyAhead*joint:
		return "the loader's workers have nothing to do, and the main thread takes no batch"
	case joint > 0 || grown(a.loader(), metric.LoaderNoWorkers) > 0 || f.feeds(a, s):
		return ""
	}
	cpu, alone := grown(a.entity, metric.ProcCPU), 1.2*s.length()
	if grown(a.entity, loadingStates...) < allSamples*samples || cpu > alone {
		return ""
	}
	return "the main thread computes or reads without a pause, and nothing feeds it"
}

// computes reports whether a trainer executes PyTorch's mathematics in a stretch and, before or after, again: a step
// passes, unless there is a device that steps would show on.
func (f *frame) computes(a *process, s span) bool {
	in := func(of span) bool { return f.grown(a.entity, of, metric.HostSamplesModel) > 0 }
	return in(s) && (in(span{s.to + apart, s.to + recurring}) || in(span{s.from - recurring, s.from - apart}))
}

// feeds reports whether anybody but DataLoader workers is at work for a trainer.
func (f *frame) feeds(a *process, s span) bool {
	return slices.ContainsFunc(f.processes.feeders, func(p *process) bool {
		grown := func(d metric.Desc) float64 { return f.grown(p.entity, s, d) }
		return p.Trainer == a.entity && grown(metric.FeederAtWork)-idleOnline(grown) >= leastFeeding*s.length()
	})
}

// leastFeeding is the share of its time from which on a thread or process counts as at work for its trainer: the line
// from which a wait counts.
const leastFeeding = 0.05

// idleOnline is how long a feeder waits on TCP connections where that is no work for its trainer, as of a helper that
// polls a server or blocks on a queue there: it does next to nothing with what comes.
func idleOnline(grown func(metric.Desc) float64) float64 {
	if grown(metric.ThreadRunning) >= leastFeeding*grown(metric.ThreadSamples) {
		return 0
	}
	return grown(metric.ThreadRemote)
}

// loadingStates are those of a main thread that computes, or waits for storage.
var loadingStates = []metric.Desc{metric.ThreadRunning, metric.ThreadDisk, metric.ThreadFileRead,
	metric.ThreadFileOpen}
