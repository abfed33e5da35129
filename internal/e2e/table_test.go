package e2e

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pipetune/pipetune/pkg/report"
)

// outcome is one row of the table.
type outcome struct {
	testCase
	verdict string // class, and resource where there is one
	classOK bool
	rank    int // of the first planted rule, from 1; 0: not among the findings
	rules   []string
	errors  []string // rules of severity error
	outside *measuredByPipetune
	inside  measured
	seconds float64
	others  float64 // cores that others used meanwhile
	attempt int     // from 1
	err     error
}

// measuredByPipetune is what the report says; nil is absent.
type measuredByPipetune struct {
	waitRatio     *float64
	batchesPerSec *float64
}

// The promises of the table: what pipetune sees from outside against the trainer's own stop-watch.
const (
	maxWaitPoints  = 0.05 // of 1
	maxBatchesDiff = 0.05 // of the stop-watch's batches/s
	maxRank        = 2    // the planted rule comes first or second …
	rankShare      = 0.90 // … in so many of the jobs

	unshownShare = 0.10 // of the jobs may be unable to show what was planted, on a busy machine
)

func (o outcome) ranked() bool { return o.rank >= 1 && o.rank <= maxRank }

// showed says whether what was planted showed by the trainer's own stop-watch. It does not look at the report.
func (o outcome) showed() bool {
	return o.inside.waitRatio >= o.wait[0] && o.inside.waitRatio <= o.wait[1]
}

// waitOK and batchesOK compare outside with inside. What may be unseen may be absent, but never wrong.
func (o outcome) waitOK() bool {
	if o.outside == nil || o.outside.waitRatio == nil {
		return o.outside != nil && o.unseen
	}
	return math.Abs(*o.outside.waitRatio-o.inside.waitRatio) <= maxWaitPoints
}

func (o outcome) batchesOK() bool {
	if o.outside == nil || o.outside.batchesPerSec == nil {
		return o.outside != nil && o.unseen
	}
	return math.Abs(*o.outside.batchesPerSec-o.inside.batchesPerSec) <= maxBatchesDiff*o.inside.batchesPerSec
}

// try holds an attempt to its bounds. The verdict is judged where what was planted showed; the figures hold in any
// case.
func (o outcome) try() try {
	t := try{others: o.others, unshown: !o.showed(), unranked: o.showed() && len(o.planted) > 0 && !o.ranked()}
	if o.err != nil {
		return t
	}
	if !t.unshown {
		if !o.classOK {
			t.misses = append(t.misses, wrongVerdict("verdict is %s, want %s", o.verdict, o.wantClass()))
		}
		if o.control && len(o.errors) > 0 {
			t.misses = append(t.misses, wrongVerdict("error findings on a control: %s", strings.Join(o.errors, " ")))
		}
	}
	if !o.waitOK() {
		t.misses = append(t.misses, wrongFigure("input wait %s outside, %.3f inside", ratio(o.outside.waitRatio),
			o.inside.waitRatio))
	}
	if !o.batchesOK() {
		t.misses = append(t.misses, wrongFigure("%s batches/s outside, %.2f inside", number(o.outside.batchesPerSec),
			o.inside.batchesPerSec))
	}
	return t
}

// figures are an attempt's in one line.
func (o outcome) figures() string {
	if o.outside == nil {
		return "not judged"
	}
	return fmt.Sprintf("%s; rules: %s; wait %s %% outside, %.1f %% inside; batches/s %s outside, %.2f inside",
		o.verdict, strings.Join(o.rules, " "), ratio(o.outside.waitRatio), 100*o.inside.waitRatio,
		number(o.outside.batchesPerSec), o.inside.batchesPerSec)
}

func (o outcome) wantClass() string {
	words := make([]string, len(o.class))
	for i, class := range o.class {
		words[i] = string(class)
	}
	return strings.Join(words, " or ")
}

// printTable writes one line per attempt at a job, in the order they were made in.
func printTable(w io.Writer, rows []outcome) error {
	tries := map[string]int{}
	for _, o := range rows {
		tries[o.name] = max(tries[o.name], o.attempt)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tTRIES\tEXPECTED\tPLANTED\tVERDICT\tTOP RULES\tWAIT OUT/IN\tPOINTS\tBATCHES/S "+
		"OUT/IN\tDIFF\tOTHERS\tSECONDS\tMET")
	for _, o := range rows {
		planted := strings.Join(o.planted, "|")
		if planted == "" {
			planted = "-"
		}
		which := fmt.Sprintf("%d of %d", o.attempt, tries[o.name])
		if o.err != nil {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\tnot judged\t-\t-\t-\t-\t-\t%.2f\t%.0f\tNO: %s\n", o.name, which,
				o.wantClass(), planted, o.others, o.seconds, oneLine(o.err.Error()))
			continue
		}
		top := "-"
		if len(o.rules) > 0 {
			top = strings.Join(o.rules[:min(3, len(o.rules))], " ")
		}
		met := "yes"
		switch {
		case len(o.try().misses) > 0:
			met = "NO"
		case !o.showed():
			met = "NOT SHOWN"
		case len(o.planted) > 0 && !o.ranked():
			met = "RANK"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s / %.1f %%\t%s\t%s / %.2f\t%s\t%.2f\t%.0f\t%s\n", o.name, which,
			o.wantClass(), planted, o.verdict, top, ratio(o.outside.waitRatio), 100*o.inside.waitRatio,
			points(o.outside.waitRatio, o.inside.waitRatio), number(o.outside.batchesPerSec), o.inside.batchesPerSec,
			percent(o.outside.batchesPerSec, o.inside.batchesPerSec), o.others, o.seconds, met)
	}
	return table.Flush()
}

func oneLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line[:min(len(line), 150)]
}

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

func points(outside *float64, inside float64) string {
	if outside == nil {
		return "-"
	}
	return fmt.Sprintf("%+.1f", 100*(*outside-inside))
}

func percent(outside *float64, inside float64) string {
	if outside == nil || inside == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*(*outside/inside-1))
}

// judge holds a report against what was planted.
func judge(c testCase, rep *report.Report, inside measured) outcome {
	o := outcome{inside: inside, outside: &measuredByPipetune{}}
	if rep.Verdict == nil {
		o.err = errors.New("the report has no verdict")
		return o
	}
	o.verdict = string(rep.Verdict.Class)
	if rep.Verdict.Resource != "" {
		o.verdict += "/" + string(rep.Verdict.Resource)
	}
	o.classOK = slices.Contains(c.class, rep.Verdict.Class)
	for i, finding := range rep.Findings {
		o.rules = append(o.rules, finding.Rule)
		if finding.Severity == report.Error {
			o.errors = append(o.errors, finding.Rule)
		}
		if o.rank == 0 && slices.Contains(c.planted, finding.Rule) {
			o.rank = i + 1
		}
	}
	o.outside.waitRatio = rep.Verdict.Step.InputWaitRatio
	if batches, ok := rep.Metrics["batches_per_s"]; ok {
		o.outside.batchesPerSec = &batches.Center
	}
	return o
}

// window is the stretch of CLOCK_MONOTONIC that the report's figures are about; where it does not say, all of the
// command.
func window(rep *report.Report, from, to float64) (float64, float64) {
	if rep.Window != nil && rep.Window.StartMono > 0 && rep.Window.DurationS > 0 {
		return rep.Window.StartMono, rep.Window.StartMono + rep.Window.DurationS
	}
	return from, to
}
