package render

import (
	"bytes"
	"flag"
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

// TestTextKeepsToEightyColumns holds every line that can be wrapped to the width of a terminal.
func TestTextKeepsToEightyColumns(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, load(t, filepath.Join(fixtures, "reopened.json")), Options{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := columns(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestColourAddsNothingButColour strips the escapes and expects the plain text.
func TestColourAddsNothingButColour(t *testing.T) {
	r := load(t, filepath.Join(fixtures, "reopened.json"))
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
