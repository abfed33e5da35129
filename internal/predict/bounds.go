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
	Device  Term = "device"  // as Step: what the device computes
	Copy    Term = "copy"    // as Step: copies to the device
	Workers Term = "workers" // W/(c/m+w): all workers are at work all the time
	CPUs    Term = "cpus"    // K/(c+t): all cores are at work all the time
	Storage Term = "storage" // D/b: storage gives what it can
	Lock    Term = "lock"    // 1/h: what workers do one at a time, because they share a lock, goes on all the time
	Serial  Term = "serial"  // 1/(c+w+N): no workers, loading takes turns with what holds the trainer of a step
)

// OfStep reports whether the term is the step, or a part of it.
func (t Term) OfStep() bool { return t == Step || t == Device || t == Copy }

// Bound is one ceiling on batches per second.
type Bound struct {
	Term Term
	Rate float64
}

// bounds are the known ceilings of a setting's costs, the lowest first. A cost of nothing bounds nothing.
func (p Pipeline) bounds(c costs, set Setting) []Bound {
	cores := c.cores
	if c.others > 0 && cores > 0 {
		cores = min(cores, c.obtainable(set.Workers))
	}
	all := []Bound{
		{p.stepTerm(), rate(1, c.step)},
		{CPUs, rate(cores, c.cpu+c.compute)}, // what spins is no bound: nobody waits for it
		{Storage, rate(c.readers, c.storage)},
		{Workers, rate(float64(set.Workers), c.work())},
		{Lock, rate(1, c.locked*c.work())},
	}
	if set.Workers == 0 {
		all[3] = Bound{Serial, rate(1, c.work()+c.step-c.behind)}
	}
	all = slices.DeleteFunc(all, func(b Bound) bool { return math.IsInf(b.Rate, 1) })
	all = c.pause.lift(all, set.outstanding(), c.stretch(set.Workers))
	slices.SortStableFunc(all, func(a, b Bound) int { return cmp.Compare(a.Rate, b.Rate) })
	return all
}

// lowest is the lowest bound of a setting at a point; +Inf where none is known.
func (p Pipeline) lowest(at point, set Setting) float64 {
	set = set.plain()
	if c, ok := p.costs(at, set); ok {
		if bounds := p.bounds(c, set); len(bounds) > 0 {
			return bounds[0].Rate
		}
	}
	return math.Inf(1)
}

// stepTerm names the part that takes more than half of the step; Step where none is known to.
func (p Pipeline) stepTerm() Term {
	switch device, copies := p.Device.Center, p.Copy.Center; {
	case !(max(device, copies) > p.FreeStep.Center/2):
		return Step
	case device >= copies:
		return Device
	}
	return Copy
}

// stretch is how many times as long as alone something takes at most that computes beside w workers, a pinning thread
// and other programs.
func (c *costs) stretch(w int) float64 {
	if !(c.cores > 0) || !c.pause.Simulated() {
		return 1
	}
	_, _, threads := c.pause.parts()
	return threads * (float64(w)*c.ofWorker() + 2 + c.others) / c.cores
}

// rate divides, and gives +Inf, which is no bound, where either side is nothing.
func rate(n, cost float64) float64 {
	if cost <= 0 || n <= 0 {
		return math.Inf(1)
	}
	return n / cost
}
