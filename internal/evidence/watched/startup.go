package watched

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
	// LeastStartup is the shortest stretch that is reported, in seconds; less is a long step.
	LeastStartup = 2.0
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
func (f *Watch) readStartup(life Span) Startup {
	if f.Rec.Header.Mode == "launch" && len(f.Tracks(metric.HookSteps)) > 0 || len(f.Processes.Trainers) == 0 {
		return Startup{}
	}
	out := Startup{From: life.From, To: life.From}
	for _, s := range cut([]Span{life}, UsualWindow) {
		doing := ""
		for _, a := range f.Processes.Trainers {
			if doing = f.startingUp(a, s); doing == "" || a.Accelerator == "" && f.computes(a, s) {
				doing = ""
				break
			}
		}
		if doing == "" {
			break
		}
		out.To, out.Doing = s.To, doing
	}
	if out.To-out.From < LeastStartup {
		return Startup{}
	}
	out.Whole = out.To >= life.To-UsualWindow/2
	return out
}

// startingUp says what a young trainer does in a stretch that shows no step of it; "" where one may have passed. A
// step passes where a batch does, a GPU works, workers have anything to do, somebody else feeds it, or its main thread
// sleeps outside of storage.
func (f *Watch) startingUp(a *Process, s Span) string {
	grown := func(entity string, ds ...metric.Desc) float64 { return f.Grown(entity, s, ds...) }
	works := func(t *Track) bool { return slices.ContainsFunc(t.Within(s), func(x float64) bool { return x > 0 }) }
	samples, joint := grown(a.Entity, metric.ThreadSamples), grown(a.Loader(), metric.LoaderSamples)
	switch {
	case !(a.Born > s.To-young) || samples <= 0 || slices.ContainsFunc(f.Tracks(metric.GPUUtil), works):
		return ""
	case grown(a.Loader(), metric.LoaderTensors, metric.LoaderBatches) > 0:
		return ""
	case joint > 0 && grown(a.Loader(), metric.LoaderAhead) >= mostlyAhead*joint:
		return "the loader's workers have nothing to do, and the main thread takes no batch"
	case joint > 0 || grown(a.Loader(), metric.LoaderNoWorkers) > 0 || f.feeds(a, s):
		return ""
	}
	cpu, alone := grown(a.Entity, metric.ProcCPU), 1.2*s.Length()
	if grown(a.Entity, LoadingStates...) < allSamples*samples || cpu > alone {
		return ""
	}
	return "the main thread computes or reads without a pause, and nothing feeds it"
}

// computes reports whether a trainer executes PyTorch's mathematics in a stretch and, before or after, again: a step
// passes, unless there is a device that steps would show on.
func (f *Watch) computes(a *Process, s Span) bool {
	in := func(of Span) bool { return f.Grown(a.Entity, of, metric.HostSamplesModel) > 0 }
	return in(s) && (in(Span{s.To + apart, s.To + recurring}) || in(Span{s.From - recurring, s.From - apart}))
}

// feeds reports whether anybody but DataLoader workers is at work for a trainer.
func (f *Watch) feeds(a *Process, s Span) bool {
	return slices.ContainsFunc(f.Processes.Feeders, func(p *Process) bool {
		grown := func(d metric.Desc) float64 { return f.Grown(p.Entity, s, d) }
		return p.Trainer == a.Entity && grown(metric.FeederAtWork)-IdleOnline(grown) >= LeastFeeding*s.Length()
	})
}

// LeastFeeding is the share of its time from which on a thread or process counts as at work for its trainer: the line
// from which a wait counts.
const LeastFeeding = 0.05

// IdleOnline is how long a feeder waits on TCP connections where that is no work for its trainer, as of a helper that
// polls a server or blocks on a queue there: it does next to nothing with what comes.
func IdleOnline(grown func(metric.Desc) float64) float64 {
	if grown(metric.ThreadRunning) >= LeastFeeding*grown(metric.ThreadSamples) {
		return 0
	}
	return grown(metric.ThreadRemote)
}

// LoadingStates are those of a main thread that computes, or waits for storage.
var LoadingStates = []metric.Desc{metric.ThreadRunning, metric.ThreadDisk, metric.ThreadFileRead,
	metric.ThreadFileOpen}
