// Package render writes a document (package document) in a format: text for a terminal, Markdown, a page. What a
// report concluded it can write as JSON, too, for programs.
//
// A writer decides where things stand and how they are escaped, and computes nothing but widths. Every string of a
// document is foreign: text reaches a format's output only as a type that escaping makes of it, so that forgetting to
// escape does not compile. Nothing that stands in a report can move the cursor, open a link or break a table.
package render

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/document"
	"github.com/pipetune/pipetune/internal/timeline"
	"github.com/pipetune/pipetune/pkg/report"
)

// Format is one way to write a report or a comparison.
type Format struct {
	Name   string // as in --format
	Suffix string // of -o files, with the dot; "" where it is for the standard output alone
	Draws  bool   // a watch over time, too
	Write  func(w io.Writer, s Subject, o Options) error
}

// Options are what a reader's terminal allows.
type Options struct {
	Color bool
	Width int // columns; 0 is 80, and what is below 60 counts as 60

	Verbose bool // supporting sections too, where the main ones are enough to act
}

// Subject is what can be written: for people, and for programs.
type Subject struct {
	Document func() *document.Document
	JSON     func(w io.Writer) error
}

// Report is a report as a subject.
func Report(r *report.Report) Subject { return Watch(r, nil) }

// Watch is a report with the watch that it is of over time, for formats that draw; nil where that is not at hand.
func Watch(r *report.Report, t *timeline.Timeline) Subject {
	return Subject{func() *document.Document { return document.Of(r, t) },
		func(w io.Writer) error { return report.Encode(w, r) }}
}

// Comparison is a comparison as a subject.
func Comparison(c *report.Comparison) Subject {
	return Subject{func() *document.Document { return document.OfComparison(c) },
		func(w io.Writer) error { return report.EncodeComparison(w, c) }}
}

// Merged is the joined reports of a job's nodes as a subject.
func Merged(m *report.Merged) Subject {
	return Subject{func() *document.Document { return document.OfMerged(m) },
		func(w io.Writer) error { return report.EncodeMerged(w, m) }}
}

// Formats lists all formats of reports; the first is the default.
func Formats() []Format {
	return []Format{
		{"text", ".txt", false, laidOut(text)},
		{"json", ".json", false, func(w io.Writer, s Subject, _ Options) error { return s.JSON(w) }},
		{"md", ".md", false, laidOut(markdown)},
		{"html", ".html", true, writePage},
	}
}

// ComparisonFormats lists all formats of comparisons; the first is the default.
func ComparisonFormats() []Format {
	return append(Formats(), Format{"github", "", false, laidOut(annotation)})
}

// laidOut makes a format of what lays a document out.
func laidOut(layout func(d *document.Document, o Options) string) func(w io.Writer, s Subject, o Options) error {
	return func(w io.Writer, s Subject, o Options) error {
		if _, err := io.WriteString(w, layout(s.Document(), o)); err != nil {
			return fmt.Errorf("writing report: %w", err)
		}
		return nil
	}
}

// Suffixes are those of the files that formats are written to.
func Suffixes(formats []Format) (all []string) {
	for _, f := range formats {
		if f.Suffix != "" {
			all = append(all, f.Suffix)
		}
	}
	return all
}

// Names are the names of formats.
func Names(formats []Format) (all []string) {
	for _, f := range formats {
		all = append(all, f.Name)
	}
	return all
}

// ByName finds a format by its name.
func ByName(formats []Format, name string) (Format, error) {
	if i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name }); i >= 0 {
		return formats[i], nil
	}
	return Format{}, fmt.Errorf("unknown format %q: one of %s", name, strings.Join(Names(formats), ", "))
}

// BySuffix finds a format by a file name's ending; also lists other endings that the caller takes.
func BySuffix(formats []Format, path string, also ...string) (Format, error) {
	ending := filepath.Ext(path)
	if i := slices.IndexFunc(formats, func(f Format) bool { return f.Suffix == ending }); i >= 0 && ending != "" {
		return formats[i], nil
	}
	return Format{}, fmt.Errorf("no format for %q: the name must end in one of %s", path,
		strings.Join(slices.Concat(also, Suffixes(formats)), ", "))
}
