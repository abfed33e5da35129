package cli

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/pkg/report"
)

// presentation is how a report is to be shown and judged; the same flags serve every command that ends in a report.
type presentation struct {
	format  string
	color   string
	outputs []string
	failOn  string
	strict  bool
	require []string
	quiet   bool
	launch  bool // the command was given a job to start: only then is there a patch to write
}

func (p *presentation) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVarP(&p.outputs, "output", "o", nil, "also write to `FILE`, format from its suffix: .md .json .txt .jsonl, .patch where diagnose launches the job (repeatable)")
	f.StringVar(&p.format, "format", "text", "what to print: text, json or md")
	f.StringVar(&p.color, "color", "auto", "auto, always or never")
	f.StringVar(&p.failOn, "fail-on", "never", "exit 1 on a finding of this severity or worse: error, warn or never")
	f.BoolVar(&p.strict, "strict", false, "exit 3 where the outcome is inconclusive")
	f.StringSliceVar(&p.require, "require", nil, "exit 4 where one of these `SIGNALS` is missing: gpu, workers, io, or names of metrics")
	f.BoolVarP(&p.quiet, "quiet", "q", false, "no progress, no notes")
	// The lists are fixed and the function cannot fail for flags that were just defined.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json", "md"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"error", "warn", "never"}, cobra.ShellCompDirectiveNoFileComp))
}

// requireGroups are the short names --require knows, with a signal that stands for the group.
var requireGroups = map[string]string{"gpu": metric.GPUBusy.Name, "workers": metric.WorkerBusy.Name, "io": metric.StorageBytes.Name}

// check validates everything before anything is measured.
func (p *presentation) check() (render.Format, []output, error) {
	format, err := render.ByName(p.format)
	if err != nil {
		return format, nil, fail(exitUsage, "", "--format: %w", err)
	}
	if err := oneOf("color", p.color, "auto", "always", "never"); err != nil {
		return format, nil, err
	}
	if err := oneOf("fail-on", p.failOn, "error", "warn", "never"); err != nil {
		return format, nil, err
	}
	for _, name := range p.require {
		if _, ok := requireGroups[name]; !ok && !slices.ContainsFunc(metric.Derived, func(d metric.Desc) bool { return d.Name == name }) {
			return format, nil, fail(exitUsage, "gpu, workers, io, or a name under \"metrics\" of a JSON report", "--require: unknown signal %q", name)
		}
	}
	outs, err := parseOutputs(p.outputs)
	if err == nil && !p.launch {
		err = refusePatch(outs)
	}
	return format, outs, err
}

// judge turns a recording into a report: the right half of the hourglass.
func judge(rec *recording.Recording) (*report.Report, error) {
	e, err := evidence.FromRecording(rec)
	if err != nil {
		return nil, err
	}
	r := diagnose.Run(e, rules.All())
	if rec.End != nil {
		r.Tool.Overhead = &report.Overhead{CPURatio: rec.End.Overhead.CPURatio, MaxRSSBytes: rec.End.Overhead.MaxRSS}
	}
	return r, nil
}

// show prints and writes the report, then says which exit code it leads to. What was measured goes to its files also where it cannot be printed.
func (p *presentation) show(env Env, r *report.Report, format render.Format, outs []output) error {
	printed := p.print(env.Stdout, env.StdoutTerminal, env, r, format)
	if err := p.write(env, r, outs); err != nil {
		complain(env.Stderr, printed)
		return err
	}
	if printed != nil {
		return printed
	}
	return p.gate(env, r)
}

// print writes the report to one of the program's streams.
func (p *presentation) print(w io.Writer, terminal bool, env Env, r *report.Report, format render.Format) error {
	if err := format.Write(w, r, render.Options{Color: useColor(p.color, env.Getenv, terminal)}); err != nil {
		return printFailure(err)
	}
	return nil
}

// printFailure is the failure to print: the stream's own where that tells it.
func printFailure(err error) error {
	if f := (*failure)(nil); errors.As(err, &f) {
		return f
	}
	return fail(exitUsage, "", "%w", err)
}

// write writes the report to its files. Each failure is told at once; the error is without words.
func (p *presentation) write(env Env, r *report.Report, outs []output) error {
	var failed error
	for _, o := range outs {
		if o.recording || o.patch {
			continue
		}
		if err := o.writeReport(r); err != nil {
			complain(env.Stderr, err)
			failed = quietExit(exitCode(err))
		}
	}
	return failed
}

// inconclusiveBench says why a benchmark tells too little, "" where it does not, or is none.
func inconclusiveBench(r *report.Report) string {
	switch {
	case r.Benchmark == nil:
		return ""
	case r.Benchmark.Interrupted:
		return "it was interrupted"
	case !slices.ContainsFunc(r.Measurements, func(m report.Measurement) bool { return m.Probe == report.ProbeRead }):
		return "no item could be read"
	}
	return ""
}

// gate applies --require, --strict and --fail-on, in this order: a verdict on too little is worth less than none.
func (p *presentation) gate(env Env, r *report.Report) error {
	var missing []string
	for _, name := range p.require {
		signal := name
		if group, ok := requireGroups[name]; ok {
			signal = group
		}
		if _, ok := r.Metrics[signal]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fail(exitMissing, "pipetune doctor says what can be seen here and how to change that", "required signals are missing: %s", strings.Join(missing, ", "))
	}
	if p.strict && r.Verdict != nil && r.Verdict.Class == report.Inconclusive {
		hint := "watch longer: --duration 60s"
		if p.launch {
			hint = "let the job train for longer"
		}
		return fail(exitNotMeasured, hint, "the verdict is inconclusive")
	}
	if why := inconclusiveBench(r); p.strict && why != "" {
		return fail(exitNotMeasured, "give it more time: --budget 2m", "the benchmark is inconclusive: %s", why)
	}
	fatal := map[string][]report.Severity{"error": {report.Error}, "warn": {report.Error, report.Warning}}[p.failOn]
	for _, f := range r.Findings {
		if slices.Contains(fatal, f.Severity) {
			return fail(exitGate, "", "--fail-on %s: %s is %s", p.failOn, f.Rule, f.Severity)
		}
	}
	return nil
}
