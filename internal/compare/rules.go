package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pipetune/pipetune/pkg/report"
)

// ruleChanges says which findings went, came and stayed. A rule counts as found on a side where more than half of its
// runs found it: one noisy run of five neither resolves nor brings a finding.
func ruleChanges(before, after []*report.Report) report.RuleChanges {
	b, a := found(before), found(after)
	var out report.RuleChanges
	for _, rule := range order(b, a) {
		c := report.RuleChange{Rule: rule}
		if x, ok := b[rule]; ok {
			c.Before = &x
		}
		if y, ok := a[rule]; ok {
			c.After = &y
		}
		switch why := abstained(after, rule); {
		case c.Before != nil && c.After != nil:
			out.Remaining = append(out.Remaining, c)
		case c.Before == nil:
			out.New = append(out.New, c)
		case why != "":
			c.Why = why
			out.Unjudged = append(out.Unjudged, c)
		default:
			out.Resolved = append(out.Resolved, c)
		}
	}
	return out
}

// found gives the median score of each rule that more than half of the runs found.
func found(runs []*report.Report) map[string]float64 {
	scores := map[string][]float64{}
	for _, r := range runs {
		here := map[string]float64{}
		for _, f := range r.Findings {
			here[f.Rule] = max(here[f.Rule], f.Score)
		}
		for rule, score := range here {
			scores[rule] = append(scores[rule], score)
		}
	}
	out := map[string]float64{}
	for rule, list := range scores {
		if 2*len(list) > len(runs) {
			slices.Sort(list)
			out[rule] = list[len(list)/2]
		}
	}
	return out
}

// order is by what is at stake on either side, then by name.
func order(b, a map[string]float64) []string {
	all := maps.Clone(b)
	maps.Copy(all, a)
	return slices.SortedFunc(maps.Keys(all), func(x, y string) int {
		return cmp.Or(cmp.Compare(max(b[y], a[y]), max(b[x], a[x])), cmp.Compare(x, y))
	})
}

// abstained says why a rule was not judged in the runs, "" where it was in one of them.
func abstained(runs []*report.Report, rule string) string {
	why := ""
	for _, r := range runs {
		i := slices.IndexFunc(r.Abstained, func(x report.Abstained) bool { return x.Rule == rule })
		if i < 0 {
			return ""
		}
		why = cmp.Or(r.Abstained[i].Reason, "its signals were missing")
	}
	return why
}
