package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/stat"
)

// otherLoaders are the other DataLoaders of each step, where there are several, as in zip: they stay as they are when
// the one that is modelled changes.
type otherLoaders struct {
	leastStep float64 // seconds that a step takes with them at least
	cpus      float64 // cores that their workers use
}

func otherLoadersOf(e *evidence.Evidence) otherLoaders {
	if h := e.Facts.Hook; h != nil && h.Together > 1 {
		return otherLoaders{max(h.LeastStep, 0), max(h.BesideCPUs, 0)}
	}
	return otherLoaders{}
}

// step is how short a step can get by changes of the one loader.
func (o otherLoaders) step(free stat.Summary) stat.Summary {
	if by := o.leastStep - free.Center; by > 0 {
		free.Center, free.Lo, free.Hi = free.Center+by, free.Lo+by, free.Hi+by
	}
	return free
}

// leastLeft is the part of the CPUs that is left to a loader, whatever the others use: what they use they also give
// way with.
const leastLeft = 0.2

// left is what of the CPUs the others leave.
func (o otherLoaders) left(cpus stat.Summary) stat.Summary {
	for _, x := range []*float64{&cpus.Center, &cpus.Lo, &cpus.Hi} {
		*x = max(*x-o.cpus, leastLeft**x)
	}
	return cpus
}
