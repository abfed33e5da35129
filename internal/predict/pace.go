package predict

import (
	"math"

	"github.com/pipetune/pipetune/internal/stat"
)

// slowdown is by what factor the CPUs are slowed to see how far a rate goes by their pace: about as much as their pace
// changed between runs (docs/calibration.md).
const slowdown = 1.25

// paced is the part of a change of the CPUs' pace by which the rate of a setting at a point changes, 0..1.
func (f *Forecaster) paced(at point, set Setting) float64 {
	usual, _ := f.run(at, set, f.brief, f.searchSteps())
	at.slowdown = slowdown
	slow, _ := f.run(at, set, f.brief, f.searchSteps())
	if !(usual.Rate > 0 && slow.Rate > 0) {
		return 0
	}
	return stat.Share(math.Log(usual.Rate/slow.Rate) / math.Log(slowdown))
}

// slowed is what a setting costs on CPUs on which computing takes so many times as long. What the device does behind a
// trainer that goes on hides what the trainer's own part then takes longer.
func (c costs) slowed(by float64) costs {
	held := max(c.step-c.behind, 0) + min(c.compute, c.step)*(by-1)
	c.step = max(c.step, held)
	c.behind = min(c.behind, c.step-held)
	for _, x := range []*float64{&c.compute, &c.spin, &c.cpu, &c.handover, &c.receive, &c.dispatch, &c.resume,
		&c.start.Trainer, &c.start.Worker, &c.start.End} {
		*x *= by
	}
	return c
}
