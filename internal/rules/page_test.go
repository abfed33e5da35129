package rules

import (
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/lint"
	"github.com/pipetune/pipetune/internal/must"
)

var update = flag.Bool("update", false, "write docs/rules anew")

// TestPagesAreCurrent holds docs/rules to what the rules say: `go test ./internal/rules -update` writes it.
func TestPagesAreCurrent(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "rules")
	want := map[string]string{"README.md": Index() + lint.Index()}
	for _, r := range All() {
		want[PageFile(r.ID)] = Page(r) + lint.InSource(r.ID)
	}
	for _, r := range lint.All() {
		want[PageFile(r.ID)] = lint.Page(r)
	}
	if *update {
		must.Do(t, os.MkdirAll(dir, 0o755))
	}
	for name, text := range want {
		path := filepath.Join(dir, name)
		if *update {
			must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := gocmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%s is not current; run go test ./internal/rules -update\n%s", name, diff)
		}
	}
	files := must.Get(os.ReadDir(dir))(t)
	for _, f := range files {
		if _, ok := want[f.Name()]; !ok {
			t.Errorf("docs/rules/%s belongs to no rule", f.Name())
		}
	}
}

// TestPagesReadWell finds lines that a person would have to scroll to read.
func TestPagesReadWell(t *testing.T) {
	const wide = 120
	files := must.Get(pages.ReadDir("pages"))(t)
	for _, f := range files {
		text := must.Get(pages.ReadFile("pages/" + f.Name()))(t)
		for line := range strings.SplitSeq(string(text), "\n") {
			if n := utf8.RuneCountInString(line); n > wide {
				t.Errorf("%s: %d columns: %s", f.Name(), n, line)
			}
		}
	}
}

// What end-to-end tests have to do with a rule, as its page says it.
const (
	plantedAlone  = "An end-to-end test plants this cause in a real job or dataset, and this rule has to name it."
	plantedBeside = "An end-to-end test plants a cause in a real job or dataset that this rule or a related one has " +
		"to name."
	fixturesOnly  = "Fixtures only: no table of the end-to-end tests asks for this rule by name."
	onGPU         = "It has to find its cause in recordings of a job on a real GPU (docs/gpu.md)."
	testedHeading = "## How it is tested\n"
)

// TestPagesSayHowTheyAreTested holds each page to the tables of the end-to-end tests: `-update` writes the sentence.
func TestPagesSayHowTheyAreTested(t *testing.T) {
	tested := planted(t)
	if len(tested) < 20 {
		t.Fatalf("only %d rules are named in the tables of e2e", len(tested))
	}
	for _, rule := range foundOnGPU(t) {
		tested[rule] = strings.TrimSpace(tested[rule] + "\n" + onGPU)
	}
	for _, r := range All() {
		want := cmp.Or(tested[r.ID], fixturesOnly)
		if watch, _ := written(r.ID); strings.HasSuffix(strings.TrimRight(watch, "\n"), testedHeading+want) {
			continue
		}
		if !*update {
			t.Errorf("the page of %s does not say: %s Run go test ./internal/rules -update, twice", r.ID, want)
			continue
		}
		file := filepath.Join("pages", fileOf(r.ID)+".md")
		text := must.Get(os.ReadFile(file))(t)
		watch, measured, both := strings.Cut(string(text), benchHeading)
		watch, _, _ = strings.Cut(watch, testedHeading)
		page := strings.TrimRight(watch, "\n") + "\n\n" + testedHeading + want + "\n"
		if both {
			page += "\n" + benchHeading + measured
		}
		must.Do(t, os.WriteFile(file, []byte(page), 0o644))
	}
}

// foundOnGPU are the rules that recordings of a real GPU have to lead to, each once.
func foundOnGPU(t *testing.T) (rules []string) {
	t.Helper()
	var truths []struct{ Finds []string }
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("../../testdata/recordings/gpu/truth.json"))(t), &truths))
	for _, x := range truths {
		rules = append(rules, x.Finds...)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// asked are the lists of rules in the tables of the end-to-end tests, and the single rules.
var (
	asked  = regexp.MustCompile(`\b(planted|first|also):\s*(\[\]string\{[^}]*\}|"[^"]*")`)
	quoted = regexp.MustCompile(`"[^"]*"`)
)

// planted reads from the sources of the end-to-end tests which rules their tables ask for: the lists called planted, of
// which one rule has to come first, and the single rules called first.
func planted(t *testing.T) map[string]string {
	t.Helper()
	tested := map[string]string{}
	for _, name := range must.Get(filepath.Glob(filepath.Join("..", "e2e", "*_test.go")))(t) {
		for _, m := range asked.FindAllStringSubmatch(string(must.Get(os.ReadFile(name))(t)), -1) {
			rules := quoted.FindAllString(m[2], -1)
			for _, rule := range rules {
				id := strings.Trim(rule, `"`)
				switch _, known := Find(id); {
				case !known:
				case len(rules) == 1 && m[1] != "also":
					tested[id] = plantedAlone
				case tested[id] == "":
					tested[id] = plantedBeside
				}
			}
		}
	}
	return tested
}
