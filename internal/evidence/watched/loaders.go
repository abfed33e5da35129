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

// isTogether is the part of the batches of the loader with most that one must hand over to be gone over with it: those
// that are hand over as many each, and half leaves room for one that begins late or is counted short.
const isTogether = 0.5

// chooseLoaders decides which of its loaders the figures of each trainer are of. Of those that are gone over together,
// as in zip, it is the one whose workers work for most of the time: it limits the others. One that hands over few
// batches, as that of an evaluation, is none of these.
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
			if busy > work && !f.fewer(a, i, most) {
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

// fewer reports whether a loader is known to hand over too few batches to be gone over with one of so many, or to work
// for nobody.
func (f *Watch) fewer(a *Process, loader int, most float64) bool {
	batches := f.handedOver(a, loader)
	return batches < isTogether*most || math.IsNaN(batches) && f.busy(a, loader, f.all()) == 0
}

// all is the whole watch.
func (f *Watch) all() Span { return Span{0, math.Inf(1)} }

// WaitsApart is how long of each window a trainer was seen to wait for loaders that are not gone over together with the
// one that its figures are of.
func (f *Watch) WaitsApart(trainer *Process) []float64 {
	waits := make([]float64, len(f.Spans))
	for i := range f.loaders(trainer) {
		if f.apart(trainer, i) {
			g, _ := f.Track(metric.LoaderWaitsHere, trainer.loaderEntity(i)).Grow(f.Spans)
			stat.Add(waits, g)
		}
	}
	return waits
}

// apart reports whether a loader is not gone over together with the one that its trainer's figures are of.
func (f *Watch) apart(trainer *Process, loader int) bool {
	return loader != trainer.loader && f.fewer(trainer, loader, f.handedOver(trainer, trainer.loader))
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
		ended := slices.ContainsFunc(workers, func(w *Process) bool { return w.Died < f.Steady.To })
		if ended || workers[0].Born <= f.Steady.From {
			other.Persistent = new(!ended)
		}
		others = append(others, other)
	}
	return others
}
