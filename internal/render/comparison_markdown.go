package render

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// ComparisonMarkdown writes a comparison to be pasted into a pull request: a key for bots, one heading, one alert, one table, what was changed and what
// became of it, and the rest folded away. Folded parts are dropped, last first, where the whole would grow past what a comment may hold.
func ComparisonMarkdown(w io.Writer, c *report.Comparison, _ Options) error {
	body := mdOutcome(c) + mdConditions(c) + mdChanges(c) + mdRate(c) + mdSettings(c) + mdRules(c) + mdPredictions(c)
	folded := []string{mdChangedPhases(c), mdAllChanges(c), mdComparedHow(c)}
	foot := fmt.Sprintf("\n<sub>pipetune %s · schema %s · paths and host names redacted</sub>\n", md(c.Tool.Version), md(c.SchemaVersion))
	if _, err := io.WriteString(w, fitComment(body, folded, foot)); err != nil {
		return fmt.Errorf("writing comparison: %w", err)
	}
	return nil
}

func mdOutcome(c *report.Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- pipetune:compare:v1:%s -->\n### pipetune: %s\n\n> [!%s]\n> %s\n", comparisonKey(c), md(cut(outcome(c), headingColumns)), comparisonAlert(c), mdHeadline(c))
	for _, w := range c.Warnings {
		fmt.Fprintf(&b, "> Mind: %s\n", md(w))
	}
	if c.Gate != nil {
		fmt.Fprintf(&b, ">\n> **Gate %s**\n", md(gateText(c.Gate)))
	}
	return b.String()
}

// comparisonKey tells the comment of one job from that of another: its script, else the kind of report.
func comparisonKey(c *report.Comparison) string {
	for _, word := range strings.Fields(c.After.Job) {
		if script, ok := strings.CutSuffix(path.Base(word), ".py"); ok && mdKey(script) != "" {
			return cut(mdKey(script), keyLength)
		}
	}
	return mdKey(c.Kind)
}

// keyLength bounds a key; a script's name is rarely longer.
const keyLength = 40

// headingColumns keeps a heading to one line of a comment.
const headingColumns = 200

