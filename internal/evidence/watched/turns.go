package watched

import (
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// Where a job trains and evaluates in turns and starts workers anew for both, as PyTorch does unless told otherwise, no
// two sets of workers live at once, and by their pipes they are all of one loader. What tells them apart is how many
// batches they hand over. Without that, an evaluation's batches pass for training's, and its waits too.

// inTurns makes the sets of workers of an evaluation a loader of its own, which the trainer goes over in turns with the
// other one. Where the hook reports the loops nothing needs to be made out.
func (f *Watch) inTurns() {
	gaps := f.readGaps()
	for _, a := range f.Processes.Trainers {
		if len(f.Loops(a)) > 0 {
			continue
		}
		for i := range f.loaders(a) {
			if f.Track(metric.LoaderWorkers, a.loaderEntity(i)) == nil { // cut off before the first reading of it
				continue
			}
			sets := f.setsOf(a, i, gaps)
			small := areSmall(sets)
			if !slices.Contains(small, true) {
				continue
			}
			n := f.loaders(a)
			var turns []Span
			for k, s := range sets {
				if small[k] {
					turns = append(turns, s.life)
					for _, w := range s.workers {
						w.loader, w.inTurns = n, true
					}
				}
			}
			f.divide(a.loaderEntity(i), a.loaderEntity(n), turns)
		}
	}
}

// set is one set of workers after the other.
type set struct {
	workers []*Process
	life    Span    // from its first birth to its last death
	batches float64 // handed over in the watch
	most    float64 // of these, between two readings
	counted bool    // from its birth on, and without a gap
}

// setsOf returns the sets of workers of one loader of a trainer; none where they do not follow each other.
func (f *Watch) setsOf(trainer *Process, loader int, gaps []Span) (sets []set) {
	entity := trainer.loaderEntity(loader)
	batches := f.Track(metric.LoaderTensors, entity)
	if batches == nil {
		batches = f.Track(metric.LoaderBatches, entity)
	}
	for _, workers := range WorkerSets(f.Processes.ofLoader(trainer, loader)) {
		s := set{workers: workers, life: Span{workers[0].Born, 0}, counted: workers[0].BornInWatch}
		for _, w := range workers {
			s.life.To = max(s.life.To, w.Died)
		}
		if n := len(sets); n > 0 {
			if sets[n-1].life.To > s.life.From+LateNotice {
				return nil
			}
			sets[n-1].life.To = min(sets[n-1].life.To, s.life.From)
		}
		sets = append(sets, s)
	}
	for i := range sets {
		s := &sets[i]
		until := s.life.To
		if i+1 < len(sets) { // what was read after its death came before
			until = sets[i+1].life.From
		}
		for _, step := range batches.stepsBetween(s.life.From, until) {
			grown := batches.Grown(step.And(Span{s.life.From, until}))
			s.batches, s.most = s.batches+grown, max(s.most, grown)
		}
		s.counted = s.counted && s.life.Within(gaps) == 0
	}
	return sets
}

// areSmall says which of the sets hand over too few batches to go over the same data as the largest ones. For an
// evaluation's there has to be one that follows a larger one. Of the first set and the last, which the watch or the job
// may cut short, the place decides where they handed over little: they are as their neighbour is not, unless large ones
// are seen to follow each other.
func areSmall(sets []set) []bool {
	largest, reading := 0.0, 0.0
	for _, s := range sets {
		if s.counted {
			largest, reading = max(largest, s.batches), max(reading, s.most)
		}
	}
	few := stat.Each(len(sets), func(i int) bool { return sets[i].batches+reading < isTogether*(largest-reading) })
	small := stat.Each(len(sets), func(i int) bool { return sets[i].counted && few[i] })
	follows, inRow, last := false, false, len(sets)-1
	for i := 1; i < last; i++ {
		follows = follows || small[i] && !few[i-1]
		inRow = inRow || !few[i-1] && !few[i]
	}
	if !follows {
		return make([]bool, len(sets))
	}
	if !sets[0].counted {
		small[0] = few[0] && !small[1] && !inRow
	}
	small[last] = small[last] && !small[last-1] && !inRow
	return small
}

// divide gives what the workers of a loader did in some of its time to another loader. What the trainer waited stays
// with the first, where it is of all its loaders, and is what it waited for the other one as well.
func (f *Watch) divide(from, to string, turns []Span) {
	for _, d := range metric.Raw() {
		t := f.Track(d, from)
		switch {
		case t == nil || d.Name == metric.LoaderNoWorkers.Name || d.Name == metric.LoaderWaitsHere.Name:
		case d.Name == metric.LoaderWaiting.Name:
			of, _ := t.divided(to, turns)
			f.put(metric.LoaderWaitsHere, of)
		case d.Kind == metric.Counter:
			of, rest := t.divided(to, turns)
			f.put(d, of)
			f.put(d, rest)
		default:
			of, rest := &Track{Entity: to}, &Track{Entity: from}
			for i, at := range t.At {
				whose, other := rest, of
				if slices.ContainsFunc(turns, func(s Span) bool { return s.From <= at && at < s.To }) {
					whose, other = of, rest
				}
				whose.At, whose.V = append(whose.At, at), append(whose.V, t.V[i])
				if d.Name == metric.LoaderWorkers.Name { // of which the other one has none then
					other.At, other.V = append(other.At, at), append(other.V, 0)
				}
			}
			f.put(d, of)
			f.put(d, rest)
		}
	}
}

// divided makes two counters of one: one of another entity, which grows as it does in some spans, from 0, and what is
// left of it. The latter keeps its steps backwards.
func (t *Track) divided(entity string, spans []Span) (of, rest *Track) {
	of = &Track{Entity: entity, At: slices.Clone(t.At), V: make([]float64, len(t.V))}
	rest = &Track{Entity: t.Entity, At: slices.Clone(t.At), V: slices.Clone(t.V), Resets: t.Resets}
	for i, step := range t.Steps() {
		grown, part := t.V[i+1]-t.V[i], 0.0
		if grown > 0 {
			part = grown * min(stat.Over(step.Within(spans), step.Length()), 1)
		}
		of.V[i+1], rest.V[i+1] = of.V[i]+part, rest.V[i]+(grown-part)
	}
	return of, rest
}
