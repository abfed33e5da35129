//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// outcome is one row of the table.
type outcome struct {
	testCase
	verdict  string // class, and resource where there is one
	classOK  bool
	rank     int // of the first planted rule, from 1; 0: not among the findings
	rules    []string
	errors   []string // rules of severity error
	outside  *measuredByPipetune
	inside   measured
	seconds  float64
	others   float64 // cores that others used meanwhile
	attempts int
	err      error
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
)

func (o outcome) ranked() bool { return o.rank >= 1 && o.rank <= maxRank }

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

// failures lists what is wrong in the row; rank is left to the whole table.
func (o outcome) failures() []string {
	if o.err != nil {
		return []string{o.err.Error()}
	}
	var failures []string
	if !o.classOK {
		failures = append(failures, fmt.Sprintf("verdict is %s, want %s", o.verdict, o.wantClass()))
	}
	if o.control && len(o.errors) > 0 {
		failures = append(failures, "error findings on a control: "+strings.Join(o.errors, " "))
	}
	if !o.waitOK() {
		failures = append(failures, fmt.Sprintf("input wait %s outside, %.3f inside", ratio(o.outside.waitRatio), o.inside.waitRatio))
	}
	if !o.batchesOK() {
		failures = append(failures, fmt.Sprintf("%s batches/s outside, %.2f inside", number(o.outside.batchesPerSec), o.inside.batchesPerSec))
	}
	return failures
}

func (o outcome) wantClass() string {
	words := make([]string, len(o.class))
	for i, class := range o.class {
		words[i] = string(class)
	}
	return strings.Join(words, " or ")
}

// printTable writes one line per job.
func printTable(w io.Writer, outcomes []outcome) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tEXPECTED\tPLANTED\tVERDICT\tTOP RULES\tWAIT OUT/IN\tPOINTS\tBATCHES/S OUT/IN\tDIFF\tOTHERS\tSECONDS\tPASS")
	for _, o := range outcomes {
		planted := strings.Join(o.planted, "|")
		if planted == "" {
			planted = "-"
		}
		if o.err != nil {
			fmt.Fprintf(table, "%s\t%s\t%s\tnot judged\t-\t-\t-\t-\t-\t%.1f\t%.0f\tNO: %s\n", o.name, o.wantClass(), planted, o.others, o.seconds,
				oneLine(o.err.Error()))
			continue
		}
		top := "-"
		if len(o.rules) > 0 {
			top = strings.Join(o.rules[:min(3, len(o.rules))], " ")
		}
		pass := "yes"
		switch {
		case len(o.failures()) > 0:
			pass = "NO"
		case len(o.planted) > 0 && !o.ranked():
			pass = "RANK"
		}
		if o.attempts > 1 {
			pass += fmt.Sprintf(" (run %d)", o.attempts)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s / %.1f %%\t%s\t%s / %.2f\t%s\t%.1f\t%.0f\t%s\n", o.name, o.wantClass(), planted, o.verdict, top,
			ratio(o.outside.waitRatio), 100*o.inside.waitRatio, points(o.outside.waitRatio, o.inside.waitRatio),
			number(o.outside.batchesPerSec), o.inside.batchesPerSec, percent(o.outside.batchesPerSec, o.inside.batchesPerSec), o.others, o.seconds, pass)
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
