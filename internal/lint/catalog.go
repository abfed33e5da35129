// Package lint reads the source of training scripts for what starves a GPU: the interpreter's own ast, nothing
// imported, nothing run.
//
// A rule is one function in python/rules_*.py, one row in catalog.json, and one page in pages with an example before
// and after, which a test holds the function to.
package lint

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/pkg/report"
)

//go:embed catalog.json pages/*.md python/*.py
var files embed.FS

// Certainty is how likely a finding is to be right of a script that nobody has run.
type Certainty string

// The certainties, the highest first.
const (
	Sure     Certainty = "sure"     // the source says it
	Likely   Certainty = "likely"   // right unless something that is not in the file says otherwise
	Possible Certainty = "possible" // also true of many healthy scripts; not shown unless asked for
)

// Certainties lists them, the highest first.
var Certainties = []Certainty{Sure, Likely, Possible}

// Rule is a row of the catalogue.
type Rule struct {
	ID        string          `json:"id"`
	Title     string          `json:"title"`
	Severity  report.Severity `json:"severity"`
	Certainty Certainty       `json:"certainty"` // of a finding that does not say another
	// the measured rule that tells whether it matters; "" where none measures it
	Confirms string `json:"confirms"`
	Help     string `json:"help"` // what to do, in a line
}

// All lists the rules as the catalogue has them. A catalogue that cannot be read is a mistake in the program and
// panics.
func All() []Rule {
	var rules []Rule
	text, err := files.ReadFile("catalog.json")
	if err == nil {
		err = json.Unmarshal(text, &rules)
	}
	if err != nil {
		panic("lint: " + err.Error())
	}
	return rules
}

// Find returns the rule of an id, with or without its group.
func Find(id string) (Rule, bool) {
	for _, r := range All() {
		if r.ID == id || r.ID == "lint/"+id {
			return r, true
		}
	}
	return Rule{}, false
}

// written is a rule's page as it is written by hand. A rule without one is a mistake in the program and panics.
func written(id string) string {
	text, err := files.ReadFile("pages/" + strings.ReplaceAll(strings.TrimPrefix(id, "lint/"), "-", "_") + ".md")
	if err != nil {
		panic("lint: " + err.Error())
	}
	return strings.TrimSpace(string(text))
}

// Page is a rule's page in Markdown: docs/rules holds it, and explain lays it out for a terminal.
func Page(r Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n`pipetune lint` reads it in the source: severity %s, %s.\n\n%s\n", r.ID, r.Title,
		r.Severity, r.Certainty, written(r.ID))
	if r.Confirms != "" {
		fmt.Fprintf(&b, "\n## What confirms it\nThe source does not say whether it costs anything here. Measured, it "+
			"is [%s](%s.md):\n`pipetune diagnose -- python train.py`.\n", r.Confirms, strings.ReplaceAll(r.Confirms,
			"/", "-"))
	}
	fmt.Fprintf(&b, "\n## To leave it out\n`# pipetune: ignore[%s]` at the end of the line.\n", strings.TrimPrefix(r.ID,
		"lint/"))
	return b.String()
}

// InSource is the part of a measured rule's page that names the rules which read the same in the source, in Markdown;
// "" where there is none.
func InSource(measured string) string {
	var b strings.Builder
	for _, r := range All() {
		if r.Confirms == measured {
			fmt.Fprintf(&b, "- [%s](%s.md): %s\n", r.ID, strings.ReplaceAll(r.ID, "/", "-"), r.Title)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n## In the source\n`pipetune lint` reads it there, and `pipetune lint --report run.json` sets it " +
		"beside what was measured:\n\n" + b.String()
}

// Index is the part of the list of all pages that is about these, in Markdown.
func Index() string {
	var b strings.Builder
	b.WriteString("\n## lint\n\nWhat `pipetune lint` reads in the source, before anything runs " +
		"([how](../lint.md)).\n\n")
	for _, r := range All() {
		fmt.Fprintf(&b, "- [%s](%s.md): %s\n", r.ID, strings.ReplaceAll(r.ID, "/", "-"), r.Title)
	}
	return b.String()
}
