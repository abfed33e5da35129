package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// maxMarkdown keeps a report under the 65,536 characters forges accept in a comment.
const maxMarkdown = 60_000

// Markdown writes the report to be pasted into a pull request: a key for bots, one heading, one alert, one table, the findings, and the
// rest folded away. Folded parts are dropped, last first, where the whole would grow past what a comment may hold.
func Markdown(w io.Writer, r *report.Report, _ Options) error {
	body, folded := mdDiagnosis(r)
	if r.Benchmark != nil {
		body, folded = mdBench(r)
	}
	foot := fmt.Sprintf("\n<sub>pipetune %s · schema %s · paths and host names redacted</sub>\n", md(r.Tool.Version), md(r.SchemaVersion))
	if _, err := io.WriteString(w, fitComment(body, folded, foot)); err != nil {
		return fmt.Errorf("writing report: %w", err)
	}
	return nil
}

// fitComment puts a comment together and keeps it under maxMarkdown: folded parts go first, the last of them before the others, then the
// end of the body.
func fitComment(body string, folded []string, foot string) string {
	folded = slices.DeleteFunc(folded, func(part string) bool { return part == "" })
	cut := ""
	for len(folded) > 0 && len(body)+len(foot)+size(folded)+len(cut) > maxMarkdown {
		folded = folded[:len(folded)-1]
		cut = "\nSome sections were left out to keep this comment short enough.\n"
	}
	if len(body)+len(foot)+len(cut) > maxMarkdown {
		cut = "\nThe rest was cut to keep this comment short enough.\n"
		body = strings.ToValidUTF8(body[:maxMarkdown-len(foot)-len(cut)], "")
		body = body[:strings.LastIndexByte(body, '\n')+1]
	}
	return body + strings.Join(folded, "") + cut + foot
}

// mdDiagnosis is a report of diagnose: what always stands there, and the parts that are folded away.
func mdDiagnosis(r *report.Report) (body string, folded []string) {
	return mdHead(r) + mdFigures(r) + mdFindings(r) + mdPlans(r), []string{mdPatch(r), mdTime(r), mdLoader(r), mdUnseen(r), mdHow(r)}
}

func size(parts []string) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}

func mdHead(r *report.Report) string {
	v := r.Verdict
	if v == nil {
		return "<!-- pipetune:v1 -->\n### pipetune\n"
	}
	kind := "WARNING"
	switch v.Class {
	case report.GPUBound, report.Balanced:
		kind = "TIP"
	case report.Inconclusive:
		kind = "NOTE"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- pipetune:%s:v1 -->\n### pipetune: %s\n\n> [!%s]\n> **%s** (confidence: %s). %s\n", mdKey(r.Kind), md(headline(r)), kind,
		md(strings.ToUpper(string(v.Class))), md(string(v.Confidence)), md(v.Statement))
	for _, d := range v.Doubts {
		fmt.Fprintf(&b, "> Doubt: %s\n", md(d))
	}
	return b.String()
}

// mdKey keeps a comment key to letters and dashes, so that nothing can end the HTML comment.
func mdKey(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c == '-' {
			return c
		}
		return -1
	}, strings.ReplaceAll(s, "--", "-"))
}

func mdFigures(r *report.Report) string {
	rows := figureTable(r)
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n| | now | 95 % CI | if data were free (modelled) |\n|:--|--:|--:|--:|\n")
	for _, f := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", md(f[0]), md(f[1]), md(f[2]), md(f[3]))
	}
	return b.String()
}

func mdFindings(r *report.Report) string {
	if len(r.Findings) == 0 {
		return "\nNo findings.\n"
	}
	var b strings.Builder
	b.WriteString("\n**Findings**, the largest share of " + whose(r) + " first; effects are " + effectBasis(r) + " for one change at a time.\n\n")
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "- **%s** (%s)", md(f.Rule), md(string(f.Severity)))
		if f.Location != nil {
			fmt.Fprintf(&b, " at %s", md(place(f.Location)))
		}
		if e := firstEffect(f); e != nil {
			fmt.Fprintf(&b, " → %s, %s", md(effectText(*e)), md(string(e.Basis)))
		}
		fmt.Fprintf(&b, "\n  %s\n", md(f.Summary))
		for _, c := range changes(f) {
			fmt.Fprintf(&b, "  - %s\n", md(c))
		}
		for _, n := range f.WontHelp {
			fmt.Fprintf(&b, "  - Will not help: %s\n", md(n))
		}
	}
	if r.Joint != nil {
		fmt.Fprintf(&b, "\nTogether: %s%s, %s.\n", md(effectText(*r.Joint)), md(limitText(*r.Joint)), md(string(r.Joint.Basis)))
	}
	if t := tryLine(r); t != "" {
		fmt.Fprintf(&b, "\nTry it: %s\n", md(t))
	}
	return b.String()
}

func details(summary, body string) string {
	if body == "" {
		return ""
	}
	return "\n<details>\n<summary>" + summary + "</summary>\n\n" + body + "\n</details>\n"
}

func mdTime(r *report.Report) string {
	var b strings.Builder
	if r.Verdict != nil {
		for _, s := range stepParts(r.Verdict.Step) {
			if s.ratio != nil {
				fmt.Fprintf(&b, "| step: %s | %s | |\n", md(s.name), md(unit.Percent(*s.ratio)))
			}
		}
	}
	for _, f := range r.Phases {
		per := ""
		switch {
		case f.ItemS > 0:
			per = phaseTime(f)
		case f.BatchS > 0:
			per = unit.Seconds(f.BatchS)
		}
		fmt.Fprintf(&b, "| worker: %s | %s | %s |\n", md(f.Name), md(unit.Percent(f.Ratio)), md(per))
	}
	if b.Len() == 0 {
		return ""
	}
	return details("Where the time goes", "| phase | share | per batch |\n|:--|--:|--:|\n"+b.String())
}

func mdUnseen(r *report.Report) string {
	var b strings.Builder
	for _, g := range groupAbstained(r.Abstained) {
		fmt.Fprintf(&b, "- %s: %s", md(g.list()), md(g.reason))
		if g.cure != "" {
			fmt.Fprintf(&b, " (%s)", md(g.cure))
		}
		b.WriteByte('\n')
	}
	return details("What was not measured", b.String())
}

func mdHow(r *report.Report) string {
	var b strings.Builder
	if f := footer(r); f != "" {
		fmt.Fprintf(&b, "%s.\n", md(f))
	}
	fmt.Fprintf(&b, "%s of %s CPUs usable, kernel %s.\n", md(unit.Number(r.Host.CPUsUsable)), md(fmt.Sprint(r.Host.CPUsPresent)), md(r.Host.Kernel))
	for _, g := range r.Host.GPUs {
		fmt.Fprintf(&b, "GPU: %s, %s.\n", md(g.Name), md(unit.Bytes(float64(g.MemoryBytes))))
	}
	if r.Job != nil {
		fmt.Fprintf(&b, "Job: %s\n", md(strings.Join(r.Job.Command, " ")))
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "- Mind: %s\n", md(w))
	}
	return details("How it was measured", b.String())
}
