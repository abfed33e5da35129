package evidence

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// Window is the steady stretch all values are from.
type Window struct {
	Start, End time.Duration // since the recording's start
	Warmup     time.Duration // dropped before it: asked for or detected, the longer
	Detected   bool          // the warm-up was longer than asked for
	Kept       time.Duration // what shows of a warm-up and could not be spared; 0 where all of it was dropped
	Epochs     int           // it is cut to so many whole ones, of a job whose workers restart with each; 0: it is not
	Startup    Startup       // of it, what showed no step yet
	Ended      bool          // the job ended in the watch
	Failure    string        // of a job that pipetune started: how it failed, "ended with status 1 after 5.2 s"; ""
	// of the stretch, how long somebody of the job was stopped or frozen, or no batch passed any more; left out of all
	// values
	Halted time.Duration
	// what ended the watch, as the recording names it: duration, steps, interrupted, job-ended; "" where it was cut off
	By string
}

// How long a watch is to be, in seconds: the figures that flags are held to and that texts name.
const (
	// LeastSteady is for how long a job must be seen after the warm-up before anything is concluded. A watch that is
	// long enough for that without the warm-up that shows in it keeps so much of it: with a word on it, figures are
	// worth more than none.
	LeastSteady = 5.0
	// LeastWatch is the shortest watch that can be asked for: that, and a second for a warm-up and for finding the
	// job's processes.
	LeastWatch = 6.0
	// AdvisedWatch is what to watch for where less was too short: twice the default.
	AdvisedWatch = 60.0
	// AdvisedTraining is for how long a launched job, all of which is watched, should train: what an attached watch
	// takes by default.
	AdvisedTraining = 30.0
)

// shortWindow is the shortest window, in seconds, that gives good intervals: 25 s give 24 windows, 10 s give ten, and
// below that an interval is mostly chance.
const shortWindow = 10.0

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

