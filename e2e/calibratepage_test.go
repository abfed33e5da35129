//go:build e2e && calibrate

package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// calibration is what the trials amount to.
type calibration struct {
	trials            []trial
	all               summary
	refused           []string // what could not be predicted, with the reason
	classes           map[string]summary
	first, second     summary
	learned           [2]float64          // the model's own error from the first half of the trials, and from the second
	error             predict.Calibration // from all of them, by kind of setting: what the next release goes by
	kinds             [2]summary          // of settings that start their workers anew as new programs, and of all others
	calibrated        bool                // all of these are known
	unwidened         float64             // share of trials inside the interval of the inputs alone
	machine, versions string
	seconds           float64
}

// summary is of absolute relative errors of the rate.
type summary struct {
	n                   int
	median, tail, worst float64
	covered             float64 // share inside the interval that a report tells
	unseen              float64 // share inside the interval made with what the other half of the trials taught
}

// judgeTrials holds the intervals that a report tells against the runs; and, as these may rest on earlier runs of the same settings, such that
// each half of the trials gets by the error that the other half had, so that no interval knows the setting it is held against.
func judgeTrials(trials []trial) (calibration, error) {
	halves(trials)
	c := calibration{trials: trials, classes: map[string]summary{}}
	var parts [2][]heldTrial
	side := func(t trial) int {
		if t.firstHalf {
			return 0
		}
		return 1
	}
	for _, t := range trials {
		parts[side(t)] = append(parts[side(t)], heldTrial{t.foreseen.told, t.observed})
	}
	var ok [4]bool
	c.learned[0], ok[0] = calibrate(parts[0], calibratedShare)
	c.learned[1], ok[1] = calibrate(parts[1], calibratedShare)
	var kinds [2][]heldTrial
	for _, t := range trials {
		k := 1
		if t.foreseen.NewPrograms {
			k = 0
		}
		kinds[k] = append(kinds[k], heldTrial{t.foreseen.told, t.observed})
	}
	c.error.NewPrograms, ok[2] = calibrate(kinds[0], calibratedShare)
	c.error.Other, ok[3] = calibrate(kinds[1], calibratedShare)
	c.calibrated = ok == [4]bool{true, true, true, true} // else there are too few: each part needs nine
	for i := range trials {
		t := &trials[i]
		if within(t.foreseen.told, t.observed) {
			c.unwidened += 1 / float64(len(trials))
		}
		told, err := t.foresee(diagnose.ModelError)
		if err != nil {
			return c, err
		}
		other := c.learned[1-side(*t)]
		unseen, err := t.foresee(predict.Calibration{NewPrograms: other, Other: other})
		if err != nil {
			return c, err
		}
		t.told, t.unseen = told.told, unseen.told
	}
	of := func(keep func(trial) bool) summary {
		return summarize(slices.DeleteFunc(slices.Clone(trials), func(t trial) bool { return !keep(t) }))
	}
	c.all = summarize(trials)
	c.first, c.second = of(func(t trial) bool { return t.firstHalf }), of(func(t trial) bool { return !t.firstHalf })
	c.kinds = [2]summary{of(func(t trial) bool { return t.foreseen.NewPrograms }), of(func(t trial) bool { return !t.foreseen.NewPrograms })}
	for _, t := range trials {
		c.classes[t.class()] = of(func(o trial) bool { return o.class() == t.class() })
	}
	return c, nil
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
func (c calibration) failures() (failures []string) {
	fail := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	if c.all.n < leastTrials {
		fail("%d configurations, want %d", c.all.n, leastTrials)
	}
	if c.all.median > maxMedianError || c.all.tail > maxTailError {
		fail("median error %s, nine of ten within %s; promised %s and %s", inPercent(c.all.median), inPercent(c.all.tail), inPercent(maxMedianError), inPercent(maxTailError))
	}
	for name, covered := range map[string]float64{"90 % intervals of reports": c.all.covered, "90 % intervals by other settings' errors": c.all.unseen} {
		if covered < leastCoverage || covered > mostCoverage {
			fail("%s hold %s of the configurations, promised %s to %s", name, inPercent(covered), inPercent(leastCoverage), inPercent(mostCoverage))
		}
	}
	return failures
}

func inPercent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// text is the generated part of docs/calibration.md.
func (c calibration) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	disturbed := 0
	for _, t := range c.trials {
		if t.others > nearlyAlone {
			disturbed++
		}
	}
	line("Measured on %s: %s; %s. The grid took %.0f minutes. In %d of %d predictions others used more than %g cores, three runs long.\n",
		time.Now().UTC().Format(time.DateOnly), c.machine, c.versions, c.seconds/60, disturbed, len(c.trials), nearlyAlone)
	line("| | configurations | median error | nine of ten within | worst | inside a report's 90 %% interval | inside one by the other half's errors |")
	line("|---|--:|--:|--:|--:|--:|--:|")
	row := func(name string, s summary) {
		line("| %s | %d | %s | %s | %s | %s | %s |", name, s.n, inPercent(s.median), inPercent(s.tail), inPercent(s.worst), inPercent(s.covered), inPercent(s.unseen))
	}
	row("**all**", c.all)
	for _, class := range slices.Sorted(maps.Keys(c.classes)) {
		row(class, c.classes[class])
	}
	row("each epoch starts new programs", c.kinds[0])
	row("all others", c.kinds[1])
	row("first half", c.first)
	row("second half", c.second)
	if len(c.refused) > 0 {
		line("\nNot predicted, as a report of the run that they are predicted from would have no plans: %s.", strings.Join(c.refused, "; "))
	}
	if !c.calibrated {
		line("\nToo few configurations to learn the model's own error from: the last column holds what the inputs alone leave open.\n")
		b.WriteString(table(c.trials))
		return b.String()
	}
	line("\nReports were made with an own error of the model of %s where each epoch starts its workers as new programs and %s elsewhere (`diagnose.ModelError`).",
		inPercent(diagnose.ModelError.NewPrograms), inPercent(diagnose.ModelError.Other))
	line("These runs teach %s and %s; regardless of the kind, the first half teaches %s, the second %s. Without any, %s of the configurations are inside what",
		inPercent(c.error.NewPrograms), inPercent(c.error.Other), inPercent(c.learned[0]), inPercent(c.learned[1]), inPercent(c.unwidened))
	line("the inputs alone leave open.\n")
	b.WriteString(table(c.trials))
	return b.String()
}

