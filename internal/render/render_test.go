package render

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/pkg/report"
)

var update = flag.Bool("update", false, "write the goldens anew")

const fixtures = "../../testdata/reports"

// TestGolden renders every report under testdata/reports in every format and compares with the files beside it.
func TestGolden(t *testing.T) {
	reports, err := filepath.Glob(filepath.Join(fixtures, "*.json"))
	if err != nil || len(reports) == 0 {
		t.Fatalf("no reports under %s (%v)", fixtures, err)
	}
	for _, path := range reports {
		for _, f := range Formats() {
			golden := strings.TrimSuffix(path, ".json") + f.Suffix
			t.Run(filepath.Base(golden), func(t *testing.T) {
				var got bytes.Buffer
				if err := f.Write(&got, load(t, path), Options{}); err != nil {
					t.Fatal(err)
				}
				if *update {
					if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), got.String()); d != "" {
					t.Errorf("%s (-want +got, -update writes it anew):\n%s", golden, d)
				}
			})
		}
	}
}

func load(t *testing.T, path string) *report.Report {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := report.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return r
}

// TestTextKeepsToEightyColumns holds every line that is not a command to the width of a terminal.
func TestTextKeepsToEightyColumns(t *testing.T) {
	reports, err := filepath.Glob(filepath.Join(fixtures, "*.json"))
	if err != nil || len(reports) == 0 {
		t.Fatalf("no reports under %s (%v)", fixtures, err)
	}
	for _, path := range reports {
		var b bytes.Buffer
		r := load(t, path)
		if err := Text(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		checkWidth(t, r, b.String())
	}
}

// checkWidth looks for lines wider than the page. Commands to copy stand on lines of their own and may be.
func checkWidth(t *testing.T, r *report.Report, text string) {
	t.Helper()
	commands := map[string]bool{}
	for i, n := range r.Next {
		commands[[]string{"Next     ", "Then:    "}[min(i, 1)]+safe(n)] = true
	}
	for _, m := range r.Measurements {
		commands["      "+safe(m.Labels[report.LabelCommand])] = true
	}
	for i, l := range checkLines(r) {
		commands[[]string{"  Check it:  ", "             "}[min(i, 1)]+l] = true
	}
	if r.Patch != nil {
		for _, l := range diffLines(r.Patch.Diff) {
			commands[strings.TrimRight("    "+l, " ")] = true
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := columns(line); n > width && !commands[line] {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestColourAddsNothingButColour strips the escapes and expects the plain text.
func TestColourAddsNothingButColour(t *testing.T) {
	for _, name := range []string{"reopened.json", "bench-gzip-chunk64.json", "launch-classifier.json"} {
		colourOnly(t, load(t, filepath.Join(fixtures, name)))
	}
}

func colourOnly(t *testing.T, r *report.Report) {
	t.Helper()
	var with, without bytes.Buffer
	if err := Text(&with, r, Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	if err := Text(&without, r, Options{}); err != nil {
		t.Fatal(err)
	}
	stripped := with.String()
	for _, c := range []string{bold, dim, red, yellow, green, plain} {
		stripped = strings.ReplaceAll(stripped, c, "")
	}
	if with.String() == without.String() {
		t.Error("no colour where colour was asked for")
	}
	if d := cmp.Diff(without.String(), stripped); d != "" {
		t.Error(d)
	}
}

// TestReasonThatLeavesOutNearlyAllNamesNone: fifty names under one reason say no more than their number.
func TestReasonThatLeavesOutNearlyAllNamesNone(t *testing.T) {
	r := &report.Report{Kind: "diagnose"}
	for i := range mostNamed + 1 {
		r.Abstained = append(r.Abstained, report.Abstained{Rule: fmt.Sprintf("a/rule-%d", i), Reason: "too little was seen"})
	}
	for _, write := range []func(io.Writer, *report.Report, Options) error{Text, Markdown} {
		var b strings.Builder
		if err := write(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); strings.Contains(text, "a/rule-") || !strings.Contains(text, fmt.Sprintf("%d rules", mostNamed+1)) || strings.Count(text, "too little was seen") != 1 {
			t.Errorf("wrote:\n%s", text)
		}
	}
}
