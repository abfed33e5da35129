package watched

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// loaderEntity is the entity under which a trainer and one of its loaders are sampled together.
func (a *Process) loaderEntity(number int) string {
	entity := "loader/" + strings.TrimPrefix(a.Entity, "process/")
	if number > 0 {
		entity += "." + strconv.Itoa(number)
	}
	return entity
}

// loaders is how many DataLoaders of a trainer were told apart.
func (f *Watch) loaders(trainer *Process) int {
	n := 1
	for f.Track(metric.LoaderWorkers, trainer.loaderEntity(n)) != nil {
		n++
	}
	return n
}

// Loaders that are gone over together, as in zip, hand over as many batches each, and their workers work at the same
// time. One that hands over less than half as many, or whose workers do less than half of their work while those of the
// other one work, is gone over in turns with it, as that of an evaluation. Half leaves room for one that begins late or
// is counted short; on 16 loops of the stand-in GPU the second part was 1.00 of zipped loaders and 0.01 to 0.36 of
// those in turns.
const isTogether = 0.5

// chooseLoaders decides which of its loaders the figures of each trainer are of: of those that do not hand over few
// batches, the one whose workers work for most of the time. Of loaders that are gone over together that one limits the
// others.
func (f *Watch) chooseLoaders(watch Span) {
	for _, a := range f.Processes.Trainers {
		n, most, work := f.loaders(a), 0.0, -1.0
		for i := range n {
			if batches := f.handedOver(a, i); batches > most {
				most = batches
			}
		}
		for i := range n {
			busy := f.busy(a, i, watch) * f.Grown(a.loaderEntity(i), watch, metric.LoaderSamples)
			if few := f.handedOver(a, i) < isTogether*most; busy > work && !few {
				work, a.loader = busy, i
			}
		}
	}
}

// handedOver is how many batches a trainer's loader has handed over by the end of the watch; NaN where that is not
// known. They are counted from the watch's beginning, however late it is known what makes a batch.
func (f *Watch) handedOver(a *Process, loader int) float64 {
	t := f.Track(metric.LoaderBatches, a.loaderEntity(loader))
	if t == nil {
		return math.NaN()
	}
	return t.V[len(t.V)-1]
}

// WaitsApart is how long of each window a trainer was seen to wait for loaders that are not gone over together with the
// one that its figures are of: beside workers of that one, whose samples count these waits too, and while it has none.
// The samples of each loader count every wait while it has workers.
func (f *Watch) WaitsApart(trainer *Process) (beside, alone []float64) {
	beside, alone = make([]float64, len(f.Spans)), make([]float64, len(f.Spans))
	own := f.Grow(trainer.Loader(), metric.LoaderWaiting)
	for i := range f.loaders(trainer) {
		if f.apart(trainer, i) {
			stat.Add(beside, f.Grow(trainer.loaderEntity(i), metric.LoaderWaitsHere))
			for k, more := range stat.Beyond(f.Grow(trainer.loaderEntity(i), metric.LoaderWaiting), own) {
				alone[k] = max(alone[k], more)
			}
		}
	}
	return beside, alone
}

// Evaluating returns the stretches in which a trainer goes over loaders in turns with the one that its figures are of,
// in order: between readings that tell of a batch or of a wait of theirs, and of that one neither of a batch nor of
// workers at work. Where they tell of both, as where one begins or ends, it is as long as the waits and the steps of
// these batches, which are as long as elsewhere.
func (f *Watch) Evaluating(trainer *Process) (spans []Span) {
	var others []string
	for i := range f.loaders(trainer) {
		if f.apart(trainer, i) {
			others = append(others, trainer.loaderEntity(i))
		}
	}
	if len(others) == 0 {
		return nil
	}
	type reading struct {
		Span
		waits, came, own float64 // seconds, and tensors or batches
	}
	came := []metric.Desc{metric.LoaderTensors, metric.LoaderBatches}
	var all []reading
	alone := reading{}
	for _, step := range f.Track(metric.ThreadSamples, trainer.Entity).Steps() {
		r := reading{Span: step, own: f.Grown(trainer.Loader(), step, came...)}
		if f.busy(trainer, trainer.loader, step) > isTogether {
			r.own++ // its batches may not be known
		}
		for _, entity := range others {
			r.waits += f.Grown(entity, step, metric.LoaderWaitsHere)
			r.came += f.Grown(entity, step, came...)
		}
		if all = append(all, r); r.own == 0 && r.waits+r.came > 0 {
			alone.waits, alone.came, alone.To = alone.waits+r.waits, alone.came+r.came, alone.To+r.Length()
		}
	}
	// a step of these batches, without the wait; and whether the last stretch goes on unless a batch of training comes
	each, open := stat.Over(max(alone.To-alone.waits, 0), alone.came), false
	for _, r := range all {
		switch aside := r.waits+r.came > 0; {
		case r.own > 0 && r.waits == 0: // batches are counted late
			open = false
		case aside && r.own > 0:
			half, middle := min(r.waits+each*r.came, r.Length())/2, (r.From+r.To)/2
			spans, open = append(spans, Span{middle - half, middle + half}), false
		case aside && open:
			spans[len(spans)-1].To = r.To
		case aside:
			spans, open = append(spans, r.Span), true
		}
	}
	return spans
}

