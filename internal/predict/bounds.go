package predict

import (
	"cmp"
	"math"
	"slices"
)

// Term names a bound.
type Term string

// The terms of the model.
const (
	Step    Term = "step"    // 1/G: the step itself
	Workers Term = "workers" // W/(c+w): all workers are at work all the time
	CPUs    Term = "cpus"    // K/(c+t): all cores are at work all the time
	Storage Term = "storage" // D/b: storage gives what it can
	Serial  Term = "serial"  // 1/(c+w+G): no workers, loading and step take turns
)

// Bound is one ceiling on batches per second.
type Bound struct {
	Term Term
	Rate float64
}

// point is one draw of the inputs; unknown inputs are NaN.
type point struct {
	step, cpu, wait, trainer, cpus, storage, fromStore float64

	pause    Pause
	prefetch int
	others   float64 // threads of other programs on the same cores
}

// center is the point of the inputs' centers.
func (l Loader) center() point {
	at := func(known bool, x float64) float64 {
		if !known {
			return math.NaN()
		}
		return x
	}
	return point{
		step:      at(l.FreeStep.N > 0, l.FreeStep.Center),
		cpu:       at(l.CPU.N > 0, l.CPU.Center),
		wait:      at(l.Wait.N > 0, l.Wait.Center),
		trainer:   at(l.TrainerCPU.N > 0, l.TrainerCPU.Center),
		cpus:      at(l.CPUs.N > 0, l.CPUs.Center),
		storage:   at(l.Storage.N > 0, l.Storage.Center),
		fromStore: at(l.FromStore.N > 0, l.FromStore.Center),
		pause:     l.Pause,
		prefetch:  l.prefetch(),
	}
}

// Bounds returns the known ceilings with w workers, the lowest first.
func (l Loader) Bounds(w int) []Bound { return l.center().bounds(w) }

// bounds returns the known ceilings. An unknown cost bounds nothing.
func (p point) bounds(w int) []Bound {
	all := []Bound{
		{Step, rate(1, p.step)},
		{CPUs, rate(p.cpus, known(p.cpu)+known(p.trainer))},
		{Storage, rate(p.storage, p.fromStore)},
	}
	work := known(p.cpu) + known(p.wait)
	if w <= 0 {
		all = append(all, Bound{Serial, rate(1, work+known(p.step))})
	} else {
		all = append(all, Bound{Workers, rate(float64(w), work)})
	}
	all = slices.DeleteFunc(all, func(b Bound) bool { return math.IsInf(b.Rate, 1) })
	slices.SortStableFunc(all, func(a, b Bound) int { return cmp.Compare(a.Rate, b.Rate) })
	return p.pause.lift(all, w*p.prefetch, p.stretch(w))
}

// stretch is how many times as long as alone something takes at most that computes beside w workers, a pinning thread and the other programs.
func (p point) stretch(w int) float64 {
	if !(p.cpus > 0) || !p.pause.there() {
		return 1
	}
	return max(known(p.pause.CPU)/p.pause.Length, 1) * (float64(w) + 2 + p.others) / p.cpus
}

// rate divides, and gives +Inf, which is no bound, where either side is unknown or the cost is nothing.
func rate(n, cost float64) float64 {
	if math.IsNaN(n) || math.IsNaN(cost) || cost <= 0 || n <= 0 {
		return math.Inf(1)
	}
	return n / cost
}
