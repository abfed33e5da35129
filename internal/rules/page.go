package rules

import (
	"embed"
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
)

// pages holds what is written of each rule by hand, in a file named after it: what it means, how it is detected, how to
// fix it, when it is wrong and, where bench-io judges by it too, how that does.
//
//go:embed pages/*.md
var pages embed.FS

// benchHeading begins the part of a page that is about the measured half.
const benchHeading = "## How bench-io measures it\n"

// written returns what is written of a rule: of its watch, and of its measured half. A rule without a page is a mistake
// in the catalogue and panics.
func written(id string) (watch, measured string) {
	text, err := pages.ReadFile("pages/" + fileOf(id) + ".md")
	if err != nil {
		panic("rules: " + err.Error())
	}
	watch, measured, _ = strings.Cut(string(text), benchHeading)
	return strings.TrimSpace(watch), strings.TrimSpace(measured)
}

// fileOf is what a rule's files are named, without an ending.
func fileOf(id string) string { return strings.NewReplacer("/", "_", "-", "_").Replace(id) }

// Page is a rule's page in Markdown: docs/rules/ holds it, and explain lays it out for a terminal.
func Page(r diagnose.Rule) string {
	var b strings.Builder
	watch, measured := written(r.ID)
	fmt.Fprintf(&b, "# %s\n\n%s.\n", r.ID, r.Title)
	if r.Resource != "" {
		fmt.Fprintf(&b, "An input-bound job that this rule leads is short of: %s.\n", r.Resource)
	}
	fmt.Fprintf(&b, "\n%s\n", watch)
	inputs(&b, "##", r.Needs, r.Limits)
	if m := r.Measured; m != nil {
		fmt.Fprintf(&b, "\n%s%s\n", benchHeading, measured)
		inputs(&b, "###", m.Needs, m.Limits)
	}
	if len(r.Explains) > 0 {
		b.WriteString("\n## What it explains\nThe share that this rule finds is taken off the scores of:\n\n")
		for _, id := range r.Explains {
			fmt.Fprintf(&b, "- [%s](%s)\n", id, PageFile(id))
		}
	}
	return b.String()
}

// inputs lists the signals that one half of a rule needs, and its thresholds.
func inputs(b *strings.Builder, heading string, needs []metric.Desc, limits []diagnose.Limit) {
	if len(needs) > 0 {
		fmt.Fprintf(b, "\n%s Signals it needs\n", heading)
		for _, d := range needs {
			fmt.Fprintf(b, "- `%s`: %s\n", d.Name, d.Help)
		}
	}
	if len(limits) > 0 {
		fmt.Fprintf(b, "\n%s Thresholds\n", heading)
		for _, l := range limits {
			fmt.Fprintf(b, "- %s: %s (%s)\n", l.Name, unit.Format(l.Value, string(l.Unit)), l.Source)
		}
	}
}

// PageFile names the file of a rule's page.
func PageFile(id string) string { return strings.ReplaceAll(id, "/", "-") + ".md" }

// Index is the list of all pages in Markdown.
func Index() string {
	var b strings.Builder
	b.WriteString("# Rules\n\nOne page for each cause that pipetune can name. Made from the rules themselves; " +
		"`pipetune explain RULE` prints the same.\n")
	group := ""
	for _, r := range All() {
		if g := r.Group(); g != group {
			group = g
			fmt.Fprintf(&b, "\n## %s\n\n", group)
		}
		fmt.Fprintf(&b, "- [%s](%s): %s\n", r.ID, PageFile(r.ID), r.Title)
	}
	return b.String()
}

// Find returns the rule of that ID.
func Find(id string) (diagnose.Rule, bool) {
	for _, r := range All() {
		if r.ID == id {
			return r, true
		}
	}
	return diagnose.Rule{}, false
}
