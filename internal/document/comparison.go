package document

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// OfComparison builds the document of a comparison: whether the two sides can be compared first, then the figures,
// what was changed, what became of the findings and of what was predicted.
func OfComparison(c *report.Comparison) *Document {
	d := &Document{Key: "compare:v1:" + comparisonKey(c), Title: "pipetune: " + outcome(c), Tone: comparisonTone(c),
		Trust: comparable(c), Answer: change(c), Method: []string{c.How}, Origin: origin(c.Tool, c.SchemaVersion)}
	for _, s := range []struct {
		name string
		report.Side
	}{{"Before", c.Before}, {"After", c.After}} {
		d.Method = append(d.Method, fmt.Sprintf("%s: %s, %s, %s in all, pipetune %s.", s.name,
			strings.Join(s.Files, ", "), unit.Count(int64(s.Runs), "run", "runs"), unit.Seconds(s.DurationS),
			s.ToolVersion))
		if s.Job != "" {
			d.Setup = append(d.Setup, s.name+": "+s.Job)
		}
	}
	figures, more := changesSections(c)
	d.add(figures, settingsSection(c), rulesSection(c), predictionsSection(c), section("Notes", "", Main,
		List(c.Warnings)))
	d.add(phaseChanges(c), more)
	return d
}

// comparisonKey distinguishes the comment of one job from that of another: its script, else the kind of report.
func comparisonKey(c *report.Comparison) string {
	for _, word := range strings.Fields(c.After.Job) {
		if script, ok := strings.CutSuffix(path.Base(word), ".py"); ok && script != "" {
			return script
		}
	}
	return c.Kind
}

func comparisonTone(c *report.Comparison) Tone {
	switch x := leadingChange(c); {
	case c.Gate != nil && c.Gate.Answer == report.GateFailed, c.Comparable == report.NotComparable:
		return Caution
	case x != nil && x.Answer == report.Worse:
		return Caution
	case x != nil && x.Answer == report.Better:
		return Good
	}
	return Plain
}

// comparable says what may be made of the figures.
func comparable(c *report.Comparison) *Trust {
	t := &Trust{Label: "Comparable", Points: c.Conditions}
	switch c.Comparable {
	case report.Comparable:
		t.Text, t.Tone = "yes: nothing that matters differs but the settings", Good
	case report.WithCare:
		t.Text, t.Tone = "with care: more differs than the settings", Caution
	case report.NotComparable:
		t.Text, t.Tone = "NO: what follows may be due to what differs here", Bad
	}
	return t
}

// gates are a gate's answers in a word.
var gates = map[report.GateAnswer]struct {
	word string
	tone Tone
}{report.GatePassed: {"passed", Good}, report.GateFailed: {"FAILED", Bad}, report.GateUnclear: {"cannot tell", Caution}}

// movements are the answers of a figure in a few words.
var movements = map[report.Answer]string{report.Better: "Improved", report.Worse: "Worse", report.Higher: "Changed",
	report.Lower: "Changed", report.Unclear: "No change the data can tell"}

// change is what the figure did that a reader looks for first, and how sure that is.
func change(c *report.Comparison) *Answer {
	a := &Answer{Label: "Result", Headline: outcome(c), Short: "Nothing to compare", Figure: sentence(outcome(c))}
	if x := leadingChange(c); x != nil {
		a.Short = movements[x.Answer]
		if c.Comparable == report.NotComparable {
			a.Short = "Not comparable" + breaking(c)
		}
		if c.After.Class != "" && x.Answer == report.Better {
			a.Short += ", now " + string(c.After.Class)
		}
		a.Figure = leadingFigure(*x)
	}
	if c.Before.Class != "" || c.After.Class != "" {
		a.Lines = append(a.Lines, Line{Label: "Verdict", Text: verdictOf(c.Before) + " → " + verdictOf(c.After)})
	}
	if g := c.Gate; g != nil {
		text := fmt.Sprintf("%s: %s may lose %s; %s", gates[g.Answer].word, g.Metric, unit.Percent(g.Limit), g.Why)
		a.Lines = append(a.Lines, Line{Label: "Gate", Text: text, Tone: gates[g.Answer].tone})
	}
	return a
}

func verdictOf(s report.Side) string {
	if s.Rule == "" {
		return cmp.Or(string(s.Class), "none")
	}
	return string(s.Class) + " (" + s.Rule + ")"
}

// settingsSection lists what was changed on purpose.
func settingsSection(c *report.Comparison) Section {
	t := &Table{Columns: []Column{{"", false}, {"before", true}, {"after", true}, {"recommended", false}}}
	for _, x := range c.Settings {
		t.add(x.Setting, x.Before, x.After, x.Recommended)
	}
	var none Facts
	if len(t.Rows) == 0 && c.Kind == "diagnose" {
		none = Facts{{"none", "of those both sides know"}}
	}
	return section("Settings changed", "", Main, none, t)
}