// mdHeadline says in the alert what the figure did and how sure that is.
func mdHeadline(c *report.Comparison) string {
	x := leadingChange(c)
	if x == nil {
		return "**Nothing to compare.** No figure was measured on both sides."
	}
	words := map[report.Answer]string{report.Better: "Improved", report.Worse: "Worse", report.Higher: "Changed", report.Lower: "Changed", report.Unclear: "No change the data can tell"}
	word := words[x.Answer]
	if c.Comparable == report.NotComparable {
		word = "Not comparable" + breaking(c)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s", md(word))
	if c.After.Class != "" && x.Answer == report.Better {
		fmt.Fprintf(&b, ", now %s", md(string(c.After.Class)))
	}
	fmt.Fprintf(&b, ".** %s: %s → %s", md(changeName(*x)), md(changeValue(x.Before.Center, *x)), md(changeValue(x.After.Center, *x)))
	if _, interval := changeText(*x); interval != "" {
		fmt.Fprintf(&b, " (95 %% CI %s", md(interval))
		if x.P != nil {
			fmt.Fprintf(&b, ", p %s", md(strings.Replace("= "+chanceText(x.P), "= <", "< ", 1)))
		}
		fmt.Fprintf(&b, ", n = %d + %d %s)", x.NBefore, x.NAfter, md(x.Method))
	}
	return b.String() + "."
}

func comparisonAlert(c *report.Comparison) string {
	x := leadingChange(c)
	switch {
	case c.Gate != nil && c.Gate.Answer == report.GateFailed, c.Comparable == report.NotComparable, x != nil && x.Answer == report.Worse:
		return "WARNING"
	case x != nil && x.Answer == report.Better:
		return "TIP"
	}
	return "NOTE"
}

func mdConditions(c *report.Comparison) string {
	words := map[report.Comparability]string{report.Comparable: "yes", report.WithCare: "with care", report.NotComparable: "no"}
	if len(c.Conditions) == 0 {
		return "\n**Comparable**: yes.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n**Comparable**: %s.\n\n", words[c.Comparable])
	for _, x := range c.Conditions {
		kind := ""
		if x.Breaks {
			kind = "**breaks**: "
		}
		fmt.Fprintf(&b, "- %s%s: %s → %s. %s\n", kind, md(x.Name), md(x.Before), md(x.After), md(sentence(x.Consequence)))
	}
	return b.String()
}

// mdShown is how many rows the table that is not folded holds.
const mdShown = 16

func mdChanges(c *report.Comparison) string {
	head, _ := headChanges(c)
	if len(head) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n| | before | after | change | 95 % CI | p | |\n|:--|--:|--:|--:|--:|--:|:--|\n")
	for _, x := range head[:min(mdShown, len(head))] {
		b.WriteString(mdChange(x))
	}
	if v := verdicts(c); v != "" {
		fmt.Fprintf(&b, "| Verdict | %s | %s | | | | |\n", md(verdictOf(c.Before)), md(verdictOf(c.After)))
	}
	b.WriteString("\n~: the data cannot tell a change from chance; pt: percentage points.\n")
	return b.String()
}

func mdChange(x report.Change) string {
	change, interval := changeText(x)
	change = md(change)
	if x.Answer == report.Better || x.Answer == report.Worse {
		change = "**" + change + "**"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", md(changeName(x)), md(figureText(x.Before, x)), md(figureText(x.After, x)), change, md(interval),
		md(chanceText(x.P)), md(answerWord(x)))
}

// mdRate draws the leading rate. The table has the same figures; only numbers and our own words go into the chart.
func mdRate(c *report.Comparison) string {
	x := leadingChange(c)
	if x == nil || x.Before.Center < 0 || x.After.Center < 0 || x.Unit != "1/s" {
		return ""
	}
	title := cmp.Or(map[string]string{"samples_per_s": "Samples per second", "batches_per_s": "Batches per second", "items_per_s": "Items per second"}[x.Metric], "Per second")
	axis, bars, most := []string{`"before"`, `"after"`}, []float64{x.Before.Center, x.After.Center}, max(x.Before.Center, x.After.Center)
	if f := c.After.Free; f != nil && c.After.FreeOf == x.Metric && *f > 0 && *f < 100*most {
		axis, bars, most = append(axis, `"if data were free"`), append(bars, *f), max(most, *f)
	}
	if !(most > 0) || most > 1e12 {
		return ""
	}
	var numbers []string
	for _, y := range bars {
		numbers = append(numbers, strconv.FormatFloat(y, 'f', 2, 64))
	}
	const headroom = 1.1
	return fmt.Sprintf("\n```mermaid\nxychart-beta\n    title %q\n    x-axis [%s]\n    y-axis \"per second\" 0 --> %s\n    bar [%s]\n```\n",
		title, strings.Join(axis, ", "), strconv.FormatFloat(headroom*most, 'f', 2, 64), strings.Join(numbers, ", "))
}

func mdSettings(c *report.Comparison) string {
	if len(c.Settings) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n**What changed**\n\n| setting | before | after | recommended |\n|:--|:--|:--|:--|\n")
	for _, s := range c.Settings {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", md(s.Setting), md(s.Before), md(s.After), md(s.Recommended))
	}
	return b.String()
}

func mdRules(c *report.Comparison) string {
	if c.Kind != "diagnose" && len(c.Rules.Resolved)+len(c.Rules.New)+len(c.Rules.Remaining) == 0 {
		return ""
	}
	var parts []string
	for _, g := range ruleGroups(c) {
		parts = append(parts, "**"+strings.ToUpper(g.name[:1])+g.name[1:]+"** "+md(g.text))
	}
	return "\n" + strings.Join(parts, " · ") + "\n"
}

func mdPredictions(c *report.Comparison) string {
	if len(c.Predictions) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n**Predicted against observed**\n\n| change | predicted | observed | |\n|:--|--:|--:|:--|\n")
	for _, p := range c.Predictions {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", md(recommendedText(p.Changes)), md(predictedText(p)), md(observedText(p)), md(outcomeText(p)))
	}
	return b.String() + "\n" + tallyText(c.Tally) + "\n"
}

// mdChangedPhases shows where a worker's time went on both sides.
func mdChangedPhases(c *report.Comparison) string {
	after := map[string]report.Phase{}
	for _, f := range c.After.Phases {
		after[f.Name] = f
	}
	var b strings.Builder
	row := func(name, x, y string) { fmt.Fprintf(&b, "| %s | %s | %s |\n", md(name), md(x), md(y)) }
	for _, f := range c.Before.Phases {
		y := "–"
		if g, ok := after[f.Name]; ok {
			y = phaseText(g)
			delete(after, f.Name)
		}
		row(f.Name, phaseText(f), y)
	}
	for _, f := range c.After.Phases {
		if _, left := after[f.Name]; left {
			row(f.Name, "–", phaseText(f))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return details("Where a worker&#39;s time goes", "| phase | before | after |\n|:--|--:|--:|\n"+b.String())
}

func phaseText(f report.Phase) string {
	return strings.TrimSuffix(unit.Percent(f.Ratio)+", "+phaseTime(f), ", ")
}

// mdAllChanges lists the figures that the first table has no room for.
func mdAllChanges(c *report.Comparison) string {
	head, rest := headChanges(c)
	more := slices.Concat(head[min(mdShown, len(head)):], rest)
	if len(more) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| | before | after | change | 95 % CI | p | |\n|:--|--:|--:|--:|--:|--:|:--|\n")
	for _, x := range more {
		b.WriteString(mdChange(x))
	}
	return details("More figures", b.String())
}

func mdComparedHow(c *report.Comparison) string {
	var b strings.Builder
	for _, l := range howLines(c) {
		fmt.Fprintf(&b, "- %s\n", md(l))
	}
	for _, s := range []struct{ name, job string }{{"Before", c.Before.Job}, {"After", c.After.Job}} {
		if s.job != "" {
			fmt.Fprintf(&b, "- %s: %s\n", s.name, md(s.job))
		}
	}
	return details("How it was measured", b.String())
}