// table is a row for each configuration.
func table(trials []trial) string {
	var b strings.Builder
	b.WriteString("| workload | workers | prefetch | workers are | predicted from a run that was | predicted, steps/s | 90 % interval | limit | observed | error | inside |\n")
	b.WriteString("|---|--:|--:|---|---|--:|---|---|--:|--:|---|\n")
	for _, t := range trials {
		kept, prefetch, inside := "–", "–", "yes"
		if t.Workers > 0 {
			kept, prefetch = string(t.Start)+", anew each epoch", fmt.Sprint(t.Prefetch)
			if t.Persistent {
				kept = string(t.Start) + ", persistent"
			}
		}
		if !t.inside() {
			inside = "**no**"
		}
		mark := ""
		if t.others > nearlyAlone {
			mark = fmt.Sprintf(" (others used %.2f cores)", t.others)
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %.2f | %.2f – %.2f | %s | %.2f%s | %+.1f %% | %s |\n", t.Workload, t.Workers, prefetch, kept, t.how, t.foreseen.told.Center,
			t.told.Lo, t.told.Hi, cmp.Or(string(t.foreseen.Limit), "–"), t.observed, mark, 100*t.off(), inside)
	}
	return b.String()
}

// writeBetweenMarkers replaces the part of a page that a command has generated: what lies between its two marking lines.
func writeBetweenMarkers(path, command, text string) error {
	begins, ends := "<!-- "+command+": begin -->\n", "<!-- "+command+": end -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), begins)
	_, after, ok2 := strings.Cut(rest, ends)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q to write between", path, strings.TrimSpace(begins), strings.TrimSpace(ends))
	}
	return os.WriteFile(path, []byte(before+begins+"\n"+text+"\n"+ends+after), 0o644)
}
