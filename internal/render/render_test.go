package render

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/document"
	"github.com/pipetune/pipetune/internal/merge"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

var update = flag.Bool("update", false, "write the goldens anew")

const fixtures = "../../testdata/reports"

// styled is a page's style sheet and its policy's hash, which stand in one file already.
var styled = regexp.MustCompile(`(?s)<style>.*</style>| style-src [^;]*;`)

// reports are the files of all examples.
func reports(t *testing.T) []string {
	t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(fixtures, "*.json")))(t)
	if len(paths) == 0 {
		t.Fatalf("no reports under %s", fixtures)
	}
	return paths
}

// TestGolden renders every report under testdata/reports in every format and compares with the files beside it.
func TestGolden(t *testing.T) {
	for _, path := range reports(t) {
		for _, f := range Formats() {
			golden := strings.TrimSuffix(path, ".json") + f.Suffix
			t.Run(filepath.Base(golden), func(t *testing.T) {
				compareToFile(t, golden, written(t, f.Name, Report(load(t, path)), Options{}))
			})
		}
	}
}

// compareToFile holds what was written to a golden file.
func compareToFile(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; go test ./internal/render -run Golden -update writes it", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got, -update writes it anew):\n%s", golden, d)
	}
}

// written is a report or a comparison in a format, a page without its style sheet.
func written(t *testing.T, name string, s Subject, o Options) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, must.Get(ByName(ComparisonFormats(), name))(t).Write(&b, s, o))
	if name == "html" {
		return styled.ReplaceAllString(b.String(), "")
	}
	return b.String()
}

func load(t *testing.T, path string) *report.Report {
	t.Helper()
	return must.Get(report.Decode(bytes.NewReader(must.Get(os.ReadFile(path))(t))))(t)
}

// TestDiagnosisIsOneScreen: what a terminal shows of a diagnosis unless asked is 35 lines at most.
func TestDiagnosisIsOneScreen(t *testing.T) {
	for _, name := range []string{"reopened.json", "launch-classifier.json", "launch-plans.json"} {
		r := Report(load(t, filepath.Join(fixtures, name)))
		first, all := written(t, "text", r, Options{}), written(t, "text", r, Options{Verbose: true})
		if n := strings.Count(first, "\n"); n > 35 || n >= strings.Count(all, "\n") {
			t.Errorf("%s: %d lines of %d:\n%s", name, n, strings.Count(all, "\n"), first)
		}
	}
}

// TestTextKeepsToItsWidth holds every line that is not there to be copied to the width of the terminal.
func TestTextKeepsToItsWidth(t *testing.T) {
	for _, width := range []int{60, 61, 72, 80, 100, 160} {
		for _, path := range reports(t) {
			r := Report(load(t, path))
			checkWidth(t, r, written(t, "text", r, Options{Width: width}), width)
			checkWidth(t, r, written(t, "text", r, Options{Width: width, Verbose: true}), width)
		}
		for i := range cases {
			c := Comparison(compared(t, i))
			checkWidth(t, c, written(t, "text", c, Options{Width: width}), width)
		}
	}
}

// checkWidth looks for lines wider than a page. What is there to be copied may be.
func checkWidth(t *testing.T, s Subject, text string, width int) {
	t.Helper()
	d := s.Document()
	copied := slices.Clone(d.Next)
	if d.Answer != nil {
		for _, l := range d.Answer.Lines {
			copied = append(copied, l.Copy)
		}
	}
	for _, section := range d.Sections {
		for _, part := range section.Parts {
			switch p := part.(type) {
			case document.Code:
				copied = append(copied, strings.FieldsFunc(strings.ReplaceAll(p.Text, " && ", " &&\n"),
					func(c rune) bool { return c == '\n' })...)
			case *document.Findings:
				for _, f := range p.List {
					for _, c := range f.Changes {
						copied = append(copied, c.Command)
					}
				}
			case *document.Table:
				for _, row := range p.Rows {
					copied = append(copied, row.Copy)
				}
			}
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		long := func(c string) bool {
			return c != "" && strings.HasSuffix(line, strings.TrimRight(string(safe(c)), " "))
		}
		if n := columns(visible(line)); n > width && !slices.ContainsFunc(copied, long) {
			t.Errorf("%d columns, not %d: %s", n, width, line)
		}
	}
}

// TestColourAddsNothingButColour strips the escapes and expects the plain text.
func TestColourAddsNothingButColour(t *testing.T) {
	for _, name := range []string{"reopened.json", "bench-gzip-chunk64.json", "launch-classifier.json"} {
		r := load(t, filepath.Join(fixtures, name))
		with, without := written(t, "text", Report(r), Options{Color: true, Verbose: true}), textOf(t, r)
		if with == without {
			t.Errorf("%s: no colour where colour was asked for", name)
		}
		if d := cmp.Diff(without, colourless(with)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// colourless is a text without its colours.
func colourless(text string) string {
	for _, c := range []string{bold, dim, red, yellow, green, plain} {
		text = strings.ReplaceAll(text, c, "")
	}
	return text
}

// TestReasonThatLeavesOutNearlyAllNamesNone: fifty names under one reason say no more than their number.
func TestReasonThatLeavesOutNearlyAllNamesNone(t *testing.T) {
	r := &report.Report{Kind: "diagnose"}
	for i := range 31 {
		r.Abstained = append(r.Abstained, report.Abstained{Rule: fmt.Sprintf("a/rule-%d", i),
			Reason: "too little was seen"})
	}
	for _, format := range []string{"text", "md"} {
		if text := written(t, format, Report(r), Options{Verbose: true}); strings.Contains(text, "a/rule-") ||
			!strings.Contains(text, "31 rules") || strings.Count(text, "too little was seen") != 1 {
			t.Errorf("wrote:\n%s", text)
		}
	}
}

const nodes = "../../testdata/merged"

// TestMergedGolden writes the joined reports of a job in every format and holds it to the files under testdata/merged.
func TestMergedGolden(t *testing.T) {
	var list []*merge.Watch
	for _, name := range []string{"node-0.json", "node-1.json", "node-3.json"} {
		b := must.Get(os.ReadFile(filepath.Join(nodes, name)))(t)
		must.Get(report.Decode(bytes.NewReader(b)))(t) // a whole report, not only what is read of it
		list = append(list, must.Get(merge.Decode(name, b))(t))
	}
	m := must.Get(merge.Run(list, merge.Options{Tool: report.Tool{Name: "pipetune", Version: "0.3.0"},
		Left: []report.LeftOut{{File: "node-2.json", Reason: report.LeftUnreadable,
			Why: "invalid report: unexpected end of JSON input"}}}))(t)
	for _, f := range Formats() {
		golden := filepath.Join(nodes, "job"+f.Suffix)
		t.Run(filepath.Base(golden), func(t *testing.T) {
			compareToFile(t, golden, written(t, f.Name, Merged(m), Options{}))
		})
	}
}
