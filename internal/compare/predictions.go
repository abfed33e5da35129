package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// advice is one recommendation of BEFORE that has an effect.
type advice struct {
	report.Recommended
	effect  report.Effect
	falls   string // the figure that is lower where it was applied; "": a setting tells
	applied bool
	why     string // it is not applied, or cannot be told to be
}

// predictions holds what BEFORE predicted against what AFTER shows. An effect reported for one change can be judged
// where that change is the only one; where several were made, their effect together is.
func predictions(b, a *report.Report, c *report.Comparison, others float64) ([]report.Prediction, *report.Tally) {
	list := advised(b, a, c)
	var applied []advice
	for _, a := range list {
		if a.applied {
			applied = append(applied, a)
		}
	}
	if len(applied) > 1 { // a figure that others' changes lower as well is no change beside them
		applied = slices.DeleteFunc(applied, func(a advice) bool { return a.falls == metric.WorkerCPUBatch.Name })
	}
	obstacle := inTheWay(b, c, applied)
	beside := alsoAdvised(b, c, applied)
	var out []report.Prediction
	for _, a := range list {
		p := expected([]report.Recommended{a.Recommended}, a.effect)
		switch {
		case !a.applied:
			p.Why = a.why
		case !isOf(applied, a.Setting):
			p.Why = "part of what the other change made"
		case obstacle != "":
			p.Why = obstacle
		case len(applied) > 1:
			p.Why = "made together with other changes: see their effect together"
		default:
			observe(&p, c, others)
			note(&p, beside)
		}
		out = append(out, p)
	}
	if len(applied) > 1 {
		e, why := together(b, applied)
		p := expected(all(applied), e)
		if p.Why = cmp.Or(obstacle, why); p.Why == "" {
			observe(&p, c, others)
			note(&p, beside)
		}
		out = append(out, p)
	}
	return out, tally(out)
}

// expected is a prediction that was not judged yet.
func expected(changes []report.Recommended, e report.Effect) report.Prediction {
	return report.Prediction{Changes: changes, Metric: e.Metric, Unit: e.Unit, Lo: e.Lo, Hi: e.Hi, Basis: e.Basis,
		Outcome: report.Unjudged}
}

func all(list []advice) (out []report.Recommended) {
	for _, a := range list {
		out = append(out, a.Recommended)
	}
	return out
}

// advised lists what was decided to be changed with an effect, and whether it was made: a setting that a report tells
// has the value, or, for what no report can tell, the finding that asked for it is gone.
func advised(b, after *report.Report, c *report.Comparison) (out []advice) {
	for _, d := range b.Decided() {
		if d.Outcome != report.ToChange || d.Effect == nil {
			continue
		}
		a := advice{Recommended: report.Recommended{Setting: d.Setting, To: d.To}, effect: *d.Effect, falls: d.Falls}
		if d.From != nil {
			a.From = *d.From
		}
		if len(d.Rules) > 0 {
			a.Rule = d.Rules[0]
		}
		if a.applied, a.why = made(a.Recommended, d.Falls, b, after, c); a.applied {
			a.why = without(d.Recommendation, after)
			a.applied = a.why == ""
		}
		if a.Rule != "" || a.applied { // what plans alone name nobody need follow
			out = append(out, a)
		}
	}
	return out
}

// values are all settings that a report decided to change, with their values and what is to be changed along with them.
func values(b *report.Report) (out []report.Value) {
	for _, d := range b.Decided() {
		if d.Outcome == report.ToChange {
			out = append(append(out, report.Value{Setting: d.Setting, To: d.To}), d.With...)
		}
	}
	return out
}

// alsoAdvised are the settings that were changed as advised and whose effect has no figure.
func alsoAdvised(b *report.Report, c *report.Comparison, applied []advice) (out []string) {
	for _, s := range c.Settings {
		if !isOf(applied, s.Setting) && asDecided(s, b) {
			out = append(out, s.Setting)
		}
	}
	return out
}

func isOf(list []advice, setting string) bool {
	return slices.ContainsFunc(list, func(a advice) bool { return a.Setting == setting })
}

func asDecided(s report.SettingChange, b *report.Report) bool {
	return slices.ContainsFunc(values(b), func(v report.Value) bool {
		return v.Setting == s.Setting && sameValue(v.To, s.After)
	})
}