// apart reports whether a loader is not gone over together with the one that its trainer's figures are of.
func (f *Watch) apart(trainer *Process, loader int) bool {
	few := f.handedOver(trainer, loader) < isTogether*f.handedOver(trainer, trainer.loader)
	return loader != trainer.loader && (few || f.atOnce(trainer, loader) < isTogether)
}

// atOnce is how much of the work of a loader's workers, or of those that its trainer's figures are of, whichever is
// less, comes while the others work too; 0 where one of the two never works. Where both work little whenever they do,
// samples that find one of them at work seldom find the other, and nothing is known: 1.
func (f *Watch) atOnce(trainer *Process, loader int) float64 {
	var own, its, both, ownFor, itsFor float64
	for _, step := range f.Track(metric.LoaderAliveSum, trainer.loaderEntity(loader)).Steps() {
		a, b := step.Length()*f.busy(trainer, trainer.loader, step), step.Length()*f.busy(trainer, loader, step)
		own, its, both = own+a, its+b, both+min(a, b)
		if a > 0 {
			ownFor += step.Length()
		}
		if b > 0 {
			itsFor += step.Length()
		}
	}
	if most := max(stat.Over(own, ownFor), stat.Over(its, itsFor)); most > 0 && most < isTogether {
		return 1
	}
	return stat.Over(both, min(own, its))
}

// Follow has a trainer's figures be of the loader that one of the named workers is of.
func (f *Watch) Follow(trainer *Process, isOne func(worker string) bool) {
	for _, w := range f.Processes.Workers {
		if w.Trainer == trainer.Entity && isOne(w.Entity) {
			trainer.loader = w.loader
		}
	}
}

// busy is the share of their time in a span in which the workers of a trainer's loader do not wait for work.
func (f *Watch) busy(trainer *Process, loader int, s Span) float64 {
	entity := trainer.loaderEntity(loader)
	alive := f.Grown(entity, s, metric.LoaderAliveSum)
	return stat.Over(alive-f.Grown(entity, s, metric.LoaderIdleSum), alive)
}

// Beside is what another loader of a trainer than the one that its figures are of does in the windows.
type Beside struct {
	Workers []*Process
	Busy    float64 // share of all time in which its workers work, mean over them
	Apart   bool    // it is not gone over together with that one

	Persistent *bool // its workers live on from one time that it is gone over to the next; nil where it is not known
}

// Beside returns the other loaders of a trainer that had workers in the steady stretch.
func (f *Watch) Beside(trainer *Process) (others []Beside) {
	for i := range f.loaders(trainer) {
		workers := slices.DeleteFunc(f.Processes.ofLoader(trainer, i), func(w *Process) bool {
			return w.Died <= f.Steady.From || w.Born >= f.Steady.To
		})
		if i == trainer.loader || len(workers) == 0 {
			continue
		}
		samples := f.Grown(trainer.loaderEntity(i), f.Steady, metric.LoaderSamples)
		lived := stat.Over(samples, f.Grown(trainer.Entity, f.Steady, metric.ThreadSamples))
		other := Beside{Workers: workers, Busy: f.busy(trainer, i, f.Steady) * stat.Share(lived),
			Apart: f.apart(trainer, i)}
		ended := slices.ContainsFunc(workers, func(w *Process) bool { return w.Died < f.Steady.To-LateNotice })
		if ended || workers[0].Born <= f.Steady.From {
			other.Persistent = new(!ended)
		}
		others = append(others, other)
	}
	return others
}
