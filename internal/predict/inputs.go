package predict

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pipetune/pipetune/internal/stat"
)

// Remedy is a change beside the loader's setting: of what a batch costs, and of what the machine gives. The zero
// value changes nothing.
type Remedy struct {
	Saved            float64 // the part of a batch's CPU time and waiting that is saved, 0..1
	SavedLo, SavedHi float64 // ends of the range in which it lies
	Cores            float64 // cores that loader and trainer have to themselves; 0 = those they have, beside others
	Unthrottled      bool    // storage has no ceiling
	Even             bool    // batches do not vary
	Unlocked         bool    // workers share no lock
}

// Saving is the remedy that saves a part of a batch's cost of which only the ends are known.
func Saving(lo, hi float64) Remedy { return Remedy{SavedLo: lo, Saved: (lo + hi) / 2, SavedHi: hi} }

// open reports that what is saved is known as a range only.
func (r Remedy) open() bool { return r.SavedHi > r.SavedLo }

// at changes a point, so much of a batch's cost being saved.
func (r Remedy) at(x point, saved float64) point {
	keep := 1 - stat.Share(saved)
	x.cpu, x.wait, x.lock = x.cpu*keep, x.wait*keep, x.lock*keep
	if r.Unlocked {
		x.lock = math.NaN()
	}
	if r.Unthrottled {
		x.storage = math.NaN()
	}
	if r.Cores > 0 {
		x.cpus, x.others = r.Cores, 0
	}
	return x
}

// pick makes a point of one value for each input that is known.
func (p Pipeline) pick(one func(stat.Summary) float64) point {
	at := func(s stat.Summary) float64 {
		x := one(s) // asked for unknown inputs too, so that knowing one more does not shift the draws of the others
		if s.N == 0 {
			return math.NaN()
		}
		return x
	}
	return point{step: at(p.FreeStep), cpu: at(p.CPU), wait: at(p.Wait), trainer: at(p.TrainerCPU), cpus: at(p.CPUs),
		storage: at(p.Storage), fromStore: at(p.FromStore), others: known(p.Others),
		lock: p.lockOf(p.Lock.Center)}
}

// point is one value for each input; unknown inputs are NaN.
type point struct {
	step, cpu, wait, trainer, cpus, storage, fromStore float64

	lock     float64 // seconds in which a worker holds what all share
	others   float64 // threads of other programs on the same cores
	slowdown float64 // how many times as long computing takes; 0 = as long as was seen
	taking   float64 // of the trainer, to take a batch beyond what is assumed
}

// center is the point of the inputs' centers.
func (p Pipeline) center() point { return p.pick(func(s stat.Summary) float64 { return s.Center }) }

// leastPart of its center is the least that a cost is drawn as.
const leastPart = 1.0 / 20

// cheapest is the point with every cost at the cheaper end of its interval, and nobody else on the cores.
func (p Pipeline) cheapest() point {
	x := p.pick(func(s stat.Summary) float64 { return max(s.Lo, s.Center*leastPart) })
	if p.CPUs.N > 0 {
		x.cpus = p.CPUs.Hi
	}
	if p.Storage.N > 0 {
		x.storage = p.Storage.Hi
	}
	x.others, x.lock = 0, p.lockOf(p.Lock.Lo)
	return x
}

// draw takes each input from a normal distribution that has its interval, cut off at a twentieth of its center. A
// step or a lock that lies anywhere in a range is no noise and stays at its center: see Forecast.Least.
func (p Pipeline) draw(dice *rand.Rand) point {
	x := p.pick(func(s stat.Summary) float64 {
		z := dice.NormFloat64()
		const z95 = 1.96
		side := s.Hi - s.Center // intervals of ratios are lopsided: each side has its own spread
		if z < 0 {
			side = s.Center - s.Lo
		}
		return max(s.Center+z*side/z95, s.Center*leastPart)
	})
	if p.StepRange {
		x.step = p.FreeStep.Center
	}
	return x
}

// known is x, or nothing where it is unknown.
func known(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(x, 0)
}

func quantile(xs []float64, q float64) float64 {
	slices.Sort(xs)
	return xs[min(int(q*float64(len(xs))), len(xs)-1)]
}
