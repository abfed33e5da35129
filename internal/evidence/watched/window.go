// Package watched is a watch as it was read from its recording: who took part, how each signal went, which stretch of
// the time is steady and how it is cut into windows, and how counters grew in these. What is left out of the stretch is
// found here too: warm-up, start-up, gaps, halts, and what is no whole epoch.
//
// It promises that a counter that runs backwards, a gap or a late reading gives no growth. It derives no signal.
package watched

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

// ShortWindow is the shortest window, in seconds, that gives good intervals: 25 s give 24 windows, 10 s give ten, and
// below that an interval is mostly chance.
const ShortWindow = 10.0

// How the steady window is cut into windows. About a second holds some 50 samples of each thread (they are taken 50 to
// 100 times a second) and ten readings, so that a window's share is known to a few points, while 25 s still give 24
// windows. Few windows make no interval, so short watches get shorter ones; many make work without telling more, so
// long watches get longer ones.
const (
	UsualWindow  = 1.0 // seconds
	leastWindow  = 0.5 // seconds
	leastWindows = 12
	mostWindows  = 150
)

// Watch is a watch as it was read: who took part, and the time the evidence is from, which is the steady stretch, cut
// into windows that leave out the gaps of the watch and the halts of the job.
type Watch struct {
	Rec *recording.Recording
	history
	Processes processes
	CallOf    map[string]LoaderCall // of loops, by entity
	EpochsOf  map[string][]Epoch    // of loops, by entity

	Window
	Steady Span
	Last   float64   // where the stretch would end that is not cut to whole epochs
	Spans  []Span    // the windows, in order
	Length []float64 // their lengths
	// over all of the watch, in order
	Gaps  []Span // pipetune itself did not run
	Halts []halt
	Lost  []Span // both: no rate may be averaged over them
}

// watchEnd returns when the readings end, and whether the job ended before the watch did.
func (f *Watch) watchEnd() (end float64, ended bool) {
	for _, tracks := range f.Signals {
		for _, t := range tracks {
			end = max(end, t.Last())
		}
	}
	if f.Rec.End != nil && f.Rec.End.At > 0 {
		end = min(end, f.Rec.End.At.Seconds())
		ended = f.Rec.End.Reason == recording.EndJobEnded
	}
	for _, e := range f.Rec.Events {
		if e.Kind == recording.EventFull && e.At.Seconds() >= ShortWindow+f.Rec.Header.Warmup.Seconds() {
			// who was born later is not known, and the figures of the workers would lack them
			end = min(end, e.At.Seconds())
		}
		if e.Kind == recording.EventJobEnded && e.At >= 0 {
			ended, end = true, min(end, e.At.Seconds())
		}
	}
	if !ended || len(f.Processes.Trainers) == 0 {
		return end, ended
	}
	// The end is noticed late and the workers go first: what comes after the trainer's last life, after the last
	// worker's, or after the last step that any trainer reported, is no training.
	trainers, workers, reported := 0.0, 0.0, 0.0
	for _, a := range f.Processes.Trainers {
		trainers = max(trainers, min(a.Died, f.Track(metric.ThreadSamples, a.Entity).Last()))
		if clock := f.Track(metric.HookClock, a.Entity); clock != nil {
			_, last := clock.Rises()
			reported = max(reported, last)
		} else {
			reported = end // how long this one trains is not known
		}
	}
	for _, a := range f.Processes.Workers {
		workers = max(workers, min(a.Died, end))
	}
	for _, life := range []float64{trainers, workers, reported} {
		if life > end/2 && life < end {
			end = life
		}
	}
	return end, ended
}

// Without returns the parts of a span outside of others, which are in order.
func (s Span) Without(others []Span) []Span {
	var parts []Span
	at := s.From
	for _, g := range others {
		if g.From >= s.To {
			break // the job ended before, or the recording was full
		}
		if g.From > at {
			parts = append(parts, Span{at, g.From})
		}
		at = max(at, g.To)
	}
	if at < s.To {
		parts = append(parts, Span{at, s.To})
	}
	return parts
}

// cut divides the clean parts into windows of about that width; parts shorter than half of it are left out, unless
// nothing else is left.
func cut(parts []Span, width float64) []Span {
	var out []Span
	for _, p := range parts {
		n := int(math.Round(p.Length() / width))
		for i := range n {
			step := p.Length() / float64(n)
			out = append(out, Span{p.From + float64(i)*step, p.From + float64(i+1)*step})
		}
	}
	if len(out) == 0 {
		for _, p := range parts {
			if p.Length() > 0 {
				out = append(out, p)
			}
		}
	}
	return out
}

