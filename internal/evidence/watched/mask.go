package watched

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// halt is a stretch of the watch in which the job could not go on, because the trainer or a loader worker was stopped
// by a signal or frozen with its cgroup, or because no batch passed any more. Nothing that happens meanwhile reports
// the job's pace: a trainer waits for the batch of a stopped worker as it would for a slow one.
type halt struct {
	Span
	Who  string // was stopped; "" where no batch passed
	Open bool   // it lasted to the end of the watch
	Why  string // no batch passed: what the workers did meanwhile
}

func earlier(a, b Span) int { return cmp.Compare(a.From, b.From) }

func haltEarlier(a, b halt) int { return earlier(a.Span, b.Span) }

// aliveSamples is the rate of samples, per second, from which on a stretch is no gap: the tick was late on a full
// machine, but samples went on. A stopped pipetune takes one or two at the edges.
const aliveSamples = 2.0

// catchUp is how long, in seconds, the counts of a job may take after a gap until they hold all that came in it. A
// worker's batches are counted by the number on the last one seen of it, and one of two workers was seen so late after
// a gap of 8 s that half of the gap's batches were counted into the time after it: 43.9 a second where 31 came. A
// second is several samples of each worker.
const catchUp = 1.0

// readGaps returns the stretches in which pipetune itself did not run, widened by an interval before, and after by what
// counts need to catch up, but no longer than the gap was: readings taken at the edge of a gap belong to it.
func (f *Watch) readGaps() (gaps []Span) {
	type gap struct {
		Lasted float64 `json:"lasted_s"`
	}
	for e, row := range recording.Each[gap](f.Rec, recording.EventGap) {
		at, lasted, samples := e.At.Seconds(), row.Lasted, 0.0
		if lasted <= 0 {
			continue
		}
		for _, a := range f.Processes.Trainers {
			samples = max(samples, f.Grown(a.Entity, Span{at - lasted, at}, SampleCounts))
		}
		edge := min(max(f.Rec.Header.Interval.Seconds(), 0), 1)
		if samples < max(aliveSamples*lasted, 3) {
			gaps = append(gaps, Span{at - lasted - edge, at + max(edge, min(lasted, catchUp))})
		}
	}
	return gaps
}

// When somebody of the job counts as stopped.
const (
	// leastHalt is the shortest stretch that is left out, in seconds: a debugger's touch of a tenth is not, and stays
	// in the share of samples.
	leastHalt = 1.0
	// stopNotice is how late a stop is noticed at the most, in seconds: the state is read with every 25th sample at a
	// thread that sleeps, and some 50 samples are taken a second.
	stopNotice = 0.5
	// haltSteps is the share of a step between two readings from which on the whole step counts.
	haltSteps = 0.5
	// oneHalt joins halts of different processes, in seconds: those of one freeze are noticed one after the other.
	oneHalt = 2 * stopNotice
)

// readHalts returns the halts of a stretch of the watch in order of time.
func (f *Watch) readHalts(life Span) []halt {
	all := f.readStops(life.To)
	if len(all) == 0 && f.Rec.End != nil && f.Rec.End.Reason != recording.EndJobEnded {
		// where somebody was stopped, that says it all
		all = f.readStandstill(life)
	}
	slices.SortStableFunc(all, haltEarlier)
	return all
}

