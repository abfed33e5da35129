package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// rank orders findings by what is at stake. What special causes explain is taken off the general ones first, and in
// the end none speaks against what a weightier one recommends.
func rank(findings []report.Finding, rules map[string]*Rule) {
	own := map[string]float64{}
	for _, f := range findings {
		own[f.Rule] = max(own[f.Rule], f.Score)
	}
	for i := range findings {
		f, explained := &findings[i], 0.0
		for special, score := range own {
			if slices.Contains(rules[special].Explains, f.Rule) {
				explained = max(explained, score)
			}
		}
		if explained > 0 {
			f.Score = max(0, f.Score-explained)
			f.Severity = milder(f.Severity, Grade(f.Score))
		}
	}
	slices.SortStableFunc(findings, func(a, b report.Finding) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(gravity(b.Severity), gravity(a.Severity)),
			cmp.Compare(a.Rule, b.Rule))
	})
	reconcile(findings)
}

func milder(a, b report.Severity) report.Severity {
	if gravity(a) < gravity(b) {
		return a
	}
	return b
}

func gravity(s report.Severity) int {
	return slices.Index([]report.Severity{report.Info, report.Warning, report.Error}, s)
}

// reconcile leaves no report that recommends a change in one finding and speaks against it in another. What costs
// more says what to do, and the other gives way; but where memory would run out, that has the last word. Findings are
// in order of what is at stake.
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
					why := fmt.Sprintf("%s=%s for now: %s says what is in the way", c.Setting, c.To, findings[j].Rule)
					deny(f, c, why, "")
					return true
				default:
					giveWay(&findings[j], f.Rule, c)
				}
			}
			return false
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

// callSettings are the arguments of a DataLoader that rules recommend values for.
var callSettings = map[string]bool{"num_workers": true, "prefetch_factor": true, "persistent_workers": true, "pin_memory": true, "batch_size": true,
	"in_order": true, "multiprocessing_context": true, "collate_fn": true}

// locate gives a finding that recommends an argument of the training loop's DataLoader the place of that call, where the hook told it. A place
// that the rule itself knows stands.
func locate(e *evidence.Evidence, f *report.Finding) {
	h := e.Facts.Hook
	if f.Location != nil || h == nil || h.Loader.File == "" || h.Loader.Line < 1 {
		return
	}
	for _, c := range f.Recommendations {
		if callSettings[c.Setting] {
			f.Location = &report.Location{File: h.Loader.File, Line: h.Loader.Line}
			return
		}
	}
}
