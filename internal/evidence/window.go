package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// How the steady window is cut into windows. About a second holds some 50 samples of each thread (they are taken 50 to
// 100 times a second) and ten readings, so that a window's share is known to a few points, while 25 s still give 24
// windows. Few windows make no interval, so short watches get shorter ones; many make work without telling more, so
// long watches get longer ones.
const (
	usualWindow  = 1.0 // seconds
	leastWindow  = 0.5 // seconds
	leastWindows = 12
	mostWindows  = 150
)

// frame is the time the evidence is from: the steady stretch, cut into windows that leave out the gaps of the watch and
// the halts of the job.
type frame struct {
	Window
	steady span
	last   float64   // where the stretch would end that is not cut to whole epochs
	spans  []span    // the windows, in order
	length []float64 // their lengths
	// over all of the watch
	gaps, halts []lost
	lost        []lost // both, in order
}

// watchEnd returns when the readings end, and whether the job ended before the watch did.
func watchEnd(rec *recording.Recording, h history, c processes) (end float64, ended bool) {
	for _, tracks := range h.signals {
		for _, t := range tracks {
			end = max(end, t.last())
		}
	}
	if rec.End != nil && rec.End.At > 0 {
		end = min(end, rec.End.At.Seconds())
		ended = rec.End.Reason == recording.EndJobEnded
	}
	for _, e := range rec.Events {
		if e.Kind == recording.EventFull && e.At.Seconds() >= shortWindow+rec.Header.Warmup.Seconds() {
			// who was born later is not known, and the figures of the workers would lack them
			end = min(end, e.At.Seconds())
		}
		if e.Kind == recording.EventJobEnded && e.At >= 0 {
			ended, end = true, min(end, e.At.Seconds())
		}
	}
	if !ended || len(c.trainers) == 0 {
		return end, ended
	}
	// The end is noticed late and the workers go first: what comes after the trainer's last life, after the last
	// worker's, or after the last step that any trainer reported, is no training.
	trainers, workers, reported := 0.0, 0.0, 0.0
	for _, a := range c.trainers {
		trainers = max(trainers, min(a.died, h.of(metric.ThreadSamples, a.entity).last()))
		if clock := h.of(metric.HookClock, a.entity); clock != nil {
			_, last := rises(clock)
			reported = max(reported, last)
		} else {
			reported = end // how long this one trains is not known
		}
	}
	for _, a := range c.workers {
		workers = max(workers, min(a.died, end))
	}
	for _, life := range []float64{trainers, workers, reported} {
		if life > end/2 && life < end {
			end = life
		}
	}
	return end, ended
}

// without returns the parts of whole that lie outside of what is lost.
func without(whole span, all []lost) []span {
	var parts []span
	at := whole.from
	for _, g := range all {
		if g.from >= whole.to {
			break // the job ended before, or the recording was full
		}
		if g.from > at {
			parts = append(parts, span{at, g.from})
		}
		at = max(at, g.to)
	}
	if at < whole.to {
		parts = append(parts, span{at, whole.to})
	}
	return parts
}

// cut divides the clean parts into windows of about that width; parts shorter than half of it are left out, unless
// nothing else is left.
func cut(parts []span, width float64) []span {
	var out []span
	for _, p := range parts {
		n := int(math.Round(p.length() / width))
		for i := range n {
			step := p.length() / float64(n)
			out = append(out, span{p.from + float64(i)*step, p.from + float64(i+1)*step})
		}
	}
	if len(out) == 0 {
		for _, p := range parts {
			if p.length() > 0 {
				out = append(out, p)
			}
		}
	}
	return out
}

