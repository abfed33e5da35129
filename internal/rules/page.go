package rules

import (
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
)

// Page is a rule's page in Markdown: what explain prints and what docs/rules/ holds.
func Page(r diagnose.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n", r.ID, r.Title)
	if r.Resource != "" {
		fmt.Fprintf(&b, "An input-bound job that this rule leads is short of: **%s**.\n", r.Resource)
	}
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(r.Doc))
	way(&b, "##", r.Needs, r.Limits)
	if m := r.Measured; m != nil {
		fmt.Fprintf(&b, "\n## How bench-io tells\n\n%s\n", strings.TrimSpace(m.How))
		way(&b, "###", m.Needs, m.Limits)
	}
	if len(r.Explains) > 0 {
		b.WriteString("\n## What it explains\n\nWhat this rule finds is taken off the scores of:")
		for i, id := range r.Explains {
			sep := ","
			if i == 0 {
				sep = ""
			}
			fmt.Fprintf(&b, "%s [%s](%s)", sep, id, PageFile(id))
		}
		b.WriteString(".\n")
	}
	return b.String()
}

// way is what one way of telling a cause needs, and its thresholds.
func way(b *strings.Builder, heading string, needs []metric.Desc, limits []diagnose.Limit) {
	if len(needs) > 0 {
		fmt.Fprintf(b, "\n%s Signals it needs\n\n", heading)
		for _, d := range needs {
			fmt.Fprintf(b, "- `%s`: %s\n", d.Name, d.Help)
		}
	}
	if len(limits) > 0 {
		fmt.Fprintf(b, "\n%s Thresholds\n\n| threshold | value | source |\n|---|---|---|\n", heading)
		for _, l := range limits {
			fmt.Fprintf(b, "| %s | %s | %s |\n", l.Name, unit.Format(l.Value, string(l.Unit)), l.Source)
		}
	}
}

// PageFile names the file of a rule's page.
func PageFile(id string) string { return strings.ReplaceAll(id, "/", "-") + ".md" }

// Index is the list of all pages in Markdown.
func Index() string {
	var b strings.Builder
	b.WriteString("# Rules\n\nOne page for each cause that pipetune can name. Made from the rules themselves; `pipetune explain RULE` prints the same.\n")
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
