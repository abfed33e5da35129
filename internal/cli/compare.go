package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/compare"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/pkg/report"
)

type comparison struct {
	showing
	compare.Options
	before, after []string
	against       string // a baseline: all arguments are after it
	gate          string
	strict        bool
}

func newCompare(env Env) *cobra.Command {
	var o comparison
	c := &cobra.Command{
		Use:   "compare BEFORE.json AFTER.json",
		Short: "before and after a change: what moved, by more than noise, as predicted or not",
		Long: `compare holds a report from before a change against one from after it: whether
the two can be compared at all, each figure with the interval of its change,
which findings went, and whether what was predicted came true.

One run on each side is the usual case. Repeated runs tell more, since runs of
one job differ: name them with --before and --after, 4 or more on each side for
a test over runs. Recordings (.jsonl) are read as well; - is the standard input.
With --against, all files are runs after the baseline, and what is not of the
same workload as the baseline ends with 3.`,
		Example: `  pipetune compare before.json after.json
  pipetune compare before.json after.json -o pr.md --gate 5%
  pipetune compare b1.json a1.json --before b2.json --after a2.json
  pipetune compare --against ci/baseline.json after.json --gate 5%`,
		RunE: func(_ *cobra.Command, args []string) error { return o.run(env, args) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.before, "before", nil, "another run before the change: a report `FILE` (repeatable)")
	f.StringArrayVar(&o.after, "after", nil, "another run after the change: a report `FILE` (repeatable)")
	f.StringVar(&o.against, "against", "", "the report that a project keeps as its baseline, a `FILE`: all others "+
		"are after it, and must be of the same workload")
	f.StringVar(&o.gate, "gate", "", "exit 1 where the rate fell by more than this `SHARE`, as 5%; judges the interval")
	f.StringVar(&o.GateMetric, "gate-metric", "", "the `METRIC` to judge instead: a name under \"changes\" of "+
		"--format json")
	f.BoolVar(&o.strict, "strict", false, "exit 3 where the gate cannot tell, or nothing can be compared")
	o.addFlags(c, render.ComparisonFormats())
	return c
}

func (o *comparison) run(env Env, args []string) error {
	before, after, err := o.sides(args)
	if err != nil {
		return err
	}
	if err := o.check(false); err != nil {
		return err
	}
	if err := o.options(); err != nil {
		return err
	}
	sides := make([][]compare.Input, 2)
	for i, paths := range [][]string{before, after} {
		if sides[i], err = readSide(env, paths); err != nil {
			return err
		}
	}
	c, err := compare.Run(sides[0], sides[1], o.Options)
	switch {
	case errors.Is(err, compare.ErrUnknownMetric):
		return fail(exitUsage, "a \"key\" or \"metric\" under \"changes\" of --format json", "--gate-metric: %w", err)
	case errors.Is(err, compare.ErrSameRun):
		return fail(exitUsage, "name each run once", "comparing: %w", err)
	case err != nil:
		return fail(exitUsage, "", "comparing: %w", err)
	}
	if err := o.deliver(env, render.Comparison(c)); err != nil {
		return err
	}
	return o.exit(c)
}

// options checks the gate.
func (o *comparison) options() error {
	o.Tool = ofTool()
	if o.GateMetric != "" && o.gate == "" {
		return fail(exitUsage, "add --gate 5%", "--gate-metric without --gate judges nothing")
	}
	if o.gate != "" {
		limit, err := parseShare(o.gate)
		if err != nil {
			return fail(exitUsage, "give a share of the rate: --gate 5%", "--gate %q: %w", o.gate, err)
		}
		o.Gate = &limit
	}
	return nil
}

// sides puts the arguments and flags together, and refuses what is ambiguous before anything is read.
func (o *comparison) sides(args []string) (before, after []string, err error) {
	const runs = "several runs of one side: --before FILE, --after FILE"
	switch n := len(args); {
	case o.against != "" && len(o.before) > 0:
		return nil, nil, fail(exitUsage, "leave out one of them",
			"--against names the one report before, --before several")
	case o.against != "":
		before, after = []string{o.against}, append(args[:n:n], o.after...)
	case n == 0:
		before, after = o.before, o.after
	case n == 2:
		before, after = append([]string{args[0]}, o.before...), append([]string{args[1]}, o.after...)
	default:
		return nil, nil, fail(exitUsage, runs, "compare takes two files, BEFORE and AFTER, not %d", len(args))
	}
	if len(before) == 0 || len(after) == 0 {
		return nil, nil, fail(exitUsage, "pipetune compare before.json after.json",
			"compare needs a report before the change and one after it")
	}
	stdin := 0
	for _, path := range slices.Concat(before, after) {
		if path == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return nil, nil, fail(exitUsage, "", "the standard input (-) can be read once")
	}
	return before, after, nil
}

// parseShare reads "5%" or "0.05": from 0 to 1, exclusive.
func parseShare(s string) (float64, error) {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(s), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return 0, errors.New("not a number")
	}
	if isPercent {
		x /= 100
	}
	if !(x >= 0 && x < 1) {
		return 0, errors.New("must be from 0% up to but not including 100%")
	}
	return x, nil
}

