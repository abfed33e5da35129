package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

// TestCatalogue holds every rule to the contract of a rule: an id, a title, a page with its four parts, signals of the
// vocabulary, thresholds with a source, and the three cases for each way it can tell its cause.
func TestCatalogue(t *testing.T) {
	id := regexp.MustCompile(`^(loader|hdf5|storage|cpu|memory|image|gpu|host|job|quality)/[a-z0-9-]+$`)
	watched, measured := names(metric.Derived, metric.HookDerived), names(metric.Derived, metric.BenchDerived)
	seen := map[string]bool{}
	for _, r := range All() {
		if !id.MatchString(r.ID) || seen[r.ID] {
			t.Errorf("%s: not a new id of the form group/name", r.ID)
		}
		seen[r.ID] = true
		if r.Title == "" || strings.HasSuffix(r.Title, ".") {
			t.Errorf("%s: the title is empty or ends in a full stop", r.ID)
		}
		if _, err := pages.ReadFile("pages/" + fileOf(r.ID) + ".md"); err != nil {
			t.Errorf("%s has no page: write internal/rules/pages/%s.md, with What it means, How it is detected, How "+
				"to fix it and When it is wrong", r.ID, fileOf(r.ID))
			continue
		}
		page, measuredPage := written(r.ID)
		for _, heading := range []string{"## What it means\n", "## How it is detected\n", "## How to fix it\n",
			"## When it is wrong\n"} {
			if !strings.Contains(page, heading) {
				t.Errorf("%s: the page lacks %q", r.ID, heading)
			}
		}
		if r.Eval == nil && r.Measured == nil {
			t.Errorf("%s: judges nothing", r.ID)
		}
		checkWay(t, r.ID, watched, r.Needs, r.Limits)
		if m := r.Measured; m != nil {
			checkWay(t, r.ID, measured, m.Needs, m.Limits)
			if m.Eval == nil || len(m.Needs) == 0 {
				t.Errorf("%s: its measured half lacks Eval or Needs", r.ID)
			}
		}
		if (r.Measured != nil) != (measuredPage != "") {
			t.Errorf("%s: a measured half and %q on its page go together", r.ID, benchHeading)
		}
		for _, other := range r.Explains {
			if _, known := Find(other); !known || other == r.ID {
				t.Errorf("%s explains %s, which is no other rule", r.ID, other)
			}
		}
		checkParts(t, r)
	}
}

func names(lists ...[]metric.Desc) map[string]bool {
	set := map[string]bool{}
	for _, d := range slices.Concat(lists...) {
		set[d.Name] = true
	}
	return set
}

// checkWay holds one way of telling a cause to signals that exist and thresholds with a source.
func checkWay(t *testing.T, id string, known map[string]bool, needs []metric.Desc, limits []diagnose.Limit) {
	t.Helper()
	for _, d := range needs {
		if !known[d.Name] {
			t.Errorf("%s: needs %s, which is no derived signal", id, d.Name)
		}
	}
	for _, l := range limits {
		if l.Name == "" || len(l.Source) < len("derived: …") || l.Unit == "" {
			t.Errorf("%s: limit %q lacks a name, a unit or a source", id, l.Name)
		}
	}
}

// checkParts finds missing cases, of the watch and of bench-io.
func checkParts(t *testing.T, r diagnose.Rule) {
	t.Helper()
	file := caseFile(r)
	var kinds []string
	if r.Eval != nil {
		kinds = append(kinds, "fires", "quiet", "abstains")
	}
	if r.Measured != nil {
		kinds = append(kinds, "measured-fires", "measured-quiet", "measured-abstains")
	}
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	for _, kind := range kinds {
		if !slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, kind) }) {
			t.Errorf("%s: no case %s", file, kind)
		}
	}
}

// TestFilesOfRules holds the folder to a source file for each rule, named after it, and to pages and cases of rules
// only.
func TestFilesOfRules(t *testing.T) {
	names := map[string]bool{}
	for _, r := range All() {
		name := fileOf(r.ID)
		names[name] = true
		source := must.Get(os.ReadFile(name + ".go"))(t)
		if !strings.Contains(string(source), `"`+r.ID+`"`) {
			t.Errorf("%s.go does not hold rule %s", name, r.ID)
		}
	}
	for _, file := range append(must.Get(filepath.Glob("pages/*"))(t), must.Get(filepath.Glob("testdata/*"))(t)...) {
		if !names[strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))] {
			t.Errorf("%s belongs to no rule", file)
		}
	}
}
