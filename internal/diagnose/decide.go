package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// decide makes the decisions of a report, one for each setting, of what its findings recommend and rule out and of what
// the model plans; findings then name no other value. Findings are in order of what is at stake.
func (s *subject) decide(r *report.Report) {
	reconcile(r.Findings)
	planned, ok := predict.Plans{}, false
	if !tooLittle(s.evidence) {
		if planned, ok = s.plan(r); ok {
			s.besidePlan(r)
		}
	}
	conclude(r)
	if ok {
		l, _ := s.model()
		r.Outlook = l.outlook(planned, r)
	}
	r.Joint = s.joint(r)
}

// conclude makes the decisions of findings that do not rule out what others recommend, and holds the findings to them.
func conclude(r *report.Report) {
	r.Decisions = nil
	r.Decisions = r.Decided()
	for i := range r.Findings {
		conform(&r.Findings[i], r)
	}
	sayOnce(r.Findings)
}

// conform gives what a finding recommends the value that is decided, each setting once, and takes back what it says
// against that.
func conform(f *report.Finding, r *report.Report) {
	var list []report.Recommendation
	for _, c := range f.Recommendations {
		if d := r.Decision(c.Setting); d.To != c.To {
			c = d.Recommendation
		}
		if !slices.ContainsFunc(list, func(x report.Recommendation) bool { return x.Setting == c.Setting }) {
			list = append(list, c)
		}
	}
	f.Recommendations = list
	Retract(f, func(u report.Unhelpful) bool {
		d := r.Decision(u.Setting)
		return u.Within == alone && d != nil && d.Outcome == report.ToChange && strings.EqualFold(d.To, u.To)
	})
	for i := range f.Unhelpful {
		if f.Unhelpful[i].Within == alone {
			f.Unhelpful[i].Within = ""
		}
	}
}

// reconcile leaves no report that recommends a change in one finding and speaks against it in another. What costs
// more says what to do, and the other gives way; but where memory would run out, that has the last word.
func reconcile(findings []report.Finding) {
	for i := range findings {
		f := &findings[i]
		f.Recommendations = slices.DeleteFunc(f.Recommendations, func(c report.Recommendation) bool {
			for j := range findings {
				if j == i {
					continue
				}
				why := denial(&findings[j], c)
				switch {
				case why == nil:
				case j < i || strings.HasPrefix(findings[j].Rule, "memory/"):
					deny(f, c, fmt.Sprintf("%s=%s for now: %s says what is in the way", c.Setting, c.To,
						findings[j].Rule), "")
					return true
				default:
					giveWay(&findings[j], f.Rule, c)
				}
			}
			return false
		})
	}
}

// besidePlan takes back what findings recommend of settings that the plan leaves, where the model finds that it brings
// nothing beside the plan.
func (s *subject) besidePlan(r *report.Report) {
	p := r.Recommended()
	if p == nil {
		return
	}
	l, _ := s.model()
	var values []report.Value
	for _, c := range p.Changes {
		values = append(values, report.Value{Setting: c.Setting, To: c.To})
	}
	set := l.along(l.Setting, values)
	with, ok := l.forecaster.Point(set, predict.Remedy{})
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Recommendations = slices.DeleteFunc(f.Recommendations, func(c report.Recommendation) bool {
			changed, known := l.turned(set, c.Setting, c.To)
			if !ok || !known || c.Effect == nil || slices.ContainsFunc(values,
				func(v report.Value) bool { return v.Setting == c.Setting }) {
				return false
			}
			both, ok := l.forecaster.Point(l.along(changed, c.With), predict.Remedy{})
			if !ok || both.Rate >= report.WorthChange*with.Rate {
				return false
			}
			deny(f, c, fmt.Sprintf("%s: beside the plan a simulation of the loader gives %s instead of %s", assigned(c),
				unit.Format(both.Rate*l.PerBatch, l.Unit), unit.Format(with.Rate*l.PerBatch, l.Unit)), "")
			return true
		})
	}
}

// denial is what a finding says against a change, nil where it does not.
func denial(f *report.Finding, c report.Recommendation) *report.Unhelpful {
	from := ""
	if c.From != nil {
		from = *c.From
	}
	for i := range f.Unhelpful {
		if f.Unhelpful[i].Within == "" && f.Unhelpful[i].Covers(c.Setting, from, c.To) {
			return &f.Unhelpful[i]
		}
	}
	return nil
}

// giveWay limits what a finding says against a change to the time that a weightier finding does not account for.
func giveWay(f *report.Finding, to string, c report.Recommendation) {
	for u := denial(f, c); u != nil; u = denial(f, c) {
		u.Within = "the time that " + to + " leaves"
		line := u.Why
		f.WontHelp = slices.DeleteFunc(f.WontHelp, func(s string) bool { return s == line })
	}
}

// deny says against a change of a finding what is in the way; within as in report.Unhelpful.
func deny(f *report.Finding, c report.Recommendation, line, within string) {
	no := report.Unhelpful{Setting: c.Setting, Direction: report.To, To: c.To, Why: line, Within: within}
	f.Unhelpful = append(f.Unhelpful, no)
	f.WontHelp = append(f.WontHelp, line)
}

// Retract takes back what a finding says will not help.
func Retract(f *report.Finding, which func(report.Unhelpful) bool) {
	for _, u := range f.Unhelpful {
		if which(u) {
			f.WontHelp = slices.DeleteFunc(f.WontHelp, func(line string) bool { return line == u.Why })
		}
	}
	f.Unhelpful = slices.DeleteFunc(f.Unhelpful, which)
}

// sayOnce leaves what will not help in words where it is said first: findings that share a reason speak against the
// same changes.
func sayOnce(findings []report.Finding) {
	said := map[string]bool{}
	for i := range findings {
		findings[i].WontHelp = slices.DeleteFunc(findings[i].WontHelp, func(line string) bool {
			before := said[line]
			said[line] = true
			return before
		})
	}
}
