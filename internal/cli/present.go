package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/compare"
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/pkg/report"
)

// presentation is how a report is to be shown and judged; the same flags serve every command that ends in a report.
type presentation struct {
	showing
	failOn  string
	strict  bool
	require []string
	limits  []string // that figures are held to
	held    []compare.Threshold
	quiet   bool
	launch  bool // the command was given a job to start: only then is there a patch to write
}

// showing is in which format something is printed, and to which files it is also written.
type showing struct {
	color   string
	verbose bool // all of a report, not its first screen alone
	format  string
	outputs []string
	formats []render.Format // that there are
	also    []string        // endings that outputs may have beside those of formats

	// what check makes of format and outputs
	chosen render.Format
	outs   []output
}

// addFlags gives a command the flags. also are the endings that its -o takes beside those of the formats.
func (s *showing) addFlags(c *cobra.Command, formats []render.Format, also ...string) {
	s.formats, s.also = formats, also
	names := render.Names(formats)
	last := len(names) - 1
	f := c.Flags()
	f.StringArrayVarP(&s.outputs, "output", "o", nil, "also write to `FILE`, format from its suffix: "+
		strings.Join(append(render.Suffixes(formats), also...), " ")+"; repeatable")
	f.StringVar(&s.format, "format", "text", "what to print: "+strings.Join(names[:last], ", ")+" or "+names[last])
	f.StringVar(&s.color, "color", "auto", "auto, always or never")
	complete(c, "format", names...)
	complete(c, "color", colors...)
}

// check validates the flags, and tries each file, before anything is read or measured; ofRun is parseOutputs'.
func (s *showing) check(ofRun bool) (err error) {
	if s.chosen, err = render.ByName(s.formats, s.format); err != nil {
		return fail(exitUsage, "", "--format: %w", err)
	}
	if err := oneOf("color", s.color, colors...); err != nil {
		return err
	}
	s.outs, err = parseOutputs(s.outputs, s.formats, ofRun, s.also...)
	for _, o := range s.outs {
		err = cmp.Or(err, o.check())
	}
	return err
}

// The endings of what -o can name beside reports.
const (
	ofRecording = recordingSuffix + " (recording)"
	ofPatch     = ".patch or .diff (of a command after --)"
)

// addFlags gives a command the flags. also are the endings that its -o takes beside those of reports.
func (p *presentation) addFlags(c *cobra.Command, also ...string) {
	f := c.Flags()
	p.showing.addFlags(c, render.Formats(), also...)
	f.BoolVarP(&p.verbose, "verbose", "v", false, "print all of the report, not its first screen alone; files have "+
		"all of it")
	f.StringVar(&p.failOn, "fail-on", "never", "exit 1 on a finding of this severity or worse: error, warning or never")
	f.BoolVar(&p.strict, "strict", false, "exit 3 where the outcome is inconclusive")
	f.StringSliceVar(&p.require, "require", nil, "exit 4 where one of these `SIGNALS` is missing: gpu, workers, io, "+
		"or names of metrics")
	f.BoolVarP(&p.quiet, "quiet", "q", false, "no progress, no notes")
	complete(c, "fail-on", failOn...)
}

func (p *presentation) addThreshold(c *cobra.Command) {
	c.Flags().StringArrayVar(&p.limits, "threshold", nil, "exit 1 where a figure is beyond this `LIMIT`, as "+
		"gpu_busy_ratio>=0.8, and 3 where it was not measured; judges the interval (repeatable)")
}

var (
	colors = []string{"auto", "always", "never"}
	failOn = []string{string(report.Error), string(report.Warning), "never"}
)

// requireGroups are the short names --require knows, with a signal that stands for the group.
var requireGroups = map[string]string{"gpu": metric.GPUBusy.Name, "workers": metric.WorkerBusy.Name,
	"io": metric.StorageBytes.Name}

// check validates everything before anything is measured.
func (p *presentation) check() error {
	if err := p.showing.check(true); err != nil {
		return err
	}
	if err := oneOf("fail-on", p.failOn, failOn...); err != nil {
		return err
	}
	for _, name := range p.require {
		if _, ok := requireGroups[name]; !ok && !slices.ContainsFunc(metric.InReport(),
			func(d metric.Desc) bool { return d.Name == name }) {
			return fail(exitUsage, "gpu, workers, io, or a name under \"metrics\" of a JSON report",
				"--require: unknown signal %q", name)
		}
	}
	for _, text := range p.limits {
		t, err := compare.ParseThreshold(text)
		if err != nil {
			return fail(exitUsage, "a name under \"metrics\" of a JSON report, in its base unit: gpu_busy_ratio>=0.8",
				"--threshold %q: %w", text, err)
		}
		p.held = append(p.held, t)
	}
	if p.launch {
		return nil
	}
	return refusePatch(p.outs)
}

// subject is a report to be shown, with the watch over time where a format draws it.
func (s *showing) subject(r *report.Report, rec *recording.Recording) render.Subject {
	if rec != nil && (s.chosen.Draws || slices.ContainsFunc(s.outs, func(o output) bool { return o.format.Draws })) {
		return render.Watch(r, evidence.Timeline(rec))
	}
	return render.Report(r)
}

// show prints and writes the report, then says which exit code it leads to. rec is the recording that it is of, nil
// where there is none.
func (p *presentation) show(env Env, r *report.Report, rec *recording.Recording) error {
	nameKept(r, p.outs)
	p.hold(r)
	if err := p.deliver(env, p.subject(r, rec)); err != nil {
		return err
	}
	return p.gate(r)
}

