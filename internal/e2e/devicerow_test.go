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

// What is promised of a step with a device.
const (
	stallAttached   = 0.03 // of 1: how far the data stall may be off, seen from outside …
	stallLaunched   = 0.01 // … and with the hook
	promiseOver     = 0.10 // a promised rate may be so much above the true one
	headroomCovered = 0.90 // share of loops whose true headroom lies in the interval

	// rateError is how far the true headroom itself may be off: a quotient of two rates, each measured once.
	rateError = 0.03
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
	return h != nil && h.Lo <= truth*(1+rateError) && h.Hi >= truth*(1-rateError)
}

// promised is the most that the report says the rate can become, as a multiple of what it is. Findings about the host,
// the GPU or other programs promise something else than data.
func (r deviceRow) promised() (most float64, by string) {
	take := func(e *report.Effect, name string) {
		if e == nil || e.Before <= 0 || e.Metric != "batches_per_s" && e.Metric != "samples_per_s" {
			return
		}
		if ratio := max(e.After, e.Hi) / e.Before; ratio > most {
			most, by = ratio, name
		}
	}
	for _, f := range r.rep.Findings {
		group, _, _ := strings.Cut(f.Rule, "/")
		if group == "host" || group == "gpu" || f.Rule == "cpu/noisy-neighbour" {
			continue
		}
		for _, c := range f.Recommendations {
			take(c.Effect, f.Rule)
		}
	}
	for _, p := range r.rep.Plans {
		take(p.Effect, p.Name)
	}
	return most, by
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
	if most, by := r.promised(); most > (1+promiseOver)*max(r.headroom(), 1) {
		missed("%s promises %.2f times the rate, data for free brings %.2f", by, most, r.headroom())
	}
	// A rule that is planted in some loops is found there and nowhere else.
	for _, planted := range []string{"loader/pin-thread-bound", "gpu/copies"} {
		found := slices.ContainsFunc(r.rep.Findings, func(f report.Finding) bool { return f.Rule == planted })
		if found != (r.loop.planted == planted) {
			missed("%s is found: %t", planted, found)
		}
	}
	stall, bound, truth := r.rep.Verdict.Step.DataStall, stallAttached, r.worst()
	if r.how == "launched" {
		bound = stallLaunched
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
		most, by := r.promised()
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
	if float64(covered) < headroomCovered*float64(told) {
		t.Errorf("want it in %.0f %%", 100*headroomCovered)
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