func readSide(env Env, paths []string) ([]compare.Input, error) {
	var out []compare.Input
	for _, path := range paths {
		r, _, err := replay(env, path)
		if err != nil {
			return nil, err
		}
		name := path
		if path == "-" {
			name = "standard input"
		}
		out = append(out, compare.Input{Name: name, Report: r})
	}
	return out, nil
}

// exit says which exit code the comparison leads to.
func (o *comparison) exit(c *report.Comparison) error {
	again := fmt.Sprintf("compare longer runs (--duration %.0fs), ", evidence.AdvisedWatch) +
		"or several on each side (--before, --after)"
	switch {
	case o.against != "" && c.Comparable == report.NotComparable &&
		!strings.HasSuffix(c.Conditions[0].Name, compare.AmongRuns):
		return fail(exitNotMeasured, "make the baseline again: pipetune diagnose -o "+o.against,
			"%s is of another workload: %s differs", o.against, c.Conditions[0].Name)
	case c.Gate != nil && c.Gate.Answer == report.GateFailed:
		return fail(exitGate, "", "--gate %s: %s", o.gate, c.Gate.Why)
	case c.Gate != nil && c.Gate.Answer == report.GateUnclear && o.strict:
		return fail(exitNotMeasured, again, "--gate %s cannot tell: %s", o.gate, c.Gate.Why)
	case o.strict && len(c.Changes) == 0:
		return fail(exitNotMeasured, again, "no figure was measured on both sides")
	case o.strict && c.Comparable == report.NotComparable:
		return fail(exitNotMeasured, "compare two runs of the same job on the same machine",
			"the two sides are not comparable: %s differs", c.Conditions[0].Name)
	}
	return nil
}

// baseline is an earlier report of the job, which diagnose compares its own with.
type baseline struct {
	comparison
	path   string
	report *report.Report // nil: none was asked for
}

func (b *baseline) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&b.path, "baseline", "", "an earlier report of the job, a .json `FILE`: also compare with it, as "+
		"pipetune compare does")
	f.StringVar(&b.gate, "gate", "", "with --baseline: exit 1 where the rate fell by more than this `SHARE`, as 5%; "+
		"judges the interval")
	f.StringVar(&b.GateMetric, "gate-metric", "", "with --baseline: the `METRIC` to judge instead: a name under "+
		"\"metrics\" of a JSON report")
}

// check reads the report and refuses what cannot be compared with, before anything is measured.
func (b *baseline) check(format render.Format, strict bool) error {
	b.strict = strict
	if b.path == "" {
		if b.gate != "" || b.GateMetric != "" {
			return fail(exitUsage, "name the report to compare with: --baseline before.json",
				"--gate and --gate-metric need --baseline")
		}
		return nil
	}
	if format.Name != "text" && format.Name != "md" {
		return fail(exitUsage, "write the report with -o after.json, then: pipetune compare "+b.path+
			" after.json --format "+format.Name,
			"--baseline prints the report and the comparison, which --format %s cannot hold in one", format.Name)
	}
	if err := b.options(); err != nil {
		return err
	}
	r, err := saved.LoadReport(b.path)
	switch {
	case errors.Is(err, saved.ErrRecording):
		return fail(exitUsage, "judge it first: pipetune report "+b.path+" -o before.json", "--baseline: %w", err)
	case err != nil:
		return fail(exitUsage, readHint(b.path, err), "--baseline: %w", err)
	case r.Kind != "diagnose":
		return fail(exitUsage, "pipetune compare takes two reports of it", "--baseline: %s is a report of %s", b.path,
			r.Kind)
	}
	if b.GateMetric != "" && !compare.Compares(r, b.GateMetric) {
		return fail(exitUsage, "a metric under \"changes\" of pipetune compare A B --format json", "--gate-metric: %w",
			compare.ErrUnknownMetric)
	}
	b.report = r
	return nil
}

// against compares a report with the earlier one; nil where there is none.
func (b *baseline) against(r *report.Report) (*report.Comparison, error) {
	if b.report == nil {
		return nil, nil
	}
	c, err := compare.Run([]compare.Input{{Name: b.path, Report: b.report}},
		[]compare.Input{{Name: "this run", Report: r}}, b.Options)
	if err != nil {
		return nil, fail(exitUsage, "", "comparing with %s: %w", b.path, err)
	}
	return c, nil
}

// printComparison writes it below the report.
func (s *showing) printComparison(w io.Writer, terminal bool, env Env, c *report.Comparison) error {
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return s.printTo(w, terminal, env, render.Comparison(c))
}
