//go:build e2e && calibrate

package e2e

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	kinds             [kinds]kindOfTrials
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
	unseen              float64 // share inside the interval made with what the other half of the trials taught
}

// The kinds of trials that have an error of their own, for a reason each: docs/calibration.md.
const (
	newPrograms = iota // each epoch starts its workers as new programs
	severalRanks
	cpuLimited
	fromOutside // predicted from a run that was attached to
	theRest
	kinds
)

var kindNames = [kinds]string{
	"each epoch starts new programs", "several ranks", "the CPUs are the limit", "predicted from outside", "all others",
}

// kind of a trial: the first that it is of.
func (t trial) kind() int {
	switch {
	case t.foreseen.Kind == predict.NewPrograms:
		return newPrograms
	case t.ranks() > 1:
		return severalRanks
	case t.foreseen.Kind == predict.CPULimited:
		return cpuLimited
	case t.how == byPID:
		return fromOutside
	}
	return theRest
}

// kindOfTrials is what the trials of a kind teach.
type kindOfTrials struct {
	summary
	learned float64    // the model's own error from all of them: what the next release goes by
	known   bool       // they are enough for that
	halves  [2]float64 // and from each half; from all kinds of that half where it has too few
}

// named is a part of the trials.
type named struct {
	name string
	summary
}

// judgeTrials holds the intervals that a report tells against the runs; and, as these may rest on earlier runs of the
// same settings, such that each half of the trials gets by the error that the other half had, so that no interval knows
// the setting it is held against.
func judgeTrials(trials []trial) (calibration, error) {
	halves(trials)
	c := calibration{trials: trials, classes: map[string]summary{}}
	var parts [kinds + 1][3][]heldTrial // by kind, and of all kinds; the halves, and both
	side := func(t trial) int {
		if t.firstHalf {
			return 0
		}
		return 1
	}
	for _, t := range trials {
		for _, k := range []int{t.kind(), kinds} {
			for _, half := range []int{side(t), 2} {
				parts[k][half] = append(parts[k][half], heldTrial{t.foreseen.told, t.observed})
			}
		}
	}
	for k := range c.kinds {
		c.kinds[k].learned, c.kinds[k].known = calibrate(parts[k][2], calibratedShare)
		for half := range c.kinds[k].halves {
			own, ok := calibrate(parts[k][half], calibratedShare)
			if !ok {
				own, _ = calibrate(parts[kinds][half], calibratedShare)
			}
			c.kinds[k].halves[half] = own
		}
	}
	for i := range trials {
		t := &trials[i]
		if within(t.foreseen.told, t.observed) {
			c.unwidened += 1 / float64(len(trials))
		}
		told, err := t.foresee(diagnose.OwnError(t.from.evidence))
		if err != nil {
			return c, err
		}
		other := c.kinds[t.kind()].halves[1-side(*t)]
		unseen, err := t.foresee(predict.Calibration{NewPrograms: other, CPUs: other, Other: other})
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
	for k := range c.kinds {
		c.kinds[k].summary = of(func(t trial) bool { return t.kind() == k })
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
		c.marginals = append(c.marginals, named{part.name, of(part.keep)})
	}
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
	if c.all.median > maxMedianError || c.all.tail > maxTailError {
		fail("errors", "median error %s, nine of ten within %s; promised %s and %s", inPercent(c.all.median),
			inPercent(c.all.tail), inPercent(maxMedianError), inPercent(maxTailError))
	}
	within("reports", c.all.covered)
	within("reports by other settings' errors", c.all.unseen)
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
	line("Measured on %s: %s; %s. The grid took %.0f minutes. In %d of %d predictions others used more than %g "+
		"cores, also when run again.\n",
		time.Now().UTC().Format(time.DateOnly), c.machine, c.versions, c.seconds/60, disturbed, len(c.trials),
		nearlyAlone)
	line("| | predictions | median error | nine of ten within | worst | inside a report's 90 %% interval | inside " +
		"one by the other half's errors |")
	line("|---|--:|--:|--:|--:|--:|--:|")
	row := func(name string, s summary) {
		line("| %s | %d | %s | %s | %s | %s | %s |", name, s.n, inPercent(s.median), inPercent(s.tail),
			inPercent(s.worst), inPercent(s.covered), inPercent(s.unseen))
	}
	row("**all**", c.all)
	for _, class := range slices.Sorted(maps.Keys(c.classes)) {
		row(class, c.classes[class])
	}
	for _, part := range append(c.marginals, named{"first half", c.first}, named{"second half", c.second}) {
		row(part.name, part.summary)
	}
	if len(c.refused) > 0 {
		line("\nNot predicted, as a report of the run that they are predicted from would have no plans: %s.",
			strings.Join(c.refused, "; "))
	}
	line("\nThe model's own error by kind (`diagnose.OwnError`), and what these runs teach of it. Without any, %s "+
		"are inside what the inputs alone leave open.\n",
		inPercent(c.unwidened))
	line("| kind | predictions | inside a report's 90 %% interval | these runs teach |")
	line("|---|--:|--:|--:|")
	for k, x := range c.kinds {
		learned := "too few"
		if x.known {
			learned = inPercent(x.learned)
		}
		line("| %s | %d | %s | %s |", kindNames[k], x.n, inPercent(x.covered), learned)
	}
	line("\nRow by row: [data/calibration.csv](data/calibration.csv)")
	return b.String()
}

// rows has a row for each prediction, below a head.
func (c calibration) rows() [][]string {
	rows := [][]string{{"workload", "workers", "prefetch", "start method", "workers live",
		"predicted from a run that was", "predicted, steps/s", "90 % from", "90 % to", "limit", "observed, steps/s",
		"cores that others used", "error, %", "inside"}}
	for _, t := range c.trials {
		prefetch, start, live := "", "", ""
		if t.Workers > 0 {
			prefetch, start, live = fmt.Sprint(t.Prefetch), string(t.Start), "for an epoch"
			if t.Persistent {
				live = "on"
			}
		}
		told := t.told
		rows = append(rows, []string{t.Workload, fmt.Sprint(t.Workers), prefetch, start, live, fmt.Sprint(t.how),
			decimals(t.foreseen.told.Center), decimals(told.Lo), decimals(told.Hi), string(t.foreseen.Limit),
			decimals(t.observed), decimals(t.others), fmt.Sprintf("%+.1f", 100*t.off()), fmt.Sprint(t.inside())})
	}
	return rows
}

func decimals(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// write puts the summary into the page and the rows into the file that the page names.
func (c calibration) write(page string) error {
	if err := writeBetweenMarkers(page, "make calibrate", c.text()); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(c.rows()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(page), "data", "calibration.csv"), b.Bytes(), 0o644)
}

// writeBetweenMarkers replaces the part of a page that a command has generated: what lies between its two marking
// lines.
func writeBetweenMarkers(path, command, text string) error {
	begins, ends := "<!-- "+command+": begin -->\n", "<!-- "+command+": end -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), begins)
	_, after, ok2 := strings.Cut(rest, ends)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q to write between", path, strings.TrimSpace(begins),
			strings.TrimSpace(ends))
	}
	return os.WriteFile(path, []byte(before+begins+"\n"+text+"\n"+ends+after), 0o644)
}
