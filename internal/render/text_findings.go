package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// marks are the symbols of the severities; the word stands in `explain` and in the other formats.
var marks = map[report.Severity]struct{ symbol, style string }{
	report.Error:   {"x", red},
	report.Warning: {"!", yellow},
	report.Info:    {"i", dim},
}

func (p *page) findings(r *report.Report) {
	if len(r.Findings) == 0 {
		p.heading("FINDINGS    none")
		return
	}
	p.gap()
	head := "FINDINGS"
	if slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return firstEffect(f) != nil }) {
		p.apart(head, bold, effectBasis(r)+", one change at a time")
	} else {
		p.line(p.paint(bold, head))
	}
	for _, f := range r.Findings {
		p.finding(f)
	}
	if r.Joint != nil {
		p.wrapped(" ", "together: "+effectText(*r.Joint)+limitText(*r.Joint))
	}
}

// effectBasis tells how the shown effects are known: measured where each of them is, predicted else.
func effectBasis(r *report.Report) string {
	measured := r.Benchmark != nil
	for _, f := range r.Findings {
		if e := firstEffect(f); e != nil && e.Basis != report.Measured {
			measured = false
		}
	}
	if measured {
		return "measured"
	}
	return "predicted"
}

// whose time a finding's score is a share of.
func whose(r *report.Report) string {
	if r.Benchmark != nil {
		return "an item's time"
	}
	return "the step"
}

func (p *page) finding(f report.Finding) {
	m := marks[f.Severity]
	head := " " + cmp.Or(m.symbol, "?") + " " + safe(f.Rule)
	if e := firstEffect(f); e != nil {
		p.apart(head, m.style, "→ "+effectText(*e))
	} else {
		p.line(p.paint(m.style, cut(head, width)))
	}
	if f.Location != nil {
		p.wrapped("     at ", place(f.Location))
	}
	p.wrapped("     ", safe(f.Summary))
	for _, c := range changes(f) {
		p.wrapped("     → ", c)
	}
	for _, n := range f.WontHelp {
		p.wrapped("     ✗ ", safe(n))
	}
}

// change is a recommendation in one line of prose.
func change(c report.Recommendation) string {
	s := safe(c.Setting) + ": "
	if c.From != nil {
		s += safe(*c.From) + " → "
	}
	s += safe(c.To)
	for _, w := range c.With {
		s += ", with " + safe(w.Setting) + "=" + safe(w.To)
	}
	for _, sentence := range []struct{ head, text string }{{"", c.Why}, {"Mind: ", c.Caveat}} {
		if sentence.text != "" {
			s = strings.TrimSuffix(s, ".") + ". " + sentence.head + safe(sentence.text)
		}
	}
	return s
}

// firstEffect is the effect that stands beside a finding: that of the change it recommends first, among others to the same end.
func firstEffect(f report.Finding) *report.Effect {
	for _, c := range f.Recommendations {
		if c.Effect != nil {
			return c.Effect
		}
	}
	return nil
}

// changes are a finding's recommendations in lines of prose. An effect stands beside each that is not the finding's own.
func changes(f report.Finding) (out []string) {
	own := firstEffect(f)
	for _, c := range f.Recommendations {
		s := change(c)
		if c.Effect != nil && c.Effect != own {
			s = strings.TrimSuffix(s, ".") + ". Alone: " + effectText(*c.Effect)
		}
		out = append(out, s)
	}
	return out
}

// effectText writes the interval an effect is predicted to land in: "14.2 – 15.1 batches/s". One that tells nothing says so.
func effectText(e report.Effect) string {
	text := effectSpan(e)
	switch {
	case !report.Vague(e.Lo, e.Hi):
		return text
	case e.Metric == "items_per_s":
		return "cannot tell on this budget (" + text + ")"
	}
	return "cannot tell from this watch (" + text + ")"
}

