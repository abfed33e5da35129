package render

import (
	"fmt"
	"io"
	"slices"

	"github.com/pipetune/pipetune/pkg/report"
)

// ComparisonText writes a comparison for a terminal: whether the two sides can be compared first, then the figures, what was changed, what
// became of the findings and of what was predicted.
func ComparisonText(w io.Writer, c *report.Comparison, o Options) error {
	p := &page{color: o.Color}
	p.comparable(c)
	p.changes(c)
	p.section(settingsSection(c))
	if c.Kind == "diagnose" || len(c.Rules.Resolved)+len(c.Rules.New)+len(c.Rules.Remaining) > 0 {
		p.section(section{title: "FINDINGS", about: "share of " + stake(c) + " time at stake", facts: ruleGroups(c)})
	}
	p.predictions(c)
	p.gate(c)
	p.mind(c)
	p.gap()
	for _, l := range howLines(c) {
		p.wrapped("", safe(l))
	}
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("writing comparison: %w", err)
	}
	return nil
}

func (p *page) comparable(c *report.Comparison) {
	style := map[report.Comparability]string{report.Comparable: green, report.WithCare: yellow, report.NotComparable: red}[c.Comparable]
	p.wrapped("COMPARABLE  ", p.paint(style, comparableWords[c.Comparable]))
	for _, x := range c.Conditions {
		mark := " ! "
		if x.Breaks {
			mark = " x "
		}
		p.wrapped(mark, safe(x.Name)+": "+safe(x.Before)+" → "+safe(x.After))
		p.wrapped("     ", safe(x.Consequence))
	}
	p.wrapped("RESULT      ", safe(outcome(c)))
	if v := verdicts(c); v != "" {
		p.wrapped("Verdict     ", safe(v))
	}
}

// shownChanges is how many rows a terminal shows; a benchmark has many more, and those that changed come first then.
const shownChanges = 24

// shownNotes bounds the notes below the table.
const shownNotes = 4

func (p *page) changes(c *report.Comparison) {
	head, rest := headChanges(c)
	rows := changeRows(head)
	if len(rows) == 0 {
		return
	}
	s := section{title: "FIGURES", about: "~: cannot tell; pt: percentage points; intervals at 95 %"}
	s.columns = []column{{"", false}, {"before", true}, {"after", true}, {"change", true}, {"interval", true}, {"p", true}, {"n", true}, {"", false}}
	kept := rows
	if len(rows) > shownChanges {
		kept = nil
		for _, changed := range []bool{true, false} {
			for _, r := range rows {
				if (r.answer != "") == changed && len(kept) < shownChanges {
					kept = append(kept, r)
				}
			}
		}
	}
	if n := len(rows) - len(kept) + len(rest); n > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s more: --format json has all.", plural(int64(n), "figure")))
	}
	for _, r := range kept {
		s.rows = append(s.rows, entry{cells: []string{r.name, r.before, r.after, r.change, r.interval, r.p, r.n, r.answer}})
	}
	for _, x := range head {
		if x.Note != "" && len(s.notes) < shownNotes {
			s.notes = append(s.notes, changeName(x)+": "+x.Note+".")
		}
	}
	if !slices.ContainsFunc(c.Changes, func(x report.Change) bool { return x.P != nil }) {
		s = withoutColumn(s, 5)
	}
	p.section(s)
}

// stake is whose time a finding's score is a share of.
func stake(c *report.Comparison) string {
	if c.Kind == "bench-io" {
		return "an item's"
	}
	return "a step's"
}

// withoutColumn leaves a column out of a table: one that would hold nothing.
func withoutColumn(s section, i int) section {
	s.columns = slices.Delete(slices.Clone(s.columns), i, i+1)
	for r := range s.rows {
		s.rows[r].cells = slices.Delete(slices.Clone(s.rows[r].cells), i, i+1)
	}
	return s
}

// settingsSection lists what was changed on purpose.
func settingsSection(c *report.Comparison) section {
	s := section{title: "SETTINGS CHANGED", columns: []column{{"", false}, {"before", true}, {"after", true}, {"recommended", false}}}
	for _, x := range c.Settings {
		s.rows = append(s.rows, entry{cells: []string{x.Setting, x.Before, x.After, x.Recommended}})
	}
	if len(s.rows) == 0 && c.Kind == "diagnose" {
		s.facts = []fact{{"none", "of those both sides know"}}
	}
	return s
}

func (p *page) predictions(c *report.Comparison) {
	if len(c.Predictions) == 0 {
		return
	}
	p.heading("PREDICTED AGAINST OBSERVED")
	for _, x := range c.Predictions {
		p.wrapped("  ", safe(recommendedText(x.Changes)))
		p.wrapped("     ", "predicted "+safe(predictedText(x))+", observed "+safe(observedText(x)))
		style := map[report.Outcome]string{report.Inside: green, report.Above: yellow, report.Below: yellow}[x.Outcome]
		p.wrapped("     ", p.paint(style, safe(outcomeText(x))))
	}
	p.wrapped("  ", tallyText(c.Tally))
}

func (p *page) gate(c *report.Comparison) {
	if c.Gate == nil {
		return
	}
	style := map[report.GateAnswer]string{report.GatePassed: green, report.GateFailed: red, report.GateUnclear: yellow}[c.Gate.Answer]
	p.gap()
	p.wrapped("GATE  ", p.paint(style, safe(gateText(c.Gate))))
}

func (p *page) mind(c *report.Comparison) {
	if len(c.Warnings) == 0 {
		return
	}
	p.heading("MIND")
	for _, w := range c.Warnings {
		p.wrapped("  ", safe(w))
	}
}