// note reports what was changed beside a prediction that was judged.
func note(p *report.Prediction, settings []string) {
	if len(settings) == 0 || p.Outcome == report.Unjudged {
		return
	}
	if p.Why != "" {
		p.Why += "; "
	}
	p.Why += strings.Join(settings, ", ") + " changed as well, as advised: what that brings has no figure"
}

// fell reports whether a figure is surely less than half of what it was: less may follow from another change, or from
// none. known is false where it is not on both sides.
func fell(name string, before, after *report.Report) (yes, known bool) {
	b, ok := before.Metrics[name]
	a, ok2 := after.Metrics[name]
	return a.Hi < b.Lo/2, ok && ok2
}

// made reports whether a recommended change was made, and if not, why that is thought. falls is the figure that is
// lower then, where no setting tells.
func made(r report.Recommended, falls string, before, after *report.Report, c *report.Comparison) (bool, string) {
	if i := slices.IndexFunc(c.Settings, func(s report.SettingChange) bool { return s.Setting == r.Setting }); i >= 0 {
		if sameValue(c.Settings[i].After, r.To) {
			return true, ""
		}
		return false, fmt.Sprintf("%s was changed to %s, not to %s", r.Setting, c.Settings[i].After, r.To)
	}
	if slices.ContainsFunc(c.Conditions, func(x report.Condition) bool { return x.Name == r.Setting }) {
		return true, ""
	}
	if slices.Contains(reportedSettings, r.Setting) || r.Setting == storageTrait || r.Setting == cacheCondition {
		return false, r.Setting + " was not seen to change"
	}
	if !slices.ContainsFunc(c.Rules.Resolved, func(x report.RuleChange) bool { return x.Rule == r.Rule }) {
		return false, "not seen to be made: " + r.Rule + " is still found, or was not judged"
	}
	if yes, known := fell(falls, before, after); known && !yes {
		return false, "not seen to be made: " + r.Rule + " is not found any more, and " + falls + " did not fall"
	} else if known {
		return true, ""
	}
	for _, s := range c.Settings { // it may have resolved the finding as well
		if asDecided(s, before) {
			return false, "not seen to be made: that " + r.Rule + " is not found any more may follow from " + s.Setting
		}
	}
	return true, ""
}

// without says what was not changed along with a recommendation that names it: its effect is that of both. It is ""
// where all was, or where AFTER does not tell.
func without(r report.Recommendation, after *report.Report) string {
	for _, w := range r.With {
		if now := settingOf(after, w.Setting); now != "" && !sameValue(now, w.To) {
			return fmt.Sprintf("%s was changed without %s=%s", r.Setting, w.Setting, w.To)
		}
	}
	return ""
}

// inTheWay says what keeps predictions from being judged: another world, or changes that nobody recommended.
func inTheWay(b *report.Report, c *report.Comparison, applied []advice) string {
	if c.Comparable == report.NotComparable {
		return "not comparable: " + c.Conditions[0].Name + " differs"
	}
	advised := alsoAdvised(b, c, applied)
	for _, s := range c.Settings {
		if !slices.Contains(advised, s.Setting) && !isOf(applied, s.Setting) {
			return "not comparable: " + s.Setting + " was changed as well"
		}
	}
	return ""
}

// together is the effect of several changes: that of the plan that is just these, else at least what the best of them
// brings alone and at most what all recommendations together were told to bring. Where that is not known it says why,
// and the effect has no values.
func together(b *report.Report, applied []advice) (e report.Effect, why string) {
	for _, p := range b.Plans {
		if p.Effect != nil && p.Effect.Lo <= p.Effect.Hi && samePlan(p.Changes, applied) {
			return *p.Effect, ""
		}
	}
	first := applied[0].effect
	unknown := report.Effect{Metric: first.Metric, Unit: first.Unit, Basis: first.Basis}
	if b.Joint == nil {
		return unknown, "no effect of these changes together was predicted"
	}
	e = *b.Joint
	if slices.ContainsFunc(applied, func(a advice) bool { return a.effect.Metric != e.Metric }) {
		return unknown, "their effects are given in different figures"
	}
	best := slices.MaxFunc(applied, func(x, y advice) int { return cmp.Compare(x.effect.Lo, y.effect.Lo) })
	e.Lo = min(best.effect.Lo, e.Hi)
	return e, ""
}

