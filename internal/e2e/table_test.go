package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// outcome is one row of the table.
type outcome struct {
	testCase
	rep     *report.Report // with a verdict
	inside  measured
	seconds float64
	others  float64 // cores that others used meanwhile
	attempt int     // from 1
}

// The promises of the table: what pipetune sees from outside against the trainer's own stop-watch.
const (
	maxWaitPoints  = 0.05 // of 1
	maxWaitRange   = 0.65 // of 1, where a range is all that is known: 0.64 was the widest, of gil_held
	maxBatchesDiff = 0.05 // of the stop-watch's batches/s
	maxRank        = 2    // the planted rule comes first or second …
	rankShare      = 0.90 // … in so many of the jobs

	unshownShare = 0.10 // of the jobs may be unable to show what was planted, on a busy machine
)

// rank is the place of the first planted rule among the findings, from 1; 0: it is not among them.
func (c testCase) rank(r *report.Report) int {
	return 1 + slices.IndexFunc(r.Findings, func(f report.Finding) bool { return slices.Contains(c.planted, f.Rule) })
}

// ranked says whether a planted rule comes early enough; it does where none is planted.
func (c testCase) ranked(r *report.Report) bool {
	rank := c.rank(r)
	return len(c.planted) == 0 || rank >= 1 && rank <= maxRank
}

// hold holds a report's verdict to the class, and a control to have no errors.
func (c testCase) hold(t *try, r *report.Report) {
	if !slices.Contains(c.class, r.Verdict.Class) {
		t.wrongVerdict("verdict is %s, want %s", r.Verdict.Class, either(c.class))
	}
	for _, f := range r.Findings {
		if c.control && f.Severity == report.Error {
			t.wrongVerdict("error finding on a control: %s", f.Rule)
		}
	}
}

// holdRanked also wants a planted rule early enough.
func (c testCase) holdRanked(t *try, r *report.Report) {
	if c.hold(t, r); !c.ranked(r) {
		t.wrongVerdict("none of the planted rules %v is among the first %d findings", c.planted, maxRank)
	}
}

// shows says whether an input wait is what the planted fault must cause.
func (c testCase) shows(wait float64) bool { return wait >= c.wait[0] && wait <= c.wait[1] }

// verdictOf is the class, and the resource where there is one.
func verdictOf(r *report.Report) string {
	if r.Verdict.Resource == "" {
		return string(r.Verdict.Class)
	}
	return string(r.Verdict.Class) + "/" + string(r.Verdict.Resource)
}

// either are classes of which any is right.
func either(classes []report.Class) string {
	words := make([]string, len(classes))
	for i, class := range classes {
		words[i] = string(class)
	}
	return strings.Join(words, " or ")
}

// rulesOf are the rules of the first findings.
func rulesOf(r *report.Report, most int) string {
	var rules []string
	for _, f := range r.Findings[:min(most, len(r.Findings))] {
		rules = append(rules, f.Rule)
	}
	return strings.Join(rules, " ")
}

// showed says whether what was planted showed by the trainer's own stop-watch. It does not look at the report.
func (o outcome) showed() bool { return o.shows(o.inside.waitRatio) }

// outside is what the report says; nil is absent.
func (o outcome) outside() (wait, batches *float64) {
	if b, ok := o.rep.Metrics["batches_per_s"]; ok {
		batches = &b.Center
	}
	return o.rep.Verdict.Step.InputWaitRatio, batches
}

// near compares outside with inside. What may be unseen may be absent, but never wrong.
func (o outcome) near(outside *float64, inside, bound float64) bool {
	if outside == nil {
		return o.unseen
	}
	return math.Abs(*outside-inside) <= bound
}

// waits says whether the input wait is what the trainer timed: the figure near it or, where a range is all that is
// known, that it lies within, and the range says something.
func (o outcome) waits(outside *float64) bool {
	if !o.ranged {
		return o.near(outside, o.inside.waitRatio, maxWaitPoints)
	}
	for _, d := range []metric.Desc{metric.InputWait, metric.InWorkerless} {
		if v, ok := o.rep.Metrics[d.Name]; ok {
			return v.Lo <= o.inside.waitRatio && o.inside.waitRatio <= v.Hi && v.Hi-v.Lo <= maxWaitRange
		}
	}
	return false
}

