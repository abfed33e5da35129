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
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/predict"
)

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
		"one by other machines' errors | inside a report's, all machines |")
	line("|---|--:|--:|--:|--:|--:|--:|--:|")
	row := func(name string, s summary, everywhere string) {
		line("| %s | %d | %s | %s | %s | %s | %s | %s |", name, s.n, inPercent(s.median), inPercent(s.tail),
			inPercent(s.worst), inPercent(s.covered), inPercent(s.unseen), everywhere)
	}
	row("**all**", c.all, inPercent(c.machines[len(c.machines)-1].covered))
	for _, class := range slices.Sorted(maps.Keys(c.classes)) {
		row(class, c.classes[class], inPercent(c.everywhere[class].covered))
	}
	for _, part := range c.marginals {
		row(part.name, part.summary, "")
	}
	line("\nThe runs of other machines and days, by the same model:\n")
	line("| | predictions | median error | nine of ten within | worst | inside a report's 90 %% interval | inside " +
		"one by other machines' errors |")
	line("|---|--:|--:|--:|--:|--:|--:|")
	for _, m := range c.machines {
		line("| %s | %d | %s | %s | %s | %s | %s |", m.name, m.n, inPercent(m.median), inPercent(m.tail),
			inPercent(m.worst), inPercent(m.covered), inPercent(m.unseen))
	}
	if len(c.refused) > 0 {
		line("\nNot predicted, as a report of the run that they are predicted from would have no plans: %s.",
			strings.Join(c.refused, "; "))
	}
	line("\nThe model's own error by kind (`diagnose.OwnError`), and what the runs of all machines teach. Without "+
		"any, %s of this machine's are inside what the inputs alone leave open.\n", inPercent(c.unwidened))
	line("| kind | predictions | inside a report's 90 %% interval | a report goes by here | times which, so the " +
		"runs teach |")
	line("|---|--:|--:|--:|--:|")
	own := diagnose.OwnError(c.trials[0].from.evidence)
	now := [kinds]float64{paceBound: own.Of(predict.Exposure{Pace: 1}), theRest: own.Model}
	for k, x := range c.kinds {
		learned := "too few"
		if !math.IsNaN(c.learned[k]) {
			learned = fmt.Sprintf("%.2f", c.learned[k])
		}
		line("| %s | %d | %s | %s | %s |", kindNames[k], x.n, inPercent(x.covered), inPercent(now[k]), learned)
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
			prefetch, start, live = fmt.Sprint(t.Prefetch), t.Start, "for an epoch"
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
func (c calibration) write(t *testing.T, page string) {
	t.Helper()
	writeBetweenMarkers(t, page, "make calibrate", c.text())
	var b bytes.Buffer
	must.Do(t, csv.NewWriter(&b).WriteAll(c.rows()))
	must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(page), "data", "calibration.csv"), b.Bytes(), 0o644))
}

// writeBetweenMarkers replaces the part of a page that a command has generated: what lies between its two marking
// lines.
func writeBetweenMarkers(t *testing.T, path, command, text string) {
	t.Helper()
	begins, ends := "<!-- "+command+": begin -->\n", "<!-- "+command+": end -->\n"
	before, rest, ok := strings.Cut(string(must.Get(os.ReadFile(path))(t)), begins)
	_, after, ok2 := strings.Cut(rest, ends)
	if !ok || !ok2 {
		t.Fatalf("%s has no lines %q and %q to write between", path, begins, ends)
	}
	must.Do(t, os.WriteFile(path, []byte(before+begins+"\n"+text+"\n"+ends+after), 0o644))
}
