package predict

import (
	"cmp"
	"math"
	"slices"
)

// Term names what limits a rate.
type Term string

// The terms. Those of the step stand for Step where it is known which part of it takes most of its time.
const (
	Step    Term = "step"    // 1/G: the step itself
	Host    Term = "host"    // as Step: what the trainer's threads compute
	Device  Term = "device"  // as Step: what the device computes
	Copy    Term = "copy"    // as Step: copies to the device
	Workers Term = "workers" // W/(c+w): all workers are at work all the time
	CPUs    Term = "cpus"    // K/(c+t): all cores are at work all the time
	Storage Term = "storage" // D/b: storage gives what it can
	Serial  Term = "serial"  // 1/(c+w+N): no workers, loading takes turns with what holds the trainer of a step
)

// OfStep reports whether the term is the step, or a part of it.
func (t Term) OfStep() bool { return t == Step || t == Host || t == Device || t == Copy }

// Bound is one ceiling on batches per second.
type Bound struct {
	Term Term
	Rate float64
}

// point is one value for each input; unknown inputs are NaN.
type point struct {
	step, cpu, wait, trainer, cpus, storage, fromStore float64

	others float64 // threads of other programs on the same cores
}

// bounds are the known ceilings of a setting at a point, whose costs are c, the lowest first. An unknown cost bounds
// nothing.
func (p Pipeline) bounds(at point, c costs, set Setting) []Bound {
	set = set.plain()
	cores := at.cpus
	if c.others > 0 && cores > 0 {
		cores = min(cores, c.obtainable(set.Workers))
	}
	stored, fromStore := at.storage, at.fromStore
	if c.storage > 0 && len(c.readers) > 0 && set.Workers > 0 {
		stored, fromStore = 0, c.storage
		for n := 1; n <= set.Workers; n++ {
			stored = max(stored, c.speedup(n))
		}
	}
	work := c.cpu + known(at.wait)
	all := []Bound{
		{p.stepTerm(), rate(1, at.step)},
		{CPUs, rate(cores, c.cpu+c.compute)}, // what spins is no bound: nobody waits for it
		{Storage, rate(stored, fromStore)},
		{Workers, rate(float64(set.Workers), work)},
	}
	if set.Workers == 0 {
		all[3] = Bound{Serial, rate(1, work+known(at.step)-c.behind)}
	}
	all = slices.DeleteFunc(all, func(b Bound) bool { return math.IsInf(b.Rate, 1) })
	slices.SortStableFunc(all, func(a, b Bound) int { return cmp.Compare(a.Rate, b.Rate) })
	return p.Pause.lift(all, set.outstanding(), p.stretch(at, set.Workers))
}

// lowest is the lowest bound of a setting at a point; +Inf where none is known.
func (p Pipeline) lowest(at point, set Setting) float64 {
	c, ok := p.costs(at, set)
	if !ok {
		return math.Inf(1)
	}
	bounds := p.bounds(at, c, set)
	if len(bounds) == 0 {
		return math.Inf(1)
	}
	return bounds[0].Rate
}

// stepTerm names the part that takes more than half of the step; Step where none is known to.
func (p Pipeline) stepTerm() Term {
	for _, part := range []struct {
		term  Term
		takes float64
	}{{Device, p.Device.Center}, {Host, p.Host.Center}, {Copy, p.Copy.Center}} {
		if part.takes > p.FreeStep.Center/2 && part.takes >= max(p.Device.Center, p.Host.Center, p.Copy.Center) {
			return part.term
		}
	}
	return Step
}

// stretch is how many times as long as alone something takes at most that computes beside w workers, a pinning thread
// and other programs.
func (p Pipeline) stretch(at point, w int) float64 {
	if !(at.cpus > 0) || !p.Pause.there() {
		return 1
	}
	return max(known(p.Pause.CPU)/p.Pause.Length, 1) * (float64(w) + 2 + at.others) / at.cpus
}

// rate divides, and gives +Inf, which is no bound, where either side is unknown or the cost is nothing.
func rate(n, cost float64) float64 {
	if math.IsNaN(n) || math.IsNaN(cost) || cost <= 0 || n <= 0 {
		return math.Inf(1)
	}
	return n / cost
}