func (p *presentation) hold(r *report.Report) {
	if len(p.held) > 0 {
		r.Thresholds = nil // of a report that is shown again
	}
	for _, t := range p.held {
		r.Thresholds = append(r.Thresholds, t.Judge(r))
	}
}

// nameKept names, in the commands that compare with a report, the file that keeps it.
func nameKept(r *report.Report, outs []output) {
	i := slices.IndexFunc(outs, func(o output) bool { return o.format.Suffix == ".json" })
	for j := range r.Plans {
		if i >= 0 {
			r.Plans[j].Check = strings.Replace(r.Plans[j].Check, diagnose.Before, diagnose.ShellWord(outs[i].path), 1)
		}
	}
}

// deliver prints a report or a comparison and writes it to its files, also where it cannot be printed.
func (s *showing) deliver(env Env, what render.Subject) error {
	printed := s.printTo(env.Stdout, env.StdoutTerminal, env, what)
	if err := s.writeAll(env, what); err != nil {
		complain(env.Stderr, printed)
		return err
	}
	return printed
}

// printTo writes to one of the program's streams. The failure is the stream's own where it has one.
func (s *showing) printTo(w io.Writer, terminal bool, env Env, what render.Subject) error {
	o := render.Options{Color: useColor(s.color, env.Getenv, terminal), Verbose: s.verbose}
	if terminal {
		o.Width = env.width()
	}
	err := s.chosen.Write(w, what, o)
	if f := (*failure)(nil); err == nil || errors.As(err, &f) {
		return err
	}
	return fail(exitUsage, "", "%w", err)
}

// writeAll writes to the files. Each failure is reported at once; the error is without words.
func (s *showing) writeAll(env Env, what render.Subject) error {
	var failed error
	for _, o := range s.outs {
		if o.recording || o.patch {
			continue
		}
		if err := o.write(what); err != nil {
			complain(env.Stderr, err)
			failed = quietExit(exitCode(err))
		}
	}
	return failed
}

// inconclusiveBench says why a benchmark reports too little, "" where it does not, or is none. failed: it has no figure
// of an item although it ran to its end.
func inconclusiveBench(r *report.Report) (why string, failed bool) {
	measured := func(d metric.Desc) bool {
		return slices.ContainsFunc(r.Measurements, func(m report.Measurement) bool { return m.Metric == d.Name })
	}
	switch {
	case r.Benchmark == nil:
		return "", false
	case r.Benchmark.Interrupted:
		return "it was interrupted", false
	case !measured(metric.ItemTime) && r.Benchmark.Sample.Unread >= r.Benchmark.Sample.Items:
		return "no item could be read", true
	case !measured(metric.ItemTime):
		return "no item was timed", true
	case r.Benchmark.Kind == string(format.Image) && !measured(metric.DecodeTime):
		return "no picture could be decoded", false
	}
	return "", false
}

// gate applies --require, --strict and --fail-on, in this order: a verdict on too little is worth less than none.
func (p *presentation) gate(r *report.Report) error {
	var missing []string
	for _, name := range p.require {
		if _, ok := r.Metrics[cmp.Or(requireGroups[name], name)]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fail(exitMissing, "pipetune doctor says what can be seen here and how to change that",
			"required signals are missing: %s", strings.Join(missing, ", "))
	}
	if p.strict && r.Verdict != nil && r.Verdict.Class == report.Inconclusive {
		hint := watchLonger
		if p.launch {
			hint = fmt.Sprintf("let the job train for longer: at least %.0f s", evidence.AdvisedTraining)
		}
		return fail(exitNotMeasured, hint, "the verdict is inconclusive")
	}
	switch why, failed := inconclusiveBench(r); {
	case failed:
		return fail(exitNotMeasured, "the report says what is in the way; where it was time, --budget 2m", "%s", why)
	case p.strict && why != "":
		return fail(exitNotMeasured, "give it more time: --budget 2m", "the benchmark is inconclusive: %s", why)
	}
	for _, f := range r.Findings {
		if fatal(p.failOn, f.Severity) {
			return fail(exitGate, "", "--fail-on %s: %s is %s", p.failOn, f.Rule, f.Severity)
		}
	}
	if len(p.held) > 0 {
		return p.thresholds(r)
	}
	return nil
}

// fatal reports whether a finding is what --fail-on asks to fail on.
func fatal(failOn string, s report.Severity) bool {
	return failOn != "never" && (s == report.Error || s == report.Warning && failOn == string(report.Warning))
}

// thresholds says which exit code the limits lead to: one that was missed weighs more than one on which there are no
// data, and that more than one of which the interval does not tell.
func (p *presentation) thresholds(r *report.Report) error {
	for _, t := range r.Thresholds {
		if t.Answer == report.GateFailed {
			return fail(exitGate, "", "--threshold %s: %s", t.Text, t.Why)
		}
	}
	for _, t := range r.Thresholds {
		if t.Value == nil {
			return fail(exitNotMeasured, "pipetune doctor says what can be seen here and how to change that",
				"--threshold %s: %s", t.Text, t.Why)
		}
		if t.Answer == report.GateUnclear && p.strict {
			return fail(exitNotMeasured, watchLonger, "--threshold %s cannot tell: %s", t.Text, t.Why)
		}
	}
	return nil
}
