package document

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// What a reader needs to act stands on one screen, in the order they act: which job, what is wrong, the change that
// cures it and what that brings, the figures that carry this, and what to do next. All else is supporting.

// Subject names the job: its script, its process, and who makes its batches.
func Subject(j *report.Job) string {
	if j == nil || len(j.Command) == 0 {
		return ""
	}
	parts := []string{report.Script(j.Command)}
	if j.PID > 0 {
		parts = append(parts, "pid "+strconv.Itoa(j.PID))
	}
	if j.Ranks > 1 {
		parts = append(parts, unit.Count(int64(j.Ranks), "rank", "ranks"))
	}
	return strings.Join(append(parts, loads(j.Loader, j.Ranks)...), " · ")
}

// loads says who makes a job's batches, as far as it is known. num_workers is of one trainer.
func loads(l *report.Loader, ranks int) []string {
	switch {
	case l == nil:
		return nil
	case l.FedBy != "":
		return []string{"fed by " + l.FedBy}
	case l.NumWorkers == nil:
		return nil
	case *l.NumWorkers == 0:
		return []string{"no loader workers"}
	}
	text := unit.Count(int64(*l.NumWorkers), "loader worker", "loader workers")
	if ranks > 1 {
		text += " per rank"
	}
	if l.StartMethod != "" {
		text += " (" + l.StartMethod + ")"
	}
	if l.Others > 0 {
		text += " of one DataLoader of " + strconv.Itoa(l.Others+1)
	}
	return []string{text}
}

// lead is the finding that the verdict rests on, nil where it rests on none.
func lead(r *report.Report) *report.Finding {
	if r.Verdict == nil {
		return nil
	}
	i := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Rule == r.Verdict.Rule })
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

// changes are what is decided to be changed, or may help where nothing is certain; that of the leading finding first.
func changes(r *report.Report) (list []report.Decision) {
	first := lead(r)
	of := func(d report.Decision) bool { return first != nil && slices.Contains(d.Rules, first.Rule) }
	for _, d := range r.Decided() {
		if d.Outcome != report.ToLeave && d.Hold != report.HoldFurther && d.Hold != report.HoldInstead {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b report.Decision) int {
		return map[bool]int{true: 0, false: 1}[of(a)] - map[bool]int{true: 0, false: 1}[of(b)]
	})
	return list
}

// cure is the change that the screen puts first, and what else is decided: one that the leading finding asks for, else
// the first of the recommended plan that may be followed as it stands, so that no plan stands below a screen without a
// cure. False where there is neither.
func cure(r *report.Report) (first report.Decision, others []report.Decision, ok bool) {
	f, plan, list := lead(r), r.Recommended(), changes(r)
	i := slices.IndexFunc(list, func(d report.Decision) bool { return f != nil && slices.Contains(d.Rules, f.Rule) })
	if i < 0 && plan != nil {
		i = slices.IndexFunc(list, func(d report.Decision) bool {
			return d.Outcome == report.ToChange && d.Hold == "" && slices.ContainsFunc(plan.Changes,
				func(c report.Recommendation) bool { return c.Setting == d.Setting })
		})
	}
	if i < 0 {
		return first, list, false
	}
	return list[i], slices.Delete(slices.Clone(list), i, i+1), true
}

// madeAt is where the source is that a change is of: the place of the first finding that asks for it and has one.
func madeAt(r *report.Report, d report.Decision) *report.Location {
	for _, f := range r.Findings {
		if f.Location != nil && slices.Contains(d.Rules, f.Rule) {
			return f.Location
		}
	}
	return nil
}