// try holds an attempt to its bounds. The verdict is judged where what was planted showed; the figures hold in any
// case.
func (o outcome) try() try {
	t := try{others: o.others, unshown: !o.showed()}
	if !t.unshown {
		o.hold(&t, o.rep)
		t.unranked = !o.ranked(o.rep)
	}
	wait, batches := o.outside()
	if !o.waits(wait) {
		t.wrongFigure("input wait %s outside, %.3f inside", ratio(wait), o.inside.waitRatio)
	}
	if !o.near(batches, o.inside.batchesPerSec, maxBatchesDiff*o.inside.batchesPerSec) {
		t.wrongFigure("%s batches/s outside, %.2f inside", number(batches), o.inside.batchesPerSec)
	}
	return t
}

// figures are an attempt's in one line.
func (o outcome) figures() string {
	wait, batches := o.outside()
	return fmt.Sprintf("%s; rules: %s; wait %s %% outside, %.1f %% inside; batches/s %s outside, %.2f inside",
		verdictOf(o.rep), rulesOf(o.rep, len(o.rep.Findings)), ratio(wait), 100*o.inside.waitRatio, number(batches),
		o.inside.batchesPerSec)
}

// outcomeTable is one line per attempt at a job, in the order they were made in.
func outcomeTable(rows []outcome) string {
	tries := map[string]int{}
	for _, o := range rows {
		tries[o.name] = max(tries[o.name], o.attempt)
	}
	var b bytes.Buffer
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tTRIES\tEXPECTED\tPLANTED\tVERDICT\tTOP RULES\tWAIT OUT/IN\tPOINTS\tBATCHES/S "+
		"OUT/IN\tDIFF\tOTHERS\tSECONDS\tMET")
	for _, o := range rows {
		fmt.Fprintf(table, "%s\t%d of %d\t%s\t%s\t", o.name, o.attempt, tries[o.name], either(o.class),
			cmp.Or(strings.Join(o.planted, "|"), "-"))
		met, t := "yes", o.try()
		switch {
		case len(t.misses) > 0:
			met = "NO"
		case t.unshown:
			met = "NOT SHOWN"
		case t.unranked:
			met = "RANK"
		}
		wait, batches := o.outside()
		points, percent := "-", "-"
		if wait != nil {
			points = fmt.Sprintf("%+.1f", 100*(*wait-o.inside.waitRatio))
		}
		if batches != nil && o.inside.batchesPerSec != 0 {
			percent = fmt.Sprintf("%+.1f %%", 100*(*batches/o.inside.batchesPerSec-1))
		}
		fmt.Fprintf(table, "%s\t%s\t%s / %.1f %%\t%s\t%s / %.2f\t%s\t%.2f\t%.0f\t%s\n", verdictOf(o.rep),
			cmp.Or(rulesOf(o.rep, 3), "-"), ratio(wait), 100*o.inside.waitRatio, points, number(batches),
			o.inside.batchesPerSec, percent, o.others, o.seconds, met)
	}
	table.Flush() // to memory
	return b.String()
}

// ratio is a share in percent.
func ratio(x *float64) string {
	if x == nil {
		return "absent"
	}
	return fmt.Sprintf("%.1f", 100**x)
}

func number(x *float64) string {
	if x == nil {
		return "absent"
	}
	return fmt.Sprintf("%.2f", *x)
}

// window is the stretch of CLOCK_MONOTONIC that the report's figures are about; where it does not say, all of the
// command.
func window(rep *report.Report, from, to float64) (float64, float64) {
	if rep.Window != nil && rep.Window.StartMono > 0 && rep.Window.DurationS > 0 {
		return rep.Window.StartMono, rep.Window.StartMono + rep.Window.DurationS
	}
	return from, to
}
