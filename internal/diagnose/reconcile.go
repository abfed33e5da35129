package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/pkg/report"
)

// reconcile leaves no report that recommends a change in one finding and speaks against it in another. What costs more says what to do, and
// the other gives way; but where memory would run out, that has the last word. Findings are in order of what is at stake.
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
					deny(f, c, fmt.Sprintf("%s=%s for now: %s says what is in the way", c.Setting, c.To, findings[j].Rule))
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

// deny takes back a recommendation: the finding says against it what is in the way.
func deny(f *report.Finding, c report.Recommendation, line string) {
	f.Unhelpful = append(f.Unhelpful, report.Unhelpful{Setting: c.Setting, Direction: report.To, To: c.To, Why: line})
	f.WontHelp = append(f.WontHelp, line)
}

// sayOnce leaves what will not help in words where it is said first: findings that share a reason speak against the same changes.
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
