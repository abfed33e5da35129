package diagnose

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// rank orders findings by what is at stake. What special causes explain is taken off the general ones first, unless a
// setting cures the general one and brings more. A finding follows those whose cure brings more (surpasses), and a
// circumstance each cause of the job's own whose cure brings as much.
func rank(findings []report.Finding, rules map[string]*Rule) {
	cured := map[string]float64{}
	for _, f := range findings {
		cured[f.Rule] = max(cured[f.Rule], likelyGain(f))
	}
	found := slices.Clone(findings)
	// Without the circumstance the job would still spend most of a step on what was found, or a setting brings as much.
	outweighs := func(f report.Finding, rule *Rule) bool {
		without := cured[rule.ID]
		return rule.Circumstance && (without > 0 && Most.Value*likelyGain(f) >= without ||
			curable(f, rule) && likelyGain(f) >= max(without, report.WorthChange))
	}
	for i := range findings {
		f, explained := &findings[i], 0.0
		for _, special := range found {
			by := rules[special.Rule]
			if slices.Contains(by.Explains, f.Rule) && !outweighs(*f, by) && !surpasses(*f, special, by) {
				explained = max(explained, special.Score)
			}
		}
		if explained > 0 {
			f.Score = max(0, f.Score-explained)
			if grade := Grade(f.Score); severityRank(grade) < severityRank(f.Severity) {
				f.Severity = grade
			}
		}
	}
	slices.SortStableFunc(findings, func(a, b report.Finding) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(severityRank(b.Severity), severityRank(a.Severity)),
			cmp.Compare(a.Rule, b.Rule))
	})
	lead(findings, rules)
	for i := len(findings) - 1; i >= 0; i-- {
		first := findings[i]
		for j := len(findings) - 1; j > i; j-- {
			if f := findings[j]; f.Severity != report.Info && outweighs(f, rules[first.Rule]) {
				copy(findings[i:], findings[i+1:j+1])
				findings[j] = first
				break
			}
		}
	}
}

// lead moves each finding behind those whose cure brings more. Each of these has the higher lower end, so that
// no two findings follow each other, and one pass from the front gives an order that holds for all.
func lead(findings []report.Finding, rules map[string]*Rule) {
	for i := range findings {
		first := slices.IndexFunc(findings[i:], func(f report.Finding) bool {
			return !slices.ContainsFunc(findings[i:], func(better report.Finding) bool {
				return surpasses(better, f, rules[f.Rule])
			})
		})
		f := findings[i+first]
		copy(findings[i+1:i+first+1], findings[i:i+first])
		findings[i] = f
	}
}

// surpasses reports whether one finding's cure brings more at worst than another's, of the given rule, at best, or more
// by a change's worth at worst, and no less at best. What the other explains surpasses it by a setting only.
func surpasses(f, other report.Finding, rule *Rule) bool {
	a, b := f.Effect(), other.Effect()
	if a == nil || b == nil || a.Metric != b.Metric || f.Severity == report.Info || !curable(f, rule) {
		return false
	}
	return a.Lo > b.Hi || a.Before > 0 && a.Lo >= report.WorthChange*max(b.Lo, b.Before) && a.Hi >= b.Hi
}

// curable reports whether the job itself can fix what was found beside a finding of the given rule. Of what that would
// explain as well, a setting of the DataLoader can be changed; that a batch would cost less CPU time is no change yet.
func curable(f report.Finding, beside *Rule) bool {
	return !slices.Contains(beside.Explains, f.Rule) ||
		slices.ContainsFunc(f.Recommendations, func(c report.Recommendation) bool { return callSettings[c.Setting] })
}

// likelyGain is how many times the present rate a finding's first cure with a predicted effect makes likely; 0 where
// none is predicted.
func likelyGain(f report.Finding) float64 {
	if e := f.Effect(); e != nil && e.Before > 0 {
		return e.After / e.Before
	}
	return 0
}

func severityRank(s report.Severity) int {
	return slices.Index([]report.Severity{report.Info, report.Warning, report.Error}, s)
}

// callSettings are the arguments of a DataLoader that rules recommend values for.
var callSettings = map[string]bool{"num_workers": true, "prefetch_factor": true, "persistent_workers": true,
	"pin_memory": true, "batch_size": true, "in_order": true, "multiprocessing_context": true, "collate_fn": true}

// locate gives a finding that recommends an argument of the training loop's DataLoader the place of that call, where
// the hook reported it. A place that the rule itself knows stands.
func locate(e *evidence.Evidence, f *report.Finding) {
	call := e.Reported().Loader
	if f.Location == nil && slices.ContainsFunc(f.Recommendations,
		func(c report.Recommendation) bool { return callSettings[c.Setting] }) {
		f.Location = At(call.File, call.Line)
	}
}

// At is a line of the source as a finding's location; nil where it is unknown.
func At(file string, line int) *report.Location {
	if file == "" || line < 1 {
		return nil
	}
	return &report.Location{File: file, Line: line}
}