func samePlan(changes []report.Recommendation, applied []advice) bool {
	if len(changes) != len(applied) {
		return false
	}
	for _, r := range changes {
		if !slices.ContainsFunc(applied, func(a advice) bool {
			return a.Setting == r.Setting && sameValue(a.To, r.To)
		}) {
			return false
		}
	}
	return true
}

// observe holds a prediction against the figure after the change, which others may have lowered; see contention.
func observe(p *report.Prediction, c *report.Comparison, others float64) {
	f, ok := observed(p.Metric, c)
	if !ok {
		p.Why = p.Metric + " was not measured on both sides"
		return
	}
	p.Observed = &f
	even := f
	if p.Metric != report.RelativeThroughput && measuredBetter(p.Unit) == more && math.Abs(others) >= othersApart {
		even = undisturbed(f, others)
	}
	switch {
	case f.Center >= p.Lo && f.Center <= p.Hi:
		p.Outcome = report.Inside
	case f.Lo <= p.Hi && f.Hi >= p.Lo:
		p.Outcome, p.Why = report.Uncertain, "the figure lies outside, its own interval reaches in"
	case even.Lo <= p.Hi && even.Hi >= p.Lo:
		p.Outcome, p.Why = report.Uncertain, "the figure lies outside; had other programs taken as much CPU on both "+
			"sides, it may have been inside"
	case f.Center > p.Hi:
		p.Outcome = report.Above
	default:
		p.Outcome = report.Below
	}
}

// undisturbed is a rate's figure with what it would have been had other programs taken as much CPU on both sides.
func undisturbed(f report.Figure, others float64) report.Figure {
	kept := 1 - min(math.Abs(others), mostTaken)
	if others > 0 {
		f.Hi /= kept
	} else {
		f.Lo *= kept
	}
	return f
}

// observed is the figure after the change, or, for a factor, how the rate grew.
func observed(name string, c *report.Comparison) (report.Figure, bool) {
	want := []string{name}
	if name == report.RelativeThroughput {
		want = []string{metric.SamplesPerS.Name, metric.BatchesPerS.Name}
	}
	for _, wanted := range want {
		i := slices.IndexFunc(c.Changes, func(x report.Change) bool {
			return x.Metric == wanted && (x.Probe == "" || usualItem(x))
		})
		if i < 0 {
			continue
		}
		x := c.Changes[i]
		if name != report.RelativeThroughput {
			return acrossRuns(x.After, x.Difference), true
		}
		if x.Change == nil || x.Lo == nil || x.Hi == nil {
			return report.Figure{}, false
		}
		return report.Figure{Center: 1 + *x.Change, Lo: 1 + *x.Lo, Hi: 1 + *x.Hi, Confidence: 1 - alpha,
			Basis: x.After.Basis}, true
	}
	return report.Figure{}, false
}

// usualItem reports whether a benchmark's row is of what its effects are reported for: warm items in random order,
// their file kept open.
func usualItem(x report.Change) bool {
	return x.Probe == report.ProbeRead && x.Labels[report.LabelCache] == "warm" &&
		x.Labels[report.LabelOrder] == "random" && x.Labels[report.LabelHandle] != "reopened"
}

// acrossRuns widens a figure's interval by what runs differ by: the change's own, and not that of the one run that was
// seen.
func acrossRuns(f report.Figure, difference bool) report.Figure {
	allowance, share := normal975*stat.RunSpread, difference && isShare(f)
	if !difference {
		allowance *= math.Abs(f.Center)
	}
	f.Lo, f.Hi = f.Center-math.Hypot(f.Center-f.Lo, allowance), f.Center+math.Hypot(f.Hi-f.Center, allowance)
	if share {
		f.Lo, f.Hi = max(f.Lo, 0), min(f.Hi, 1)
	}
	return f
}

// tally counts what became of each prediction; nil where none was made.
func tally(list []report.Prediction) *report.Tally {
	if len(list) == 0 {
		return nil
	}
	var t report.Tally
	for _, p := range list {
		switch p.Outcome {
		case report.Inside:
			t.Held++
			t.Judged++
		case report.Above, report.Below:
			t.Judged++
		case report.Uncertain:
			t.Uncertain++
		default:
			t.Unjudged++
		}
	}
	return &t
}
