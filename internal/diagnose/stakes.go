package diagnose

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/pkg/report"
)

// judgement is what the order of findings comes from.
type judgement struct {
	rules  map[string]*Rule    // by ID
	stakes map[[2]string]stake // by a finding's rule and summary
}

// stake is what a finding has at stake as its rule gave it, before anything was taken for the symptom of another cause.
type stake struct {
	score    float64
	severity report.Severity
}

// note keeps what findings have at stake as they come from their rules.
func (j judgement) note(findings []report.Finding) {
	for _, f := range findings {
		j.stakes[[2]string{f.Rule, f.Summary}] = stake{f.Score, f.Severity}
	}
}

// drop leaves a finding with nothing at stake: there is no cure for it, and it explains nothing.
func (j judgement) drop(f *report.Finding) {
	j.stakes[[2]string{f.Rule, f.Summary}] = stake{0, report.Info}
}

// settle takes what special causes explain off the general findings, and orders all by what is at stake. It begins from what rules gave, so that
// it can be done again once a finding was dropped: what that had explained is back then.
func (j judgement) settle(findings []report.Finding) {
	own := map[string]float64{}
	for i := range findings {
		f := &findings[i]
		at := j.stakes[[2]string{f.Rule, f.Summary}]
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
