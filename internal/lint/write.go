package lint

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// Format is one way to write a result.
type Format struct {
	Name  string
	Write func(w io.Writer, r Result, version string) error
}

// Formats lists them.
func Formats() []Format {
	return []Format{{"text", writeText}, {"json", writeJSON}, {"sarif", writeSARIF}, {"github", writeGitHub}}
}

// place is where a finding is, as editors follow it: path:line:column, and the cell of a notebook.
func (f Finding) place() string {
	file := untrusted.String(f.File).String()
	if f.Cell > 0 {
		return fmt.Sprintf("%s:cell %d:%d:%d", file, f.Cell, f.Line, f.Column)
	}
	return fmt.Sprintf("%s:%d:%d", file, f.Line, f.Column)
}

// writeText writes a line for each finding, with what to do below it.
func writeText(w io.Writer, r Result, _ string) error {
	var b strings.Builder
	fixable := 0
	for _, f := range r.Findings {
		doubt := ""
		if f.Certainty == Possible {
			doubt = " (possible)"
		}
		fmt.Fprintf(&b, "%s: %s %s%s\n  help: %s\n", f.place(), f.Rule, f.Message, doubt, f.Help)
		if f.Measured != nil {
			fmt.Fprintf(&b, "  measured: %s\n", f.Measured.said())
		}
		if f.Fixable {
			fixable++
		}
	}
	files := func(n int) string { return unit.Count(int64(n), "file", "files") }
	switch judged := r.Files - len(r.Unjudged); {
	case len(r.Findings) == 0 && len(r.Unjudged) == 0:
		fmt.Fprintf(&b, "Nothing found in %s.\n", files(judged))
	case len(r.Findings) == 0:
		fmt.Fprintf(&b, "Nothing found in %s; %s not judged.\n", files(judged), files(len(r.Unjudged)))
	default:
		fmt.Fprintf(&b, "%s in %s.", unit.Count(int64(len(r.Findings)), "finding", "findings"), files(judged))
		if fixable > 0 {
			fmt.Fprintf(&b, " %d can be mended: --fix --diff shows how.", fixable)
		}
		b.WriteString(" `pipetune explain RULE` tells more.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sentence is a finding in one piece, for formats that have a line for it.
func (f Finding) sentence() string {
	if f.Measured == nil {
		return f.Message + ". " + f.Help
	}
	return f.Message + ". " + f.Help + ". Measured: " + f.Measured.said()
}

// writeJSON writes one object: pipetune.lint 1.1.
func writeJSON(w io.Writer, r Result, version string) error {
	shown := slices.Clone(r.Findings)
	for i := range shown {
		shown[i].File = untrusted.String(shown[i].File).String()
	}
	return encode(w, object{"schema": "pipetune.lint", "schema_version": "1.1.0",
		"tool":  object{"name": "pipetune", "version": version},
		"files": r.Files, "findings": shown, "unjudged": r.Unjudged})
}

// object is a JSON object.
type object map[string]any

func encode(w io.Writer, x object) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(x)
}

// writeGitHub writes workflow commands, which become annotations of a pull request: one for each finding, and for each
// file that was not judged.
func writeGitHub(w io.Writer, r Result, _ string) error {
	levels := map[report.Severity]string{report.Error: "error", report.Warning: "warning", report.Info: "notice"}
	value := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	var b strings.Builder
	for _, f := range r.Findings {
		at := fmt.Sprintf(",line=%d,col=%d,endLine=%d", f.Line, f.Column, f.EndLine)
		if f.Cell > 0 {
			at = ""
		}
		fmt.Fprintf(&b, "::%s file=%s%s,title=%s::%s\n", levels[f.Severity],
			value.Replace(untrusted.String(f.File).String()), at, value.Replace(f.Rule),
			text.Replace(untrusted.Cut(f.sentence(), 3*mostText).String()))
	}
	for _, u := range r.Unjudged {
		fmt.Fprintf(&b, "::error file=%s,title=not judged::%s\n", value.Replace(untrusted.String(u.File).String()),
			text.Replace(u.Why))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