func effectSpan(e report.Effect) string {
	if noun, ok := rateNouns[e.Metric]; ok {
		return unit.Number(e.Lo) + " – " + unit.Number(e.Hi) + " " + noun
	}
	return strings.ReplaceAll(safe(e.Metric), "_", " ") + " " + span(e.Lo, e.Hi, e.Unit)
}

// rateNouns are the rates whose unit reads better as a noun.
var rateNouns = map[string]string{"batches_per_s": "batches/s", "samples_per_s": "samples/s", "items_per_s": "items/s"}

func limitText(e report.Effect) string {
	if e.Limit == "" {
		return ""
	}
	return ", then limited by " + safe(e.Limit)
}

// unseen lists what could not be judged: each reason once, its cure, and the rules it leaves out.
func (p *page) unseen(r *report.Report) {
	groups := groupAbstained(r.Abstained)
	if len(groups) == 0 {
		return
	}
	p.heading("NOT MEASURED")
	for _, g := range groups {
		p.wrapped("  ", g.reason)
		if g.cure != "" {
			p.wrapped("    → ", g.cure)
		}
		p.wrapped("    leaves out ", g.list())
	}
}

type abstainGroup struct {
	reason, cure string
	names        []string
}

// mostNamed is how many rules are named that share a reason: what leaves out more concerns the whole watch, not those rules.
const mostNamed = 30

func (g *abstainGroup) list() string {
	if len(g.names) > mostNamed {
		return fmt.Sprintf("%d rules", len(g.names))
	}
	return strings.Join(g.names, ", ")
}

// groupAbstained gathers what shares a reason and a cure, in order of first appearance.
func groupAbstained(list []report.Abstained) []*abstainGroup {
	var groups []*abstainGroup
	byReason := map[[2]string]*abstainGroup{}
	for _, a := range list {
		key := [2]string{a.Reason, a.Cure}
		g := byReason[key]
		if g == nil {
			g = &abstainGroup{reason: safe(a.Reason), cure: safe(a.Cure)}
			byReason[key] = g
			groups = append(groups, g)
		}
		g.names = append(g.names, safe(cmp.Or(a.Rule, strings.Join(a.Missing, ", "))))
	}
	return groups
}

func (p *page) warnings(r *report.Report) {
	if len(r.Warnings) == 0 {
		return
	}
	p.heading("MIND")
	for _, w := range r.Warnings {
		p.wrapped("  ", safe(w))
	}
}

// loaderArguments are the settings that are arguments of DataLoader, in the order people write them.
var loaderArguments = []string{"batch_size", "num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "in_order"}

// tryLine is a DataLoader call with the recommended arguments that may be copied as they are, "" where none is one.
func tryLine(r *report.Report) string {
	value := map[string]string{}
	for _, c := range r.Ready() {
		value[c.Setting] = c.To
		for _, w := range c.With {
			value[w.Setting] = cmp.Or(value[w.Setting], w.To)
		}
	}
	var args []string
	for _, name := range loaderArguments {
		if v, ok := value[name]; ok {
			args = append(args, name+"="+safe(v))
		}
	}
	if len(args) == 0 {
		return ""
	}
	return "DataLoader(..., " + strings.Join(args, ", ") + ")"
}

func (p *page) closing(r *report.Report) {
	p.gap()
	if t := tryLine(r); t != "" {
		p.wrapped("Try it:   ", t)
	}
	for i, n := range r.Next {
		if i > 0 { // the first stands under the verdict
			p.wrapped("Then:     ", safe(n))
		}
	}
	p.line(p.paint(dim, footer(r)))
}

// footer says how long was watched and what that cost.
func footer(r *report.Report) string {
	var parts []string
	if w := r.Window; w != nil {
		parts = append(parts, unit.Seconds(w.DurationS)+" sampled, "+unit.Seconds(w.WarmupS)+" warm-up dropped")
	}
	if o := r.Tool.Overhead; o != nil {
		parts = append(parts, "pipetune used "+unit.Percent(o.CPURatio)+" of one CPU, "+unit.Bytes(float64(o.MaxRSSBytes)))
	}
	return strings.Join(parts, "; ")
}
