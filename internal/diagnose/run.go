package diagnose

import (
	"cmp"
	"slices"
	"sync"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// Run holds evidence against rules and reports what follows. The report lacks only what the caller knows better: the
// overhead of the watch, and whether this is a replay.
func Run(e *evidence.Evidence, rules []Rule) *report.Report {
	r, s := describe(e), subjectOf(e)
	s.find(r, rules)
	if r.Verdict.Class == report.Inconclusive {
		promiseNothing(r)
	}
	s.decide(r)
	r.Next = next(e, r)
	if tooLittle(e) {
		withhold(r)
	}
	failureFirst(e, r)
	return r
}

// Verdict is class, confidence and statement of the verdict that Run gives, for a fraction of the work: what changes
// would bring together is not asked for.
func Verdict(e *evidence.Evidence, rules []Rule) *report.Verdict {
	r := describe(e)
	subjectOf(e).find(r, rules)
	failureFirst(e, r)
	return r.Verdict
}

// find adds what all rules find, and the verdict.
func (s *subject) find(r *report.Report, rules []Rule) {
	judge := s.judge
	if tooLittle(s.evidence) {
		judge = s.judgeShort
	}
	r.Verdict = verdict(s, r.Findings, judgeAll(r, rules, judge))
}

// judgeAll adds to a report what all rules find, in order of what is at stake, and returns the rules by ID. Findings
// may disagree still: see decide.
func judgeAll(r *report.Report, rules []Rule,
	judge func(*Rule) ([]report.Finding, []report.Abstained)) map[string]*Rule {
	table := map[string]*Rule{}
	for i := range rules {
		table[rules[i].ID] = &rules[i]
		findings, abstained := judge(&rules[i])
		r.Findings = append(r.Findings, findings...)
		r.Abstained = append(r.Abstained, abstained...)
	}
	rank(r.Findings, table)
	return table
}

// subject is what rules judge: the evidence, and the model of the loader, which is made when first asked for and then
// the only one; false where its costs are too little known.
type subject struct {
	evidence *evidence.Evidence
	model    func() (*Loader, bool)
}

func subjectOf(e *evidence.Evidence) *subject {
	return &subject{e, sync.OnceValues(func() (*Loader, bool) { return LoaderOf(e, OwnError(e)) })}
}

// Judge holds evidence of a job against one rule. A rule that does not apply, or that only bench-io can judge by,
// gives nothing; one without its signals abstains.
func Judge(rule *Rule, e *evidence.Evidence) ([]report.Finding, []report.Abstained) {
	return subjectOf(e).judge(rule)
}

func (s *subject) judge(rule *Rule) ([]report.Finding, []report.Abstained) {
	e, p := s.evidence, &Pass{Evidence: s.evidence, rule: rule, subject: s}
	if rule.Eval == nil || ofDataLoader(rule, e) || rule.Applies != nil && !rule.Applies(p) {
		return nil, nil
	}
	if names, reason, cure := missing(e, rule.Needs); len(names) > 0 {
		return nil, []report.Abstained{{Rule: rule.ID, Missing: names,
			Reason: cmp.Or(reason, "this watch gave too little to derive it"), Cure: cure}}
	}
	rule.Eval(p)
	for i := range p.findings {
		tidy(&p.findings[i])
		locate(e, &p.findings[i])
		mindSharing(e, &p.findings[i])
		mindTrainer(e, &p.findings[i])
		if e.Facts.Fed != nil {
			dropCallSettings(&p.findings[i])
		}
		s.price(&p.findings[i])
	}
	return p.findings, p.abstains
}

// JudgeMeasured holds the evidence of a benchmark against one rule, as Judge does that of a job. A rule without a
// measured half gives nothing.
func JudgeMeasured(rule *Rule, e *evidence.Evidence) ([]report.Finding, []report.Abstained) {
	return Judge(rule.byMeasurement(), e)
}

// missing names the signals that are absent, and the first reason that is known, with its cure.
func missing(e *evidence.Evidence, needs []metric.Desc) (names []string, reason, cure string) {
	for _, d := range needs {
		if _, ok := e.Get(d); ok {
			continue
		}
		names = append(names, d.Name)
		if reason == "" {
			reason, cure = whyMissing(e, d)
		}
	}
	return names, reason, cure
}

// Why calls that wait for the GPU are not known in a launched job, and what would cure it.
const (
	Untimed  = "item(), cpu() and the like of CUDA tensors were not timed"
	TimeThem = "start the job with pipetune diagnose --sync-points -- COMMAND"
)

// whyMissing adds to what the recording noted: the GPU's absence explains every signal of the GPU.
func whyMissing(e *evidence.Evidence, d metric.Desc) (reason, cure string) {
	if reason, cure = e.WhyMissing(d); reason != "" {
		return reason, cure
	}
	if slices.Contains(gpuSignals, d) {
		return e.Facts.GPUWhyNot, ""
	}
	if e.Reported().SyncsPartly &&
		(d.Name == metric.SyncRatio.Name || d.Name == metric.SyncsPerStep.Name) {
		return Untimed, TimeThem
	}
	switch {
	case Hooked(e) || !slices.Contains(metric.HookDerived, d):
		return "", ""
	case e.Header.Mode == "launch":
		return "only the hook reports it, from inside the job, and it reported nothing", ""
	}
	return "only a launched job reports it, from inside", LaunchCure
}

var gpuSignals = []metric.Desc{metric.GPUBusy, metric.GPUCount, metric.GPUMemUsedRatio, metric.GPUPowerRatio,
	metric.GPUThrottled, metric.GPUClockLost, metric.GPUSMActive, metric.GPUDRAMActive, metric.PcieGenRatio,
	metric.PcieRxRate, metric.GPUIdleJob}

// tidy holds a finding to the schema: finite numbers, a score within 0..1.
func tidy(f *report.Finding) {
	f.Score = stat.Share(f.Score)
	f.Evidence = slices.DeleteFunc(f.Evidence, func(x report.Evidence) bool { return !stat.Finite(x.Value) })
	for i, c := range f.Recommendations {
		if e := c.Effect; e != nil && !(stat.Finite(e.Before, e.After, e.Lo, e.Hi) && e.Lo <= e.Hi) {
			f.Recommendations[i].Effect = nil
		}
	}
}
