// Package diagnose runs rules over evidence, ranks what they find, and gives the verdict.
//
// It promises that a rule without its signals abstains with the cure, that findings are ordered by the share of step
// time at stake, and that the same evidence always gives the same report. It touches no machine: every verdict can be
// replayed from a file.
package diagnose

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// Rule is one cause that can hold a job back: what it needs, and how it tells.
type Rule struct {
	ID    string // "hdf5/reopened-per-item": stable, never reused
	Title string // one line, sentence case, no full stop
	// what an input-bound job is short of when this rule leads; "" for rules that never lead such a verdict
	Resource report.Resource
	Needs    []metric.Desc // absent → the engine abstains for the rule
	Limits   []Limit       // every threshold Eval uses
	// Applies reports whether the rule can concern this job at all; nil means always. A rule that does not apply is
	// left out in silence: a folder of images has no HDF5 signals, and nothing is missing there.
	Applies func(*Pass) bool
	// Explains names the rules whose symptom this rule's cause produces. What this rule finds is taken off their
	// scores: reopening a file keeps workers busy, so the general finding "too few workers" keeps only what reopening
	// does not account for.
	Explains []string
	// Circumstance marks what other programs do to the job. It leads only where taking it away brings more than any
	// cause of the job's own.
	Circumstance bool
	Eval         func(*Pass) // nil: the cause can be determined by bench-io only
	Measured     *Measured   // nil: bench-io has no word on it
}

// Measured is the second way to tell the same cause: from what bench-io measured of the dataset, where no job runs.
type Measured struct {
	Needs   []metric.Desc // as Rule.Needs
	Limits  []Limit
	Applies func(*Pass) bool
	Eval    func(*Pass)
}

// byMeasurement is the rule as bench-io judges by it: the same cause, found in the second way. Without one it judges
// nothing.
func (r *Rule) byMeasurement() *Rule {
	m := r.Measured
	if m == nil {
		m = &Measured{}
	}
	return &Rule{ID: r.ID, Title: r.Title, Explains: r.Explains,
		Needs: m.Needs, Limits: m.Limits, Applies: m.Applies, Eval: m.Eval}
}

// Group returns the part of the ID before the slash.
func (r *Rule) Group() string {
	group, _, _ := strings.Cut(r.ID, "/")
	return group
}

// Limit is a named threshold.
type Limit struct {
	Name   string
	Value  float64
	Unit   metric.Unit
	Source string // a publication, a document, or a measurement and where it was made
}

// Pass hands one rule its evidence and takes its findings.
type Pass struct {
	*evidence.Evidence
	rule     *Rule
	subject  *subject
	findings []report.Finding
	abstains []report.Abstained
}

// Loader returns the model of this job's loader: the same for all rules of a report. False where its costs are too
// little known.
func (p *Pass) Loader() (*Loader, bool) { return p.subject.model() }

// Get returns a signal the rule listed in Needs. Asking for another one is a mistake in the rule and panics; use
// Maybe for those.
func (p *Pass) Get(d metric.Desc) float64 {
	if !slices.Contains(p.rule.Needs, d) {
		panic("diagnose: rule " + p.rule.ID + " reads " + d.Name + " without needing it")
	}
	return p.OrZero(d)
}

// Maybe returns a signal that may be absent.
func (p *Pass) Maybe(d metric.Desc) (float64, bool) {
	v, ok := p.Evidence.Get(d)
	return v.Center, ok
}

// OrZero returns a signal that may be absent, and then counts as nothing.
func (p *Pass) OrZero(d metric.Desc) float64 { return orZero(p.Evidence, d) }

func orZero(e *evidence.Evidence, d metric.Desc) float64 {
	if v, ok := e.Get(d); ok {
		return v.Center
	}
	return 0
}

// Limit returns the value of one of the rule's thresholds. One that it does not list is a mistake in the rule and
// panics.
func (p *Pass) Limit(l Limit) float64 {
	if !slices.Contains(p.rule.Limits, l) {
		panic("diagnose: rule " + p.rule.ID + " has no limit " + l.Name)
	}
	return l.Value
}

// Report takes a finding. The rule's id and title are filled in, the severity where it is that of the score, and what
// will not help is said in words as well.
func (p *Pass) Report(f report.Finding) {
	f.Rule, f.Title = p.rule.ID, p.rule.Title
	if f.Severity == "" {
		f.Severity = Grade(f.Score)
	}
	for _, u := range f.Unhelpful {
		if !slices.Contains(f.WontHelp, u.Why) {
			f.WontHelp = append(f.WontHelp, u.Why)
		}
	}
	p.findings = append(p.findings, f)
}

// Abstain says that the rule cannot judge, although its signals are there.
func (p *Pass) Abstain(reason, cure string) {
	p.abstains = append(p.abstains, report.Abstained{Rule: p.rule.ID, Reason: reason, Cure: cure})
}

// Most is the line from which one part outweighs the others together.
var Most = Limit{"most of the time", 0.5, metric.Ratio, "by definition: more than all else together"}

// The two lines that grade a share of the step. Published thresholds for "input-bound" spread from 5 % to 30 %; these
// two agree with most.
var (
	Moderate = Limit{"moderate share of the step", 0.05, metric.Ratio,
		"TensorFlow profiler, op_stats_to_input_pipeline_analysis: from 5 % moderately input-bound; PyTorch " +
			"tb_plugin flags the DataLoader above 5 %"}
	High = Limit{"high share of the step", 0.20, metric.Ratio,
		"TensorFlow profiler, op_stats_to_input_pipeline_analysis: from 20 % highly input-bound; TraceML calls 20 % " +
			"critical"}
)

// Grade gives a finding the severity of the share of step time it costs now.
func Grade(share float64) report.Severity {
	switch {
	case share >= High.Value:
		return report.Error
	case share >= Moderate.Value:
		return report.Warning
	}
	return report.Info
}
