package rules

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pipetune/pipetune/internal/metric"
)

// TestCatalogue holds every rule to the contract of a rule: an id, a title, a page with its four parts, signals of the vocabulary,
// thresholds with a source, and the three cases.
func TestCatalogue(t *testing.T) {
	id := regexp.MustCompile(`^(loader|hdf5|storage|cpu|memory|image|gpu|host|job|quality)/[a-z0-9-]+$`)
	derived := map[string]bool{}
	for _, d := range metric.Derived {
		derived[d.Name] = true
	}
	seen := map[string]bool{}
	for _, r := range All() {
		if !id.MatchString(r.ID) || seen[r.ID] {
			t.Errorf("%s: not a new id of the form group/name", r.ID)
		}
		seen[r.ID] = true
		if r.Title == "" || strings.HasSuffix(r.Title, ".") {
			t.Errorf("%s: the title is empty or ends in a full stop", r.ID)
		}
		for _, heading := range []string{"## What it means\n", "## How it is detected\n", "## How to mend it\n", "## When it is wrong\n"} {
			if !strings.Contains(r.Doc, heading) {
				t.Errorf("%s: the page lacks %q", r.ID, heading)
			}
		}
		if r.Eval == nil {
			t.Errorf("%s: judges nothing", r.ID)
		}
		for _, d := range r.Needs {
			if !derived[d.Name] {
				t.Errorf("%s: needs %s, which is no derived signal", r.ID, d.Name)
			}
		}
		for _, l := range r.Limits {
			if l.Name == "" || len(l.Source) < len("derived: …") || l.Unit == "" {
				t.Errorf("%s: limit %q lacks a name, a unit or a source", r.ID, l.Name)
			}
		}
		for _, other := range r.Explains {
			if other == r.ID {
				t.Errorf("%s: explains itself", r.ID)
			}
		}
		checkParts(t, caseFile(r))
	}
}

func checkParts(t *testing.T, file string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	for _, kind := range []string{"fires", "quiet", "abstains"} {
		if !slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, kind) }) {
			t.Errorf("%s: no case %s", file, kind)
		}
	}
}

// TestExplainsNamesRules finds names in Explains that are no rules.
func TestExplainsNamesRules(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range All() {
		ids[r.ID] = true
	}
	for _, r := range All() {
		for _, other := range r.Explains {
			if !ids[other] {
				t.Errorf("%s explains %s, which is no rule", r.ID, other)
			}
		}
	}
}

// TestOneFilePerRule holds the folder to one file for each rule, named after it.
func TestOneFilePerRule(t *testing.T) {
	for _, r := range All() {
		file := strings.NewReplacer("/", "_", "-", "_").Replace(r.ID) + ".go"
		b, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(b), `"`+r.ID+`"`) {
			t.Errorf("%s does not hold rule %s", file, r.ID)
		}
	}
}
