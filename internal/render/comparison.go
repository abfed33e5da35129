package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// ComparisonFormat is one way to write a comparison.
type ComparisonFormat struct {
	Name   string // as in --format
	Suffix string // of -o files, "" where it is for the standard output alone
	Help   string
	Write  func(w io.Writer, c *report.Comparison, o Options) error
}

// ComparisonFormats is the table of all formats of comparisons; the first is the default.
func ComparisonFormats() []ComparisonFormat {
	return []ComparisonFormat{
		{"text", ".txt", "for a terminal, 80 columns", ComparisonText},
		{"json", ".json", "the whole comparison, for programs", ComparisonJSON},
		{"md", ".md", "Markdown, to paste into a pull request", ComparisonMarkdown},
		{"github", "", "one annotation of GitHub Actions", ComparisonAnnotation},
	}
}

// ComparisonJSON writes the comparison as it is.
func ComparisonJSON(w io.Writer, c *report.Comparison, _ Options) error {
	return report.EncodeComparison(w, c)
}

// outcome is the whole comparison in one line, raw.
func outcome(c *report.Comparison) string {
	x := leadingChange(c)
	if x == nil {
		return "no figure was measured on both sides"
	}
	name := changeName(*x)
	if x.Change == nil {
		return name + ": the change cannot be told"
	}
	change, interval := changeText(*x)
	switch {
	case c.Comparable == report.NotComparable:
		return fmt.Sprintf("%s %s → %s: not comparable%s", name, changeValue(x.Before.Center, *x), changeValue(x.After.Center, *x), breaking(c))
	case x.Answer == report.Unclear && interval == "":
		return name + ": cannot tell" + because(x.Note)
	case x.Answer == report.Unclear:
		return fmt.Sprintf("%s: no change the data can tell (%s)", name, interval)
	}
	text := fmt.Sprintf("%s %s → %s, %s", name, changeValue(x.Before.Center, *x), changeValue(x.After.Center, *x), change)
	if interval != "" {
		text += " (" + interval + ")"
	}
	return text + ": " + string(x.Answer)
}

// breaking names what makes the figures incomparable.
func breaking(c *report.Comparison) string {
	for _, x := range c.Conditions {
		if x.Breaks {
			return ", " + x.Name + " differs"
		}
	}
	return ""
}

func because(note string) string {
	if note == "" {
		return ""
	}
	return ", " + note
}

// comparableWords say what may be made of the figures.
var comparableWords = map[report.Comparability]string{
	report.Comparable:    "yes: nothing that matters differs but the settings",
	report.WithCare:      "with care: more differs than the settings",
	report.NotComparable: "NO: what follows may be due to what differs here",
}

// recommendedText is the changes of a prediction in one line: "num_workers 1 → 2".
func recommendedText(list []report.Recommended) string {
	var parts []string
	for _, r := range list {
		s := r.Setting + " "
		if r.From != "" {
			s += r.From + " "
		}
		parts = append(parts, s+"→ "+r.To)
	}
	if len(parts) > 1 {
		return "together: " + strings.Join(parts, "; ")
	}
	return strings.Join(parts, "")
}

// predictedText is what was told to come, and observedText what came.
func predictedText(p report.Prediction) string {
	if p.Lo == 0 && p.Hi == 0 {
		return "–"
	}
	return effectText(report.Effect{Metric: p.Metric, Lo: p.Lo, Hi: p.Hi, Unit: p.Unit})
}

func observedText(p report.Prediction) string {
	if p.Observed == nil {
		return "–"
	}
	if _, ok := rateNouns[p.Metric]; ok {
		return unit.Number(p.Observed.Center)
	}
	return unit.Format(p.Observed.Center, p.Unit)
}

// outcomeText is a prediction's outcome in words: "inside", "not judged: …".
func outcomeText(p report.Prediction) string {
	word := strings.ReplaceAll(string(p.Outcome), "-", " ")
	if p.Why != "" {
		word += ": " + p.Why
	}
	return word
}

func tallyText(t *report.Tally) string {
	if t == nil {
		return "No prediction could be judged."
	}
	return fmt.Sprintf("%d of %s held.", t.Held, plural(int64(t.Judged), "prediction"))
}

// ruleText is one rule with its scores, the shares of time at stake.
func ruleText(r report.RuleChange) string {
	var notes []string
	switch {
	case r.Before != nil && r.After != nil && max(*r.Before, *r.After) > 0:
		notes = append(notes, unit.Percent(*r.Before)+" → "+unit.Percent(*r.After))
	case r.Before != nil && r.After == nil && *r.Before > 0:
		notes = append(notes, "was "+unit.Percent(*r.Before))
	case r.After != nil && r.Before == nil && *r.After > 0:
		notes = append(notes, unit.Percent(*r.After))
	}
	if r.Why != "" {
		notes = append(notes, r.Why)
	}
	if len(notes) == 0 {
		return r.Rule
	}
	return r.Rule + " (" + strings.Join(notes, "; ") + ")"
}

// ruleGroups are the findings by what became of them; the first three are always told.
func ruleGroups(c *report.Comparison) []fact {
	var out []fact
	for _, g := range []struct {
		name   string
		rules  []report.RuleChange
		always bool
	}{{"resolved", c.Rules.Resolved, true}, {"new", c.Rules.New, true}, {"remaining", c.Rules.Remaining, true}, {"not judged now", c.Rules.Unjudged, false}} {
		var names []string
		for _, r := range g.rules {
			names = append(names, ruleText(r))
		}
		if len(names) > 0 || g.always {
			out = append(out, fact{g.name, cmp.Or(strings.Join(names, ", "), "none")})
		}
	}
	return out
}

// verdicts says what class each side was of.
func verdicts(c *report.Comparison) string {
	if c.Before.Class == "" && c.After.Class == "" {
		return ""
	}
	return verdictOf(c.Before) + " → " + verdictOf(c.After)
}

func verdictOf(s report.Side) string {
	if s.Rule == "" {
		return cmp.Or(string(s.Class), "none")
	}
	return string(s.Class) + " (" + s.Rule + ")"
}

// gateText is what the gate says in one line.
func gateText(g *report.Gate) string {
	limit := unit.Percent(g.Limit)
	return fmt.Sprintf("%s: %s may lose %s; %s", map[report.GateAnswer]string{report.GatePassed: "passed", report.GateFailed: "FAILED", report.GateUnclear: "cannot tell"}[g.Answer],
		g.Metric, limit, g.Why)
}

// howLines say how the sides were measured and by which test they were held against each other.
func howLines(c *report.Comparison) []string {
	lines := []string{c.How}
	for _, s := range []struct {
		name string
		side report.Side
	}{{"Before", c.Before}, {"After", c.After}} {
		lines = append(lines, fmt.Sprintf("%s: %s, %s, %s in all, pipetune %s.", s.name, strings.Join(s.side.Files, ", "), plural(int64(s.side.Runs), "run"),
			unit.Seconds(s.side.DurationS), s.side.ToolVersion))
	}
	return lines
}
