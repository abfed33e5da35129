package lint

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// home is where the pages of rules are.
const home = "https://github.com/pipetune/pipetune"

// levels are SARIF's words for severities.
var levels = map[report.Severity]string{report.Error: "error", report.Warning: "warning", report.Info: "note"}

// writeSARIF writes a log of SARIF 2.1.0 with one run: all rules, the findings, and a notification for each file that
// was not judged.
func writeSARIF(w io.Writer, r Result, version string) error {
	rules := []object{}
	for _, rule := range All() {
		rules = append(rules, object{"id": rule.ID, "shortDescription": text(rule.Title), "help": text(rule.Help),
			"defaultConfiguration": object{"level": levels[rule.Severity]},
			"helpUri":              home + "/blob/main/docs/rules/" + strings.ReplaceAll(rule.ID, "/", "-") + ".md",
			"properties":           object{"precision": precision[rule.Certainty]}})
	}
	results, notes := []object{}, []object{}
	for _, f := range r.Findings {
		region := object{"startLine": f.Line, "startColumn": f.Column, "endLine": f.EndLine, "endColumn": f.EndColumn}
		physical := object{"artifactLocation": artifact(f.File), "region": region}
		properties := object{"certainty": f.Certainty}
		if f.Measured != nil {
			properties["measured"] = f.Measured
		}
		if f.Cell > 0 { // the lines of a cell are none of the file's
			delete(physical, "region")
			properties["cell"], properties["line"] = f.Cell, f.Line
		}
		results = append(results, object{"ruleId": f.Rule, "ruleIndex": slices.IndexFunc(All(),
			func(x Rule) bool { return x.ID == f.Rule }),
			"level": levels[f.Severity], "message": text(f.sentence()),
			"locations": []object{{"physicalLocation": physical}}, "properties": properties})
	}
	for _, u := range r.Unjudged {
		notes = append(notes, object{"level": "error", "message": text(untrusted.String(u.File).String() + ": " +
			u.Why),
			"locations": []object{{"physicalLocation": object{"artifactLocation": artifact(u.File)}}}})
	}
	run := object{
		"tool": object{"driver": object{"name": "pipetune", "version": version, "informationUri": home,
			"rules": rules}},
		"columnKind": "unicodeCodePoints", "results": results,
		"invocations": []object{{"executionSuccessful": len(notes) == 0, "toolExecutionNotifications": notes}},
	}
	const schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	return encode(w, object{"$schema": schema, "version": "2.1.0", "runs": []object{run}})
}

// precision is how code scanning calls a certainty.
var precision = map[Certainty]string{Sure: "very-high", Likely: "high", Possible: "low"}

func text(s string) object { return object{"text": s} }

// artifact is a file as a URI: relative to where pipetune was run, or absolute.
func artifact(file string) object {
	u := url.URL{Path: filepath.ToSlash(filepath.Clean(file))}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return object{"uri": u.String()}
}
