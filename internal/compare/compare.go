// Package compare holds reports before a change against reports after it: are they of the same thing, which figures
// moved by more than noise, which findings went, and did what was predicted come true.
//
// It promises to say "cannot tell" rather than guess: a difference counts where a test finds it and it is larger than
// what runs of one job differ by anyway. It refuses only reports of different kinds, and a run that is named twice on
// one side.
package compare

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// Input is one report with the name of its file, which only says where it is from.
type Input struct {
	Name   string
	Report *report.Report
}

// Options are what a comparison is asked for. The zero value has no gate.
type Options struct {
	Tool       report.Tool
	Gate       *float64 // largest loss that passes, as a ratio
	GateMetric string   // "" is the usual one: the rate of samples, or of batches of one size
}

// Errors of Run: no report has the metric that a gate names, and one side names a run twice.
var (
	ErrUnknownMetric = errors.New("no report has this metric")
	ErrSameRun       = errors.New("are the same run, which would count twice")
)

// Run compares. The errors are for input that cannot be compared at all.
func Run(before, after []Input, o Options) (*report.Comparison, error) {
	if err := check(before, after); err != nil {
		return nil, err
	}
	b, a := reports(before), reports(after)
	c := &report.Comparison{Schema: report.ComparisonSchema, SchemaVersion: report.ComparisonVersion, Kind: b[0].Kind,
		Tool: o.Tool, Before: side(before, names(before, after)), After: side(after, names(before, after))}
	c.Conditions = conditions(b, a)
	c.Comparable = comparability(c.Conditions)
	c.Changes = changes(b, a, sameBatch(b[0], a[0]))
	if c.Comparable == report.NotComparable {
		// Something else than the change makes a figure better or worse: the conditions say what.
		for k := range c.Changes {
			c.Changes[k].Answer = report.Unclear
		}
	}
	c.How = how(c, len(b), len(a))
	c.Settings = settings(b[0], a[0])
	c.Rules = ruleChanges(b, a)
	c.Predictions, c.Tally = predictions(b[0], a[0], c, contention(b, a))
	c.Warnings = warnings(before, after)
	if o.Gate != nil {
		var err error
		if c.Gate, err = gateOf(c, b, a, *o.Gate, o.GateMetric); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func check(before, after []Input) error {
	if len(before) == 0 || len(after) == 0 {
		return errors.New("nothing to compare: one report before and one after at least")
	}
	for _, x := range slices.Concat(before, after) {
		if x.Report.Kind != before[0].Report.Kind {
			return fmt.Errorf("%s is a report of %s and %s one of %s: their figures are of different things",
				before[0].Name, before[0].Report.Kind, x.Name, x.Report.Kind)
		}
	}
	for _, list := range [][]Input{before, after} {
		for i, x := range list {
			for _, y := range list[:i] {
				if reflect.DeepEqual(x.Report, y.Report) {
					return fmt.Errorf("%s and %s %w", y.Name, x.Name, ErrSameRun)
				}
			}
		}
	}
	return nil
}

func reports(list []Input) (out []*report.Report) {
	for _, x := range list {
		out = append(out, x.Report)
	}
	return out
}

// names says how files are called: by their own name, or as they were given where two have the same.
func names(lists ...[]Input) func(string) string {
	count := map[string]int{}
	for _, x := range slices.Concat(lists...) {
		count[path.Base(x.Name)]++
	}
	return func(name string) string {
		if count[path.Base(name)] > 1 {
			return name
		}
		return path.Base(name)
	}
}

func side(list []Input, called func(string) string) report.Side {
	first := list[0].Report
	s := report.Side{Runs: len(list), SchemaVersion: first.SchemaVersion, ToolVersion: first.Tool.Version,
		Phases: first.Phases}
	for _, x := range list {
		s.Files = append(s.Files, called(x.Name))
		if w := x.Report.Window; w != nil {
			s.DurationS += max(w.DurationS, 0)
		} else if b := x.Report.Benchmark; b != nil {
			s.DurationS += max(b.UsedS, 0)
		}
	}
	if v := first.Verdict; v != nil {
		s.Class, s.Rule, s.Confidence, s.Statement = v.Class, v.Rule, string(v.Confidence), v.Statement
	}
	s.Job = jobName(first)
	s.Free, s.FreeOf = free(first)
	return s
}

// free is the rate of a trainer that never waits, in the unit the job's rate is reported in; nil where it is not known.
func free(r *report.Report) (*float64, string) {
	step, ok := r.Metrics[metric.FreeStepTime.Name]
	batches, ok2 := r.Metrics[metric.BatchesPerS.Name]
	if !ok || !(step.Center > 0) {
		return nil, ""
	}
	rate, of := 1/step.Center, metric.BatchesPerS.Name
	if samples, ok := r.Metrics[metric.SamplesPerS.Name]; ok && ok2 && batches.Center > 0 {
		rate, of = rate*samples.Center/batches.Center, metric.SamplesPerS.Name
	}
	if !stat.Finite(rate) {
		return nil, ""
	}
	return &rate, of
}

// warnings are about the input itself: the same report on both sides, nothing trained, sides that look swapped.
func warnings(before, after []Input) []string {
	var out []string
	called := names(before, after)
	for _, x := range before {
		for _, y := range after {
			if reflect.DeepEqual(x.Report, y.Report) {
				out = append(out, fmt.Sprintf("%s and %s hold the same report: nothing can differ.", called(x.Name),
					called(y.Name)))
			}
		}
	}
	for _, x := range slices.Concat(before, after) {
		if w := x.Report.Window; w != nil && w.Steps != nil && *w.Steps <= 0 {
			out = append(out, called(x.Name)+": no step was seen in it.")
		}
		if d := x.Report.Verdict; d != nil && d.Class == report.Inconclusive {
			out = append(out, called(x.Name)+": its verdict is inconclusive.")
		}
	}
	if x, y := before[0].Report.DataLoader(), after[0].Report.DataLoader(); x.Iterable && y.Iterable &&
		x.Argument("num_workers") != y.Argument("num_workers") {
		out = append(out, "The dataset is iterable and num_workers differs: unless it takes a share in each worker "+
			"(torch.utils.data.get_worker_info), samples are counted once for each of them.")
	}
	b, a := earliest(before), earliest(after)
	if b != "" && a != "" && a < b {
		out = append(out, fmt.Sprintf("%s was made before %s: are the two sides swapped?", called(after[0].Name),
			called(before[0].Name)))
	}
	return out
}

// earliest is when the first of the runs began, "" where one of them does not say. RFC 3339 in UTC orders as text.
func earliest(list []Input) string {
	var began []string
	for _, x := range list {
		if x.Report.Window == nil {
			return ""
		}
		began = append(began, x.Report.Window.StartedAt)
	}
	return slices.Min(began)
}

func jobName(r *report.Report) string {
	if r.Job == nil && r.Benchmark != nil {
		return r.Benchmark.Path
	}
	return commandLine(r)
}
