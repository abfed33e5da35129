package document

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/pkg/report"
)

// findingsSection lists the findings with what their recommendations bring.
func findingsSection(r *report.Report) Section {
	list := &Findings{Order: "The largest share of the step first."}
	if r.Benchmark != nil {
		list.Order = "The largest share of an item's time first."
	}
	about := ""
	for _, f := range r.Findings {
		list.List = append(list.List, finding(f))
		if f.Effect() != nil {
			about = effectBasis(r) + ", one change at a time"
		}
	}
	if r.Joint != nil {
		list.Joint = effectText(*r.Joint)
		if r.Joint.Limit != "" {
			list.Joint += ", then limited by " + r.Joint.Limit
		}
	}
	weight := Main
	if r.Benchmark == nil {
		weight = Supporting
	}
	return section("Findings", about, weight, list)
}

// effectBasis says how the shown effects are known: measured where each of them is, predicted else.
func effectBasis(r *report.Report) string {
	if r.Benchmark == nil {
		return "predicted"
	}
	for _, f := range r.Findings {
		if e := f.Effect(); e != nil && e.Basis != report.Measured {
			return "predicted"
		}
	}
	return "measured"
}

var tones = map[report.Severity]Tone{report.Error: Bad, report.Warning: Caution}

func finding(f report.Finding) Finding {
	out := Finding{Rule: f.Rule, Severity: string(f.Severity), Tone: tones[f.Severity], Summary: f.Summary,
		Unhelpful: f.WontHelp}
	if f.Location != nil {
		out.Place = place(f.Location)
	}
	own := f.Effect()
	if own != nil {
		out.Effect, out.Basis = effectText(*own), string(own.Basis)
	}
	for _, c := range f.Recommendations {
		s := recommendation(c)
		if c.Effect != nil && c.Effect != own { // the finding's own stands beside its name
			s = strings.TrimSuffix(s, ".") + ". Alone: " + effectText(*c.Effect)
		}
		out.Changes = append(out.Changes, Change{Text: s, Command: c.Command})
	}
	return out
}

// place is a line of the person's source: "train.py:88".
func place(at *report.Location) string { return at.File + ":" + fmt.Sprint(at.Line) }

func recommendation(c report.Recommendation) string {
	s := c.Setting + ": "
	if c.From != nil {
		s += *c.From + " → "
	}
	s += c.To
	for _, w := range c.With {
		s += ", with " + w.Setting + "=" + w.To
	}
	for _, sentence := range []struct{ head, text string }{{"", c.Why}, {"Note: ", c.Caveat}} {
		if sentence.text != "" {
			s = strings.TrimSuffix(s, ".") + ". " + sentence.head + sentence.text
		}
	}
	return s
}

// tryLine is a DataLoader call with the recommended arguments that may be copied as they are, "" where none is one.
func tryLine(r *report.Report) string {
	value := map[string]string{}
	if o := r.Outlook; o != nil && o.First != "" {
		return "" // it is no argument of the loader that comes first
	}
	for _, c := range r.Ready() {
		value[c.Setting] = c.To
		for _, w := range c.With {
			value[w.Setting] = cmp.Or(value[w.Setting], w.To)
		}
	}
	var args []string
	for _, name := range report.LoaderArguments {
		if v, ok := value[name]; ok {
			args = append(args, name+"="+v)
		}
	}
	if len(args) == 0 {
		return ""
	}
	return "DataLoader(..., " + strings.Join(args, ", ") + ")"
}

// mostNamed is how many rules are named that share a reason: what leaves out more concerns the whole watch, not those
// rules.
const mostNamed = 30

// gapsSection says what could not be judged: each reason once, its cure, and the rules it leaves out, in order of
// first appearance.
func gapsSection(r *report.Report) Section {
	var gaps Gaps
	names := map[Gap][]string{}
	for _, a := range r.Abstained {
		g := Gap{Reason: a.Reason, Cure: a.Cure}
		if names[g] == nil {
			gaps = append(gaps, g)
		}
		names[g] = append(names[g], cmp.Or(a.Rule, strings.Join(a.Missing, ", ")))
	}
	for i, g := range gaps {
		gaps[i].Names = strings.Join(names[g], ", ")
		if n := len(names[g]); n > mostNamed {
			gaps[i].Names = fmt.Sprintf("%d rules", n)
		}
	}
	return section("Not measured", "", Supporting, gaps)
}
