// Package render writes a report as text, Markdown or JSON. It sees a report and nothing else, and every string in it is treated as
// foreign: nothing that stands in a report can move the cursor, open a link or break a table.
package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/pkg/report"
)

// Format is one way to write a report.
type Format struct {
	Name   string // as in --format
	Suffix string // of -o files, with the dot
	Help   string
	Write  func(w io.Writer, r *report.Report, o Options) error
}

// Options are what a reader's terminal allows. The zero value is a plain 80-column text.
type Options struct {
	Color bool
}

// Formats is the table of all formats; the first is the default.
func Formats() []Format {
	return []Format{
		{"text", ".txt", "for a terminal, 80 columns", Text},
		{"json", ".json", "the whole report, for programs", JSON},
		{"md", ".md", "Markdown, to paste into a pull request", Markdown},
	}
}

// ByName finds a format by its name.
func ByName(name string) (Format, error) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("unknown format %q: one of %s", name, strings.Join(names(), ", "))
}

// BySuffix finds a format by a file name's ending.
func BySuffix(path string) (Format, error) {
	i := slices.IndexFunc(Formats(), func(f Format) bool { return strings.HasSuffix(path, f.Suffix) })
	if i < 0 {
		return Format{}, fmt.Errorf("no format for %q: the name must end in one of .jsonl (recording), %s", path, suffixes())
	}
	return Formats()[i], nil
}

func names() (all []string) {
	for _, f := range Formats() {
		all = append(all, f.Name)
	}
	return all
}

func suffixes() string {
	var all []string
	for _, f := range Formats() {
		all = append(all, f.Suffix)
	}
	return strings.Join(all, ", ")
}

// JSON writes the report as it is.
func JSON(w io.Writer, r *report.Report, _ Options) error { return report.Encode(w, r) }