// newFrame drops the warm-up of a stretch of the watch and cuts the rest into windows.
func (b *builder) newFrame(life span) frame {
	rec, h, c := b.rec, b.h, b.processes
	var f frame
	f.gaps, f.halts = readLost(rec, h, c, life)
	f.lost = slices.SortedStableFunc(slices.Values(slices.Concat(f.gaps, f.halts)), earlier)
	if rec.End != nil {
		f.By = rec.End.Reason
	}
	asked := min(max(rec.Header.Warmup.Seconds(), 0), life.length()/2)
	detected := min(detectWarmup(h, c, f.lost, life), life.length()/2)
	if spared := life.length() - LeastSteady - fringe; detected > spared && spared >= asked {
		f.Kept = seconds(detected - spared)
		detected = spared
	}
	if f.Startup = readStartup(rec, h, c, span{life.from + asked, life.to}); f.Startup.To > 0 && !f.Startup.Whole {
		if asked = f.Startup.To - life.from; asked >= detected {
			f.Kept = 0
		}
	}
	f.steady, f.Epochs = b.wholeEpochs(span{life.from + max(asked, detected), life.to}, f.lost)
	f.last = life.to
	f.Detected = detected > asked
	f.Halted = seconds(lostOf(f.halts, f.steady))
	f.Start, f.End, f.Warmup = seconds(f.steady.from), seconds(f.steady.to), seconds(max(asked, detected))
	parts := without(f.steady, f.lost)
	total := stat.Sum(lengths(parts))
	width := max(min(usualWindow, max(total/leastWindows, leastWindow)), total/mostWindows)
	if epoch := total / float64(f.Epochs); f.Epochs > 0 && epoch > width { // each window is the same part of its epoch
		width = epoch / math.Round(epoch/width)
	}
	f.spans = cut(parts, width)
	f.length = lengths(f.spans)
	return f
}

// quotient is a ratio of sums over the windows, whose interval tells how epochs differ where the stretch is whole ones.
func (f *frame) quotient(num, den []float64) stat.Summary {
	return stat.RatioOfRounds(num, den, int(math.Round(float64(len(f.spans))/float64(max(f.Epochs, 1)))))
}

// fringe is left to what gaps and rounding take of these seconds.
const fringe = 0.05

// waitFloor is the least difference in a share of time that makes a warm-up: two samples of ten more or less are
// chance.
const waitFloor = 0.2

// detectWarmup returns how many seconds at the start of a stretch clearly differ from the rest, by batches per second,
// the share of samples that wait, or the GPUs' utilization. Starting up differs in all of them, and each alone may be
// missing.
func detectWarmup(h history, c processes, all []lost, life span) float64 {
	if life.length() <= 0 {
		return 0
	}
	parts := without(life, all)
	tensors, per := 0.0, 1.0
	for _, t := range h.all(metric.LoaderTensors) {
		tensors += t.grown(life)
	}
	for _, t := range h.all(metric.LoaderTensorsPer) {
		per = max(per, slices.Min(t.v))
	}
	// A window must hold several batches, or slow steps look like a rate that comes and goes.
	width := max(usualWindow, life.length()/mostWindows)
	if batches := tensors / per; batches > 0 {
		width = max(width, 4*life.length()/batches)
	}
	spans := cut(parts, width)
	rate := make([]float64, len(spans))
	wait, samples := make([]float64, len(spans)), make([]float64, len(spans))
	for _, a := range c.trainers {
		stat.Add(rate, tensorRate(h, a, spans))
		g, _ := h.of(metric.LoaderWaiting, a.loader()).grow(spans)
		stat.Add(wait, g)
		g, _ = h.of(metric.LoaderSamples, a.loader()).grow(spans)
		stat.Add(samples, g)
	}
	for i := range wait {
		wait[i] = stat.Divide(wait[i], samples[i])
	}
	drop := max(stat.Warmup(usual(rate), 0), stat.Warmup(usual(wait), waitFloor))
	for _, t := range h.all(metric.GPUUtil) {
		drop = max(drop, stat.Warmup(usual(t.means(spans)), waitFloor))
	}
	if drop == 0 || drop > len(spans) {
		return 0
	}
	return spans[drop-1].to - life.from
}

// tensorRate returns the tensors per second a trainer got; NaN where it had workers but their tensors were not reported
// yet.
func tensorRate(h history, a *process, spans []span) []float64 {
	rate, seen := h.of(metric.LoaderTensors, a.loader()).grow(spans)
	workers := h.of(metric.LoaderWorkers, a.loader())
	for i, s := range spans {
		switch alive := workers.within(s); {
		case seen[i] > 0:
			rate[i] /= seen[i]
		case len(alive) == 0 || slices.Max(alive) > 0:
			rate[i] = math.NaN()
		}
	}
	return rate
}

// usual fills in what was not seen with the median of the second half: nothing is concluded from it.
func usual(xs []float64) []float64 {
	if middle, ok := stat.Quantile(xs[len(xs)/2:], 0.5); ok {
		for i, x := range xs {
			if !stat.Finite(x) {
				xs[i] = middle
			}
		}
	}
	return xs
}

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
