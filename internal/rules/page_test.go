package rules

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/rules anew")

// TestPagesAreCurrent holds docs/rules to what the rules say: `go test ./internal/rules -update` writes it.
func TestPagesAreCurrent(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "rules")
	want := map[string]string{"README.md": Index()}
	for _, r := range All() {
		want[PageFile(r.ID)] = Page(r)
	}
	if *update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range want {
		path := filepath.Join(dir, name)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%s is not current; run go test ./internal/rules -update\n%s", name, diff)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := want[f.Name()]; !ok {
			t.Errorf("docs/rules/%s belongs to no rule", f.Name())
		}
	}
}

// TestPagesReadWell finds lines that Markdown would show otherwise than meant.
func TestPagesReadWell(t *testing.T) {
	for _, r := range All() {
		page := Page(r)
		if strings.Contains(page, "|\n|") && strings.Count(page, "| threshold |") == 0 {
			t.Errorf("%s: a table without its head", r.ID)
		}
		limits := r.Limits
		if r.Measured != nil {
			limits = slices.Concat(limits, r.Measured.Limits)
		}
		for _, l := range limits {
			if strings.Contains(l.Source+l.Name, "|") {
				t.Errorf("%s: limit %q holds a bar, which ends a table cell", r.ID, l.Name)
			}
		}
	}
}

func TestFind(t *testing.T) {
	if r, ok := Find("hdf5/reopened-per-item"); !ok || r.Title == "" {
		t.Error("a rule of the catalogue was not found")
	}
	if _, ok := Find("hdf5/none-such"); ok {
		t.Error("a rule that does not exist was found")
	}
}
