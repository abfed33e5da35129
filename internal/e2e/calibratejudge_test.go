//go:build e2e && calibrate

package e2e

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// calibration is what the trials of one machine amount to, beside those of others.
type calibration struct {
	trials            []trial
	all               summary
	refused           []string // what could not be predicted, with the reason
	classes           map[string]summary
	kinds             [kinds]summary
	learned           ownErrors // from all machines
	machines          []named   // the other machines, and then all with this one
	everywhere        map[string]summary
	marginals         []named // of what all classes have in common
	unwidened         float64 // share of trials inside the interval of the inputs alone
	machine, versions string
	seconds           float64
}

// summary is of absolute relative errors of the rate.
type summary struct {
	n                   int
	median, tail, worst float64
	covered             float64 // share inside the interval that a report tells
	unseen              float64 // share inside the interval made with what the runs of other machines taught
}

// The kinds of trials that have an error of their own, for a reason each: docs/calibration.md.
const (
	paceBound = iota // the CPUs' pace decides
	theRest
	kinds
)

var kindNames = [kinds]string{"the CPUs' pace decides", "all others"}

func (t trial) kind() int {
	if t.foreseen.Exposure.Pace >= 0.5 {
		return paceBound
	}
	return theRest
}

// named is a part of the trials.
type named struct {
	name string
	summary
}

// ownErrors are the model's own by kind, as multiples of those that a report goes by, in logarithms; NaN where there
// were too few trials to learn from.
type ownErrors [kinds]float64

// of are so many times the errors that a report of a trial goes by.
func (o ownErrors) of(t trial) predict.Calibration {
	c := diagnose.OwnError(t.from.evidence)
	for kind, x := range map[int]*float64{paceBound: &c.Pace, theRest: &c.Model} {
		*x = math.Expm1(o[kind] * math.Log1p(*x))
	}
	return c
}

// learn learns the errors from trials. That of the CPUs' pace is what is left beside the others.
func learn(trials []trial) ownErrors {
	o := ownErrors{1, 1}
	for _, kind := range []int{theRest, paceBound} {
		var held []heldTrial
		for _, t := range trials {
			if t.kind() != kind {
				continue
			}
			c, h := o.of(t), heldTrial{forecast: t.foreseen.told, observed: t.observed}
			if h.exposed = math.Log1p(c.Of(t.foreseen.Exposure)); kind == paceBound {
				h.base, h.exposed = c.Model, t.foreseen.Exposure.Pace*math.Log1p(c.Pace)
			}
			held = append(held, h)
		}
		own, ok := calibrate(held, calibratedShare)
		if o[kind] = math.Log1p(own); !ok {
			o[kind] = math.NaN()
		}
	}
	return o
}

// widen gives each trial the interval that a report of it tells, and the one that it would tell had its errors been
// learned from those of other machines only; none where they are too few.
func widen(t *testing.T, trials, others []trial) {
	t.Helper()
	elsewhere := learn(others)
	for i := range trials {
		x := &trials[i]
		x.told = must.Get(x.foresee(diagnose.OwnError(x.from.evidence)))(t).told
		if !slices.ContainsFunc(elsewhere[:], math.IsNaN) {
			x.unseen = must.Get(x.foresee(elsewhere.of(*x)))(t).told
		}
	}
}

// machineTrials are those of one machine on one day.
type machineTrials struct {
	name   string
	trials []trial
}

// judgeTrials holds the intervals that a report tells against the runs of one machine, and against those of others.
func judgeTrials(t *testing.T, here []trial, others []machineTrials) calibration {
	t.Helper()
	c := calibration{trials: here, classes: map[string]summary{}, everywhere: map[string]summary{}}
	groups := append([]machineTrials{{"this machine", here}}, others...)
	joined := func(but int) (all []trial) {
		for i, g := range groups {
			if i != but {
				all = append(all, g.trials...)
			}
		}
		return all
	}
	c.learned = learn(joined(-1))
	for i, g := range groups {
		if widen(t, g.trials, joined(i)); i > 0 {
			c.machines = append(c.machines, named{g.name, summarize(g.trials)})
		}
	}
	all := joined(-1)
	c.all, c.machines = summarize(here), append(c.machines, named{"all machines", summarize(all)})
	for _, t := range here {
		if within(t.foreseen.told, t.observed) {
			c.unwidened += 1 / float64(len(here))
		}
	}
	of := func(from []trial, keep func(trial) bool) summary {
		return summarize(slices.DeleteFunc(slices.Clone(from), func(t trial) bool { return !keep(t) }))
	}
	for k := range c.kinds {
		c.kinds[k] = of(all, func(t trial) bool { return t.kind() == k })
	}
	for _, part := range []struct {
		name string
		keep func(trial) bool
	}{
		{"on the stand-in GPU, launched", func(t trial) bool { return onDevice(t.Workload) && t.how == byLaunch }},
		{"on the stand-in GPU, attached", func(t trial) bool { return t.how == byPID }},
		{"waits for the device each step", func(t trial) bool {
			return onDevice(t.Workload) && !deviceOf(t.Workload).never()
		}},
		{"never, or each tenth", func(t trial) bool { return onDevice(t.Workload) && deviceOf(t.Workload).never() }},
	} {
		c.marginals = append(c.marginals, named{part.name, of(here, part.keep)})
	}
	for _, t := range here {
		class := func(o trial) bool { return o.class() == t.class() }
		c.classes[t.class()], c.everywhere[t.class()] = of(here, class), of(all, class)
	}
	return c
}

func summarize(trials []trial) summary {
	s := summary{n: len(trials)}
	var errors []float64
	for _, t := range trials {
		errors = append(errors, math.Abs(t.off()))
		if t.inside() {
			s.covered += 1 / float64(len(trials))
		}
		if within(t.unseen, t.observed) {
			s.unseen += 1 / float64(len(trials))
		}
	}
	if len(errors) == 0 {
		return s
	}
	s.median, _ = stat.Quantile(errors, 0.5)
	s.tail, _ = stat.Quantile(errors, tailShare)
	s.worst = slices.Max(errors)
	return s
}

// failures lists the promises that were not kept.
func (c calibration) failures() map[string]string {
	failures := map[string]string{}
	fail := func(what, format string, args ...any) { failures[what] = fmt.Sprintf(format, args...) }
	within := func(name string, covered float64) {
		switch {
		case covered < leastCoverage:
			fail(name+" too seldom", "%s: 90 %% intervals hold %s of the predictions, promised at least %s", name,
				inPercent(covered), inPercent(leastCoverage))
		case covered > mostCoverage:
			fail(name+" too often", "%s: 90 %% intervals hold %s of the predictions, promised at most %s", name,
				inPercent(covered), inPercent(mostCoverage))
		}
	}
	if c.all.n < leastTrials {
		fail("configurations", "%d configurations, want %d", c.all.n, leastTrials)
	}
	for class, s := range c.classes {
		within(class, s.covered)
	}
	for what, x := range map[string]struct{ is, most float64 }{
		"median error": {c.all.median, maxMedianError}, "nine of ten": {c.all.tail, maxTailError},
	} {
		if x.is > x.most {
			fail(what, "%s: off by %s, promised %s", what, inPercent(x.is), inPercent(x.most))
		}
	}
	within("reports", c.all.covered)
	within("reports by other machines' errors", c.all.unseen)
	return failures
}

func inPercent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