// readStops returns the halts of the trainers and their workers in order of time, those that overlap as one.
func (f *Watch) readStops(end float64) []halt {
	var all []halt
	for _, a := range slices.Concat(f.Processes.Trainers, f.Processes.Workers) {
		stopped, who := f.Track(metric.ThreadStopped, a.Entity), "the job"
		if a.Role == "worker" {
			who = fmt.Sprintf("loader worker %d", a.PID)
		}
		for _, s := range haltsOf(stopped) {
			x := halt{Span: Span{max(s.From-stopNotice, 0), s.To}, Who: who}
			// Readings are up to a second apart at the slowest pace.
			if x.Open = f.Rec.End != nil && s.To >= min(stopped.Last(), end)-1; x.Open {
				x.To = max(x.To, end)
			}
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, haltEarlier)
	var merged []halt
	for _, x := range all {
		n := len(merged) - 1
		if n < 0 || x.From > merged[n].To+oneHalt {
			merged = append(merged, x)
			continue
		}
		m := &merged[n]
		m.To, m.Open = max(m.To, x.To), m.Open || x.Open
		switch {
		case m.Who == x.Who || m.Who == "the job" || strings.Contains(m.Who, x.Who):
		case x.Who == "the job":
			m.Who = x.Who
		case strings.Count(m.Who, ",") < 3:
			m.Who += ", " + x.Who
		}
	}
	return merged
}

// haltsOf returns the stretches in which a counter of seconds spent stopped kept pace with the clock.
func haltsOf(stopped *Track) (out []Span) {
	for i, step := range stopped.Steps() {
		if grown := stopped.V[i+1] - stopped.V[i]; grown < haltSteps*step.Length() || step.Length() <= 0 {
			continue
		}
		if n := len(out) - 1; n >= 0 && out[n].To == step.From {
			out[n].To = step.To
		} else {
			out = append(out, step)
		}
	}
	return slices.DeleteFunc(out, func(s Span) bool { return s.Length() < leastHalt })
}

// When a job that waits for a batch is taken to stand still rather than to be slow: no batch has come for this long,
// and for this many times as long as any other took in the same watch. Workers that are restarted take up to 7 s to
// the first batch (8 of them by spawn on 2 cores).
const (
	leastStandstill  = 8.0 // seconds
	standstillFactor = 10.0
	standstillPasses = 5   // readings in which batches had passed before
	standstillWaits  = 0.9 // share of the samples since that found the trainer waiting
)

// readStandstill returns the end of a watch in which no batch passes any more although the trainer waits for one: a
// worker hangs in a dead mount, in a program it started, in a lock. Rates over that time are of nothing.
func (f *Watch) readStandstill(life Span) (out []halt) {
	for _, a := range f.Processes.Trainers {
		from, ok := lastBatch(f.Track(metric.LoaderTensors, a.Loader()), life)
		if !ok {
			continue
		}
		for i := range f.loaders(a) { // an evaluation's batches may pass since
			_, last := f.Track(metric.LoaderTensors, a.loaderEntity(i)).Rises()
			from = max(from, min(last, life.To))
		}
		if life.To-from < leastStandstill {
			continue
		}
		still := Span{from, life.To}
		waiting := f.Grown(a.Loader(), still, metric.LoaderWaiting)
		samples := f.Grown(a.Entity, still, metric.ThreadSamples) // whichever of its loaders has workers
		if samples > 0 && waiting >= standstillWaits*samples {
			out = append(out, halt{Span: still, Open: true, Why: f.stuckWorkers(a, still)})
		}
	}
	return out
}

// lastBatch returns when a batch was last seen to pass, where that is so long ago that none is on its way.
func lastBatch(passed *Track, life Span) (at float64, ok bool) {
	passes, longest := 0, 0.0
	for i, step := range passed.Steps() {
		if passed.V[i+1] <= passed.V[i] {
			continue
		}
		if passes > 0 {
			longest = max(longest, step.To-at)
		}
		at = step.To
		passes++
	}
	silent := life.To - at
	return at, passes >= standstillPasses && silent >= max(leastStandstill, standstillFactor*longest)
}

// stuckIn says in words what a worker does that is found in a state all the time.
var stuckIn = []struct {
	state metric.Desc
	words string
}{
	{metric.ThreadStopped, "is stopped"}, {metric.ThreadDisk, "waits for storage"}, {metric.ThreadFileRead,
		"reads a file"}, {metric.ThreadFileOpen, "opens a file"},
	{metric.ThreadFileLock, "waits for a file lock"}, {metric.ThreadWaitChild, "waits for a program it started"},
	{metric.ThreadFutex, "waits for a lock"},
	{metric.ThreadPipeRead, "waits for a pipe or socket"}, {metric.ThreadPipeWrite, "waits to hand over a batch"},
	{metric.ThreadSleep, "sleeps"}, {metric.ThreadRunning, "computes"},
}

// stuckWorkers names the workers of a trainer that are not waiting for work, and what they do instead.
func (f *Watch) stuckWorkers(trainer *Process, s Span) string {
	const mostNamed = 3
	var words []string
	for _, a := range f.Processes.Workers {
		if a.Trainer != trainer.Entity || a.Died < s.To {
			continue
		}
		samples := f.Grown(a.Entity, s, metric.ThreadSamples)
		for _, state := range stuckIn {
			if in := f.Grown(a.Entity, s, state.state); samples > 0 && in >= standstillWaits*samples {
				said := state.words
				if state.state == metric.ThreadFutex && f.Grown(a.Entity, s, metric.ProcCPU) > s.Length()/2 {
					said = "computes" // in other threads than the main one
				}
				words = append(words, fmt.Sprintf("loader worker %d %s", a.PID, said))
				break
			}
		}
	}
	if len(words) == 0 {
		return ""
	}
	more := ""
	if len(words) > mostNamed {
		more = fmt.Sprintf(", and %d more", len(words)-mostNamed)
		words = slices.Clip(words[:mostNamed])
	}
	return ": " + strings.Join(words, ", ") + more
}
