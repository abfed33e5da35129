package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/stat"
)

// beside is what the other loaders of each step take, where there are several, as in zip: they stay as they are when the one that is told of changes.
type beside struct {
	leastStep float64 // seconds that a step takes with them at least
	cpus      float64 // that their workers use
}

func besides(e *evidence.Evidence) beside {
	if h := e.Facts.Hook; h != nil && h.Together > 1 {
		return beside{max(h.LeastStep, 0), max(h.BesideCPUs, 0)}
	}
	return beside{}
}

// step is how short a step can get by changes of the one loader.
func (b beside) step(free stat.Summary) stat.Summary {
	if free.Center >= b.leastStep {
		return free
	}
	by := b.leastStep - free.Center
	free.Center, free.Lo, free.Hi = free.Center+by, free.Lo+by, free.Hi+by
	return free
}

// leastLeft is the part of the CPUs that is left to a loader, whatever the others use: what they use they also give way with.
const leastLeft = 0.2

// left is what of the CPUs the others leave.
func (b beside) left(cpus stat.Summary) stat.Summary {
	for _, x := range []*float64{&cpus.Center, &cpus.Lo, &cpus.Hi} {
		*x = max(*x-b.cpus, leastLeft**x)
	}
	return cpus
}
