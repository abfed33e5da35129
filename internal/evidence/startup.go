package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
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
func readStartup(rec *recording.Recording, h history, c processes, life span) Startup {
	if rec.Header.Mode == "launch" && len(h.all(metric.HookSteps)) > 0 || len(c.trainers) == 0 {
		return Startup{}
	}
	out := Startup{From: life.from, To: life.from}
	for _, s := range cut([]span{life}, usualWindow) {
		doing := ""
		for _, a := range c.trainers {
			if doing = startingUp(h, c, a, s); doing == "" || a.Accelerator == "" && computes(h, a, s) {
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
func startingUp(h history, c processes, a *process, s span) string {
	grown := func(entity string, ds ...metric.Desc) float64 { return h.grown(entity, s, ds...) }
	works := func(t *track) bool { return slices.ContainsFunc(t.within(s), func(x float64) bool { return x > 0 }) }
	samples, joint := grown(a.entity, metric.ThreadSamples), grown(a.loader(), metric.LoaderSamples)
	switch {
	case !(a.born > s.to-young) || samples <= 0 || slices.ContainsFunc(h.all(metric.GPUUtil), works):
		return ""
	case grown(a.loader(), metric.LoaderTensors, metric.LoaderBatches) > 0:
		return ""
	case joint > 0 && grown(a.loader(), metric.LoaderAhead) >= mostlyAhead*joint:
		return "the loader's workers have nothing to do, and the main thread takes no batch"
	case joint > 0 || grown(a.loader(), metric.LoaderNoWorkers) > 0 || feeds(h, c, a, s):
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
func computes(h history, a *process, s span) bool {
	in := func(of span) bool { return h.grown(a.entity, of, metric.HostSamplesModel) > 0 }
	return in(s) && (in(span{s.to + apart, s.to + recurring}) || in(span{s.from - recurring, s.from - apart}))
}

// feeds reports whether anybody but DataLoader workers is at work for a trainer.
func feeds(h history, c processes, a *process, s span) bool {
	return slices.ContainsFunc(c.feeders, func(f *process) bool {
		grown := func(d metric.Desc) float64 { return h.grown(f.entity, s, d) }
		return f.Trainer == a.entity && grown(metric.FeederAtWork)-idleOnline(grown) >= leastFeeding*s.length()
	})
}
