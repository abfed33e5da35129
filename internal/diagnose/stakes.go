package diagnose

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/pkg/report"
)

// judgement is what the findings of a report, and their order, come from.
type judgement struct {
	rules  map[string]*Rule    // by ID
	given  []report.Finding    // as the rules gave them, less what a simulation has denied since
	stakes map[[2]string]stake // by identity
}

// identity tells the findings of one report apart.
func identity(f *report.Finding) [2]string { return [2]string{f.Rule, f.Summary} }

// stake is what a finding has at stake as its rule gave it, before anything was taken for the symptom of another cause.
type stake struct {
	score    float64
	severity report.Severity
}

// note keeps findings, and what they have at stake, as they come from their rules.
func (j *judgement) note(findings []report.Finding) {
	j.given = findings
	for i := range findings {
		j.stakes[identity(&findings[i])] = stake{findings[i].Score, findings[i].Severity}
	}
}

// weigh gives the findings of a report: what special causes explain is taken off the general ones, all are in order of what is at stake, and none
// speaks against what a weightier one recommends. It begins from what the rules gave, so that it can be done again once a change was denied: what
// had given way to that change stands again then.
func (j judgement) weigh() []report.Finding {
	findings := slices.Clone(j.given)
	for i := range findings {
		f := &findings[i]
		f.Recommendations, f.Unhelpful, f.WontHelp = slices.Clone(f.Recommendations), slices.Clone(f.Unhelpful), slices.Clone(f.WontHelp)
	}
	j.settle(findings)
	reconcile(findings)
	return findings
}

// deny takes a change back from the finding that recommends it, for good: why says what was found out since. A finding that is left without any
// change has nothing at stake: there is no cure for it, and it explains nothing.
func (j judgement) deny(f *report.Finding, c report.Recommendation, why string) {
	for i := range j.given {
		g := &j.given[i]
		if identity(g) != identity(f) {
			continue
		}
		g.Recommendations = slices.DeleteFunc(g.Recommendations, func(x report.Recommendation) bool { return x.Setting == c.Setting && x.To == c.To })
		deny(g, c, why)
		if len(g.Recommendations) == 0 {
			j.stakes[identity(g)] = stake{0, report.Info}
		}
	}
}

// settle takes what special causes explain off the general findings, and orders all by what is at stake.
func (j judgement) settle(findings []report.Finding) {
	own := map[string]float64{}
	for i := range findings {
		f := &findings[i]
		at := j.stakes[identity(f)]
		f.Score, f.Severity = at.score, at.severity
		own[f.Rule] = max(own[f.Rule], f.Score)
	}
	for i := range findings {
		explained := 0.0
		for _, other := range findings {
			if slices.Contains(j.rules[other.Rule].Explains, findings[i].Rule) {
				explained = max(explained, own[other.Rule])
			}
		}
		if explained > 0 {
			findings[i].Score = max(0, findings[i].Score-explained)
			findings[i].Severity = milder(findings[i].Severity, Grade(findings[i].Score))
		}
	}
	order(findings)
}

// order puts what has most at stake first.
func order(findings []report.Finding) {
	slices.SortStableFunc(findings, func(a, b report.Finding) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(gravity(b.Severity), gravity(a.Severity)), cmp.Compare(a.Rule, b.Rule))
	})
}

func milder(a, b report.Severity) report.Severity {
	if gravity(a) < gravity(b) {
		return a
	}
	return b
}

func gravity(s report.Severity) int {
	switch s {
	case report.Error:
		return 2
	case report.Warning:
		return 1
	}
	return 0
}
