package predict

import (
	"math"

	"github.com/pipetune/pipetune/internal/stat"
)

// slowdown is by what factor the CPUs are slowed to see how far a rate goes by their pace: about as much as their pace
// changed between runs (docs/calibration.md).
const slowdown = 1.25

// sibling is what a CPU adds at the least that may share its core with another which computes, as a part of what it
// would add alone: two computing workers made 1.25 to 1.95 times the batches of one on virtual CPUs of which nothing
// tells whether they do (docs/calibration.md).
const sibling = 0.25

// exposure is how a rate that was simulated at a point goes by what is not known of the CPUs.
func (f *Forecaster) exposure(at point, set Setting) (x Exposure) {
	rate := func(at point) float64 { return f.rate(at, set, f.brief, f.searchSteps()) }
	usual, slow, fewer := rate(at), at, at
	slow.slowdown = slowdown
	if full := f.pipeline.FullCPUs; full > 0 && at.cpus > full {
		full = max(full, at.cpus/2) // at most two share a core
		fewer.cpus = full + sibling*(at.cpus-full)
		x.Siblings = math.Log(max(usual/rate(fewer), 1))
	}
	if x.Pace = stat.Share(math.Log(usual/rate(slow)) / math.Log(slowdown)); !stat.Finite(x.Pace + x.Siblings) {
		return Exposure{Pace: 1}
	}
	return x
}

// slowed is what a setting costs on CPUs on which computing takes so many times as long. What the device does behind a
// trainer that goes on hides what the trainer's own part then takes longer.
func (c costs) slowed(by float64) costs {
	held := max(c.step-c.behind, 0) + min(c.compute, c.step)*(by-1)
	c.step = max(c.step, held)
	c.behind = min(c.behind, c.step-held)
	for _, x := range []*float64{&c.compute, &c.spin, &c.cpu, &c.handover, &c.receive, &c.dispatch, &c.draw, &c.redraw,
		&c.resume, &c.start.Trainer, &c.start.Worker, &c.start.End} {
		*x *= by
	}
	return c
}
