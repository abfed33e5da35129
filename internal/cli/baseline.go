package cli

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/compare"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/pkg/report"
)

// baseline is an earlier report of the job, which diagnose compares its own with.
type baseline struct {
	comparison
	path    string
	report  *report.Report // nil: none was asked for
	options compare.Options
}

// addFlags gives diagnose the flags.
func (b *baseline) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&b.path, "baseline", "", "an earlier report of the job, a .json `FILE`: also compare with it, as "+
		"pipetune compare does")
	f.StringVar(&b.gate, "gate", "", "with --baseline: exit 1 where the rate fell by more than this `SHARE`, as 5%; "+
		"judges the interval")
	f.StringVar(&b.gateMetric, "gate-metric", "", "with --baseline: the `METRIC` to judge instead: a name under "+
		"\"metrics\" of a JSON report")
}

// check reads the report and refuses what cannot be compared with, before anything is measured.
func (b *baseline) check(format render.Format, strict bool) (err error) {
	b.strict = strict
	if b.path == "" {
		if b.gate != "" || b.gateMetric != "" {
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
	if b.options, err = b.comparison.options(); err != nil {
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
	if _, known := r.Metrics[b.gateMetric]; b.gateMetric != "" && !known {
		return fail(exitUsage, "a name under \"metrics\" of "+b.path, "--gate-metric: %w", compare.ErrUnknownMetric)
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
		[]compare.Input{{Name: "this run", Report: r}}, b.options)
	if err != nil {
		return nil, fail(exitUsage, "", "comparing with %s: %w", b.path, err)
	}
	return c, nil
}

// printComparison writes it below the report.
func printComparison(w io.Writer, terminal bool, env Env, c *report.Comparison, format render.Format,
	how display) error {
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return printTo(w, terminal, env, render.Comparison(c), format, how)
}