// settle drops the warm-up of a stretch of the watch and cuts the rest into windows.
func (f *Watch) settle(life Span) {
	f.Gaps, f.Halts = f.readGaps(), f.readHalts(life)
	halted := stat.Each(len(f.Halts), func(i int) Span { return f.Halts[i].Span })
	f.Lost = slices.SortedStableFunc(slices.Values(slices.Concat(f.Gaps, halted)), earlier)
	if f.Rec.End != nil {
		f.By = f.Rec.End.Reason
	}
	asked := min(max(f.Rec.Header.Warmup.Seconds(), 0), life.Length()/2)
	detected := min(f.detectWarmup(life), life.Length()/2)
	if spared := life.Length() - LeastSteady - fringe; detected > spared && spared >= asked {
		f.Kept = Seconds(detected - spared)
		detected = spared
	}
	if f.Startup = f.readStartup(Span{life.From + asked, life.To}); f.Startup.To > 0 && !f.Startup.Whole {
		if asked = f.Startup.To - life.From; asked >= detected {
			f.Kept = 0
		}
	}
	f.Steady, f.Epochs = f.wholeEpochs(Span{life.From + max(asked, detected), life.To})
	f.Last = life.To
	f.Detected = detected > asked
	f.Halted = Seconds(f.Steady.Within(halted))
	f.Start, f.End, f.Warmup = Seconds(f.Steady.From), Seconds(f.Steady.To), Seconds(max(asked, detected))
	parts := f.Steady.Without(f.Lost)
	total := stat.Sum(Lengths(parts))
	width := max(min(UsualWindow, max(total/leastWindows, leastWindow)), total/mostWindows)
	if epoch := total / float64(f.Epochs); f.Epochs > 0 && epoch > width { // each window is the same part of its epoch
		width = epoch / math.Round(epoch/width)
	}
	f.Cut(parts, width)
}

// Cut makes windows of the clean parts.
func (f *Watch) Cut(parts []Span, width float64) {
	f.Spans = cut(parts, width)
	f.Length = Lengths(f.Spans)
}

// Read reads who took part in a watch, finds the longest training of it, and cuts its steady stretch into windows.
// end is when the readings end. The error says that there are none.
func Read(rec *recording.Recording) (f *Watch, t OtherTrainings, end float64, err error) {
	if rec == nil {
		return nil, t, 0, errEmpty
	}
	f = &Watch{Rec: rec, history: readHistory(rec.Series), Processes: readProcesses(rec), CallOf: readCalls(rec),
		EpochsOf: readEpochs(rec)}
	if len(f.Signals) == 0 {
		return nil, t, 0, errEmpty
	}
	f.beginAtBirth()
	f.weightByTime()
	end, f.Ended = f.watchEnd()
	t = f.keepLongestTraining(end)
	f.inTurns()
	f.chooseLoaders(Span{0, end})
	f.settle(t.Life)
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
func (f *Watch) detectWarmup(life Span) float64 {
	if life.Length() <= 0 {
		return 0
	}
	parts := life.Without(f.Lost)
	tensors, per := 0.0, 1.0
	for _, t := range f.Tracks(metric.LoaderTensors) {
		tensors += t.Grown(life)
	}
	for _, t := range f.Tracks(metric.LoaderTensorsPer) {
		per = max(per, slices.Min(t.V))
	}
	// A window must hold several batches, or slow steps look like a rate that comes and goes.
	width := max(UsualWindow, life.Length()/mostWindows)
	if batches := tensors / per; batches > 0 {
		width = max(width, 4*life.Length()/batches)
	}
	spans := cut(parts, width)
	rate := make([]float64, len(spans))
	wait, samples := make([]float64, len(spans)), make([]float64, len(spans))
	for _, a := range f.Processes.Trainers {
		stat.Add(rate, f.tensorRate(a, spans))
		g, _ := f.Track(metric.LoaderWaiting, a.Loader()).Grow(spans)
		stat.Add(wait, g)
		g, _ = f.Track(metric.LoaderSamples, a.Loader()).Grow(spans)
		stat.Add(samples, g)
	}
	for i := range wait {
		wait[i] = stat.Divide(wait[i], samples[i])
	}
	drop := max(stat.Warmup(usual(rate), 0), stat.Warmup(usual(wait), waitFloor))
	for _, t := range f.Tracks(metric.GPUUtil) {
		drop = max(drop, stat.Warmup(usual(t.Means(spans)), waitFloor))
	}
	if drop == 0 || drop > len(spans) {
		return 0
	}
	return spans[drop-1].To - life.From
}

// tensorRate returns the tensors per second a trainer got; NaN where it had workers but their tensors were not reported
// yet.
func (f *Watch) tensorRate(a *Process, spans []Span) []float64 {
	rate, seen := f.Track(metric.LoaderTensors, a.Loader()).Grow(spans)
	workers := f.Track(metric.LoaderWorkers, a.Loader())
	for i, s := range spans {
		switch alive := workers.Within(s); {
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

// Seconds turns seconds into a duration; what does not fit becomes the longest or shortest there is.
func Seconds(s float64) time.Duration {
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