// fix is the change that the screen puts first, and what that brings.
func fix(r *report.Report) (lines []Line) {
	c, _, ok := cure(r)
	if !ok {
		return nil
	}
	text := changeText(c.Recommendation)
	for _, w := range c.With {
		text += ", with " + w.Setting + "=" + w.To
	}
	at := madeAt(r, c)
	if f := lead(r); f != nil && slices.Contains(c.Rules, f.Rule) {
		at = f.Location
	}
	if at != nil {
		text += " (" + place(at) + ")"
	}
	lines = append(lines, Line{Label: "Fix", Text: text, Copy: c.Command})
	if c.Caveat != "" {
		lines = append(lines, Line{Label: "Note", Text: sentence(c.Caveat)})
	}
	if e := c.Effect; e != nil {
		text := effectText(*e) + ", " + string(e.Basis)
		if _, rate := rateNouns[e.Metric]; rate && e.Before > 0 && !report.Vague(e.Lo, e.Hi) {
			text = unit.Number(e.Before) + " → " + text
		}
		if e.Lo < e.Before {
			text += ", and it may bring nothing"
		}
		return append(lines, Line{Label: "Expect", Text: text})
	}
	return append(lines, Line{Label: "Expect", Text: "what it brings is not known"})
}

// mostAfterwards bounds the changes that stand behind the first.
const mostAfterwards = 2

// afterwardsSection lists what else is decided, without the reasons.
func afterwardsSection(r *report.Report) Section {
	first, list, cured := cure(r)
	byGain(list)
	title := "Then, in this order"
	if !cured {
		title = "What may help, in this order"
	}
	var facts Facts
	shown := map[string]bool{}
	for _, d := range list {
		if shown[d.Setting] {
			continue
		}
		if cured && (d.Hold == report.HoldCostsNothing || named(first, d)) || len(facts) == mostAfterwards ||
			aboutTheWatch(d) {
			continue
		}
		effect := "what it brings is not known"
		switch workers := r.Decision("num_workers"); {
		case d.Effect != nil:
			effect = effectText(*d.Effect)
		case workers != nil && workers.Outcome == report.ToChange && slices.Contains(report.NeedWorkers, d.Setting):
			effect = "only along with num_workers"
		}
		text := changeText(d.Recommendation)
		for _, o := range list {
			if named(d, o) && named(o, d) { // what they bring was measured of all of them together
				text += ", " + changeText(o.Recommendation)
				shown[o.Setting] = true
			}
		}
		if d.Effect != nil && d.Effect.Basis == report.Measured {
			effect += ", measured"
		}
		facts = append(facts, Fact{strconv.Itoa(len(facts) + 1), text + ": " + effect})
	}
	return section(title, "predicted, each alone", Main, facts)
}

// byGain puts changes whose effect is known in the order of it, the largest first. The others keep their places.
func byGain(list []report.Decision) {
	known := slices.DeleteFunc(slices.Clone(list), func(d report.Decision) bool {
		return d.Effect == nil || d.Effect.Before <= 0
	})
	slices.SortStableFunc(known, func(a, b report.Decision) int {
		return cmp.Compare(b.Effect.After/b.Effect.Before, a.Effect.After/a.Effect.Before)
	})
	for i, d := range list {
		if d.Effect != nil && d.Effect.Before > 0 {
			list[i], known = known[0], known[1:]
		}
	}
}

// aboutTheWatch reports whether a change is one of how the job is watched, which is no help to it.
func aboutTheWatch(d report.Decision) bool {
	return len(d.Rules) > 0 && strings.HasPrefix(d.Rules[0], "quality/")
}

// named reports whether a change has another one along with it, to the same value.
func named(first, d report.Decision) bool {
	return slices.ContainsFunc(first.With, func(w report.Value) bool { return w.Setting == d.Setting && w.To == d.To })
}

// aside is what a sentence says in parentheses.
var aside = regexp.MustCompile(` \([^()]*\)`)

// useless names what would not help, without the reasons and what else --verbose says.
func useless(f *report.Finding) []Line {
	if f == nil {
		return nil
	}
	var names []string
	for _, text := range f.WontHelp {
		name, _, _ := strings.Cut(aside.ReplaceAllString(text, ""), ": ")
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	return []Line{{Label: "No help", Text: strings.Join(names, "; ")}}
}

// more says what the screen leaves out.
func more(r *report.Report) string {
	text := "every figure and finding with its reasons"
	if n := len(r.Warnings); n > 0 {
		text += ", " + unit.Count(int64(n), "warning", "warnings")
	}
	if n := len(r.Abstained); n > 0 {
		text += ", why " + unit.Count(int64(n), "rule", "rules") + " could not judge"
	}
	return text
}