// rulesSection is the findings by what became of them; the first three groups are always listed.
func rulesSection(c *report.Comparison) Section {
	whose := "a step's"
	if c.Kind == "bench-io" {
		whose = "an item's"
	}
	if c.Kind != "diagnose" && len(c.Rules.Resolved)+len(c.Rules.New)+len(c.Rules.Remaining) == 0 {
		return Section{}
	}
	var facts Facts
	for i, g := range []struct {
		name  string
		rules []report.RuleChange
	}{
		{"resolved", c.Rules.Resolved}, {"new", c.Rules.New}, {"remaining", c.Rules.Remaining},
		{"not judged now", c.Rules.Unjudged},
	} {
		var names []string
		for _, r := range g.rules {
			names = append(names, ruleText(r))
		}
		if len(names) > 0 || i < 3 {
			facts = append(facts, Fact{g.name, cmp.Or(strings.Join(names, ", "), "none")})
		}
	}
	return section("Findings", "share of "+whose+" time at stake", Main, facts)
}

func ruleText(r report.RuleChange) string {
	score := ""
	switch {
	case r.Before != nil && r.After != nil && max(*r.Before, *r.After) > 0:
		score = unit.Percent(*r.Before) + " → " + unit.Percent(*r.After)
	case r.Before != nil && r.After == nil && *r.Before > 0:
		score = "was " + unit.Percent(*r.Before)
	case r.After != nil && r.Before == nil && *r.After > 0:
		score = unit.Percent(*r.After)
	}
	if note := joined("; ", score, r.Why); note != "" {
		return r.Rule + " (" + note + ")"
	}
	return r.Rule
}

// predictionsSection holds what was predicted against what came.
func predictionsSection(c *report.Comparison) Section {
	list := &Predictions{Tally: tallyText(c.Tally)}
	outcomes := map[report.Outcome]Tone{report.Inside: Good, report.Above: Caution, report.Below: Caution}
	for _, p := range c.Predictions {
		out := Prediction{Change: recommendedText(p.Changes), Predicted: "–", Observed: "–", Tone: outcomes[p.Outcome]}
		if p.Lo != 0 || p.Hi != 0 {
			out.Predicted = predictedText(p)
		}
		if _, rate := rateNouns[p.Metric]; p.Observed != nil && rate {
			out.Observed = unit.Number(p.Observed.Center)
		} else if p.Observed != nil {
			out.Observed = unit.Format(p.Observed.Center, p.Unit)
		}
		out.Outcome = joined(": ", strings.ReplaceAll(string(p.Outcome), "-", " "), p.Why)
		list.List = append(list.List, out)
	}
	return section("Predicted against observed", "", Main, list, predictedRanges(c))
}

func predictedText(p report.Prediction) string {
	return effectText(report.Effect{Metric: p.Metric, Lo: p.Lo, Hi: p.Hi, Unit: p.Unit})
}

// tallyText counts every prediction that was made: those that held and missed, those of which the data cannot tell, and
// those not judged.
func tallyText(t *report.Tally) string {
	if t == nil {
		return "No prediction was made."
	}
	parts := []string{fmt.Sprintf("%d of %s held", t.Held, unit.Count(int64(t.Judged), "prediction", "predictions"))}
	switch made := t.Uncertain + t.Unjudged; {
	case t.Judged > 0:
	case made == 1:
		parts[0] = "The one prediction could not be judged"
	default:
		parts[0] = fmt.Sprintf("None of %d predictions could be judged", made)
	}
	if t.Uncertain > 0 {
		parts = append(parts, fmt.Sprintf("of %d the data cannot tell", t.Uncertain))
	}
	if t.Unjudged > 0 && t.Judged+t.Uncertain > 0 {
		parts = append(parts, fmt.Sprintf("%d not judged", t.Unjudged))
	}
	return strings.Join(parts, "; ") + "."
}

// recommendedText is the changes of a prediction in one line: "num_workers 1 → 2".
func recommendedText(list []report.Recommended) string {
	var parts []string
	for _, r := range list {
		parts = append(parts, joined(" ", r.Setting, r.From, "→", r.To))
	}
	if len(parts) > 1 {
		return "together: " + strings.Join(parts, "; ")
	}
	return strings.Join(parts, "")
}

// phaseChanges shows where a worker's time went on both sides.
func phaseChanges(c *report.Comparison) Section {
	t := &Table{Columns: []Column{{"phase", false}, {"before", true}, {"after", true}}}
	after := map[string]string{}
	for _, f := range c.After.Phases {
		after[f.Name] = phaseText(f)
	}
	for _, f := range c.Before.Phases {
		t.add(f.Name, phaseText(f), cmp.Or(after[f.Name], "–"))
		delete(after, f.Name)
	}
	for _, f := range c.After.Phases {
		if text, left := after[f.Name]; left {
			t.add(f.Name, "–", text)
		}
	}
	return section("Where a worker's time goes", "", Reference, t)
}

func phaseText(f report.Phase) string { return joined(", ", unit.Percent(f.Ratio), phaseTime(f)) }