// frame is a watch as it was read: who took part, and the time the evidence is from, which is the steady stretch, cut
// into windows that leave out the gaps of the watch and the halts of the job.
type frame struct {
	rec *recording.Recording
	history
	processes processes
	calls     map[string]LoaderCall      // of loops, by entity
	epochs    map[string][]reportedEpoch // of loops, by entity

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
func (f *frame) watchEnd() (end float64, ended bool) {
	for _, tracks := range f.signals {
		for _, t := range tracks {
			end = max(end, t.last())
		}
	}
	if f.rec.End != nil && f.rec.End.At > 0 {
		end = min(end, f.rec.End.At.Seconds())
		ended = f.rec.End.Reason == recording.EndJobEnded
	}
	for _, e := range f.rec.Events {
		if e.Kind == recording.EventFull && e.At.Seconds() >= shortWindow+f.rec.Header.Warmup.Seconds() {
			// who was born later is not known, and the figures of the workers would lack them
			end = min(end, e.At.Seconds())
		}
		if e.Kind == recording.EventJobEnded && e.At >= 0 {
			ended, end = true, min(end, e.At.Seconds())
		}
	}
	if !ended || len(f.processes.trainers) == 0 {
		return end, ended
	}
	// The end is noticed late and the workers go first: what comes after the trainer's last life, after the last
	// worker's, or after the last step that any trainer reported, is no training.
	trainers, workers, reported := 0.0, 0.0, 0.0
	for _, a := range f.processes.trainers {
		trainers = max(trainers, min(a.died, f.of(metric.ThreadSamples, a.entity).last()))
		if clock := f.of(metric.HookClock, a.entity); clock != nil {
			_, last := clock.rises()
			reported = max(reported, last)
		} else {
			reported = end // how long this one trains is not known
		}
	}
	for _, a := range f.processes.workers {
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

// settle drops the warm-up of a stretch of the watch and cuts the rest into windows.
func (f *frame) settle(life span) {
	f.gaps, f.halts = f.readLost(life)
	f.lost = slices.SortedStableFunc(slices.Values(slices.Concat(f.gaps, f.halts)), earlier)
	if f.rec.End != nil {
		f.By = f.rec.End.Reason
	}
	asked := min(max(f.rec.Header.Warmup.Seconds(), 0), life.length()/2)
	detected := min(f.detectWarmup(life), life.length()/2)
	if spared := life.length() - LeastSteady - fringe; detected > spared && spared >= asked {
		f.Kept = seconds(detected - spared)
		detected = spared
	}
	if f.Startup = f.readStartup(span{life.from + asked, life.to}); f.Startup.To > 0 && !f.Startup.Whole {
		if asked = f.Startup.To - life.from; asked >= detected {
			f.Kept = 0
		}
	}
	f.steady, f.Epochs = f.wholeEpochs(span{life.from + max(asked, detected), life.to})
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
	f.cut(parts, width)
}

// cut makes windows of the clean parts.
func (f *frame) cut(parts []span, width float64) {
	f.spans = cut(parts, width)
	f.length = lengths(f.spans)
}

// readFrame reads who took part in a watch, finds the longest training of it, and cuts its steady stretch into windows.
// The error says that there are no readings.
func readFrame(rec *recording.Recording) (f *frame, t otherTrainings, end float64, err error) {
	if rec == nil {
		return nil, t, 0, errEmpty
	}
	f = &frame{rec: rec, history: readHistory(rec.Series), processes: readProcesses(rec), calls: readCalls(rec),
		epochs: readEpochs(rec)}
	if len(f.signals) == 0 {
		return nil, t, 0, errEmpty
	}
	f.beginAtBirth()
	f.weightByTime()
	end, f.Ended = f.watchEnd()
	t = f.keepLongestTraining(end)
	f.settle(t.life)
	for _, e := range recording.Each[recording.JobEnd](rec, recording.EventJobEnded) {
		if e.Status != 0 {
			f.Failure = e.String()
		}
	}
	return f, t, end, nil
}

// errEmpty is returned for a recording that was cut off before its first reading.
var errEmpty = errors.New("the recording holds no readings")

// fringe is left to what gaps and rounding take of these seconds.
const fringe = 0.05

// waitFloor is the least difference in a share of time that makes a warm-up: two samples of ten more or less are
// chance.
const waitFloor = 0.2

// detectWarmup returns how many seconds at the start of a stretch clearly differ from the rest, by batches per second,
// the share of samples that wait, or the GPUs' utilization. Starting up differs in all of them, and each alone may be
// missing.
func (f *frame) detectWarmup(life span) float64 {
	if life.length() <= 0 {
		return 0
	}
	parts := without(life, f.lost)
	tensors, per := 0.0, 1.0
	for _, t := range f.all(metric.LoaderTensors) {
		tensors += t.grown(life)
	}
	for _, t := range f.all(metric.LoaderTensorsPer) {
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
	for _, a := range f.processes.trainers {
		stat.Add(rate, f.tensorRate(a, spans))
		g, _ := f.of(metric.LoaderWaiting, a.loader()).grow(spans)
		stat.Add(wait, g)
		g, _ = f.of(metric.LoaderSamples, a.loader()).grow(spans)
		stat.Add(samples, g)
	}
	for i := range wait {
		wait[i] = stat.Divide(wait[i], samples[i])
	}
	drop := max(stat.Warmup(usual(rate), 0), stat.Warmup(usual(wait), waitFloor))
	for _, t := range f.all(metric.GPUUtil) {
		drop = max(drop, stat.Warmup(usual(t.means(spans)), waitFloor))
	}
	if drop == 0 || drop > len(spans) {
		return 0
	}
	return spans[drop-1].to - life.from
}

// tensorRate returns the tensors per second a trainer got; NaN where it had workers but their tensors were not reported
// yet.
func (f *frame) tensorRate(a *process, spans []span) []float64 {
	rate, seen := f.of(metric.LoaderTensors, a.loader()).grow(spans)
	workers := f.of(metric.LoaderWorkers, a.loader())
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

// seconds turns seconds into a duration; what does not fit becomes the longest or shortest there is.
func seconds(s float64) time.Duration {
	ns := s * float64(time.Second)
	switch {
	case math.IsNaN(ns):
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(ns)
}
