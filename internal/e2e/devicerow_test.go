//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// deviceRow is what came of one watch of a loop.
type deviceRow struct {
	loop   deviceLoop
	how    string
	rep    *report.Report
	truth  []deviceTruth
	free   deviceTruth // with data for free
	others float64     // cores that others used meanwhile
}

// between writes an interval.
func between(x *report.Interval) string {
	if x == nil {
		return "absent"
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", x.Center, x.Lo, x.Hi)
}

// worst is the rank that the data stall of a job is about.
func (r deviceRow) worst() deviceTruth {
	return r.judged(slices.MaxFunc(r.truth, func(a, b deviceTruth) int {
		return cmp.Compare(a.Starved+a.Unfed, b.Starved+b.Unfed)
	}))
}

// judged is a rank over the time that a report is about: shares and rates are of the time without evaluations, where
// those are known.
func (r deviceRow) judged(t deviceTruth) deviceTruth {
	if _, known := r.rep.Metrics[metric.Evaluation.Name]; known {
		t.Starved, t.Unfed, t.Rate = t.Starved/(1-t.Outside), t.Unfed/(1-t.Outside), t.Rate/(1-t.Outside)
	}
	return t
}

// headroom is how many times the rate data for free would bring.
func (r deviceRow) headroom() float64 { return r.judged(r.free).Rate / r.worst().Rate }

func (r deviceRow) covered() bool {
	h, truth := r.rep.Verdict.Step.Headroom, r.headroom()
	return h != nil && h.Lo <= truth*(1+RateError) && h.Hi >= truth*(1-RateError)
}

// hold holds a watch to its bounds. Of figures that are known to be off, only the class is asked.
func (r deviceRow) hold(t *try, known map[string]string) {
	if t.others = max(t.others, r.others); !slices.Contains(r.loop.class, r.rep.Verdict.Class) {
		t.wrongVerdict("%s: the verdict is %s, want %s", r.how, r.rep.Verdict.Class, either(r.loop.class))
	}
	if known[r.loop.name+"-"+r.how] != "" {
		return
	}
	missed := func(format string, args ...any) { t.wrongFigure(r.how+": "+format, args...) }
	if most, by := Promised(r.rep); most > (1+PromiseOver)*max(r.headroom(), 1) {
		missed("%s promises %.2f times the rate, data for free brings %.2f", by, most, r.headroom())
	}
	// A rule that is planted in some loops is found there and nowhere else.
	for _, planted := range []string{"loader/pin-thread-bound", "gpu/copies"} {
		found := slices.ContainsFunc(r.rep.Findings, func(f report.Finding) bool { return f.Rule == planted })
		if found != (r.loop.planted == planted) {
			missed("%s is found: %t", planted, found)
		}
	}
	stall, bound, truth := r.rep.Verdict.Step.DataStall, StallAttached, r.worst()
	if r.how == "launched" {
		bound = StallLaunched
	}
	switch {
	case r.loop.open:
		if stall != nil && (stall.Lo > truth.Starved+bound || stall.Hi < truth.Starved-bound) {
			missed("the data stall is said to be %s, and is %.3f", between(stall), truth.Starved)
		}
	case stall == nil:
		missed("the data stall is absent")
	case stall.Center < truth.Starved-bound || stall.Center > truth.Starved+truth.Unfed+bound:
		missed("the data stall is said to be %.3f, and is %.3f", stall.Center, truth.Starved)
	}
}

// deviceTable is a line for each watch: the truth, and what was said.
func deviceTable(rows []deviceRow) string {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.ReplaceAll("LOOP HOW BUSY STALL WAIT RATE FREE HEADROOM WANT"+
		" VERDICT CONFIDENCE STALL HEADROOM PROMISED BY WAIT OTHERS MISSED", " ", "\t"))
	for _, r := range rows {
		w := r.worst()
		fmt.Fprintf(table, "%s\t%s\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t%.2f\t%s\t",
			r.loop.name, r.how, w.Busy+w.Comm, w.Starved, w.Waited, w.Rate, r.judged(r.free).Rate, r.headroom(),
			either(r.loop.class))
		var held try
		r.hold(&held, nil)
		most, by := Promised(r.rep)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%.2f\t%s\t%s\t%.2f\t%s\n",
			r.rep.Verdict.Class, r.rep.Verdict.Confidence, between(r.rep.Verdict.Step.DataStall),
			between(r.rep.Verdict.Step.Headroom), most,
			cmp.Or(by, "-"), ratio(r.rep.Verdict.Step.InputWaitRatio), r.others,
			cmp.Or(held.missed(), "-"))
	}
	table.Flush()
	return out.String()
}

// knownMisses are the watches of which a figure is known to be off, with the reason.
func knownMisses(t *testing.T) map[string]string {
	return must.Read(t, "../../testdata/recordings/device/known.json", must.JSON[map[string]string])
}

// checkHeadroom fails the test where the true headroom lies in too few of the intervals.
func checkHeadroom(t *testing.T, rows []deviceRow) {
	t.Helper()
	told, covered := 0, 0
	for _, r := range rows {
		if r.rep.Verdict.Step.Headroom != nil {
			told++
		}
		if r.covered() {
			covered++
		}
	}
	t.Logf("the true headroom is in the interval in %d of %d watches", covered, told)
	if float64(covered) < Covered*float64(told) {
		t.Errorf("want it in %.0f %%", 100*Covered)
	}
}

// recordedTruth is a row of truth.json beside the recordings that internal/replay replays.
type recordedTruth struct {
	Recording   string
	Class       []report.Class // any of these is right
	Open        bool           // no counter reported whether the device was busy
	Stall, Most float64        // the data stall; with the time in which a neighbour's work hides it
	Headroom    float64        // the rate with data for free over the rate
	OthersCores float64        // CPUs that other programs used meanwhile
}

// record puts the recording of a watch and its truth into a folder, in the place of an earlier one of the same loop.
func (r deviceRow) record(t *testing.T, folder, recording string) {
	t.Helper()
	index := filepath.Join(folder, "truth.json")
	var rows []recordedTruth
	if isFile(index) {
		rows = must.Read(t, index, must.JSON[[]recordedTruth])
	}
	name, w := r.loop.name+"-"+r.how+".jsonl", r.worst()
	rows = slices.DeleteFunc(rows, func(x recordedTruth) bool { return x.Recording == name })
	rows = append(rows, recordedTruth{
		Recording: name, Class: r.loop.class, Open: r.loop.open,
		Stall: digits(w.Starved, 4), Most: digits(w.Starved+w.Unfed, 4),
		Headroom: digits(r.headroom(), 3), OthersCores: digits(r.others, 2),
	})
	slices.SortFunc(rows, func(a, b recordedTruth) int { return cmp.Compare(a.Recording, b.Recording) })
	copyFile(t, recording, filepath.Join(folder, name))
	must.Do(t, os.WriteFile(index, append(must.Get(json.MarshalIndent(rows, "", " "))(t), '\n'), 0o644))
}

func digits(x float64, n int) float64 { return math.Round(x*math.Pow10(n)) / math.Pow10(n) }
