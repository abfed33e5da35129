package lint

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/pkg/report"
)

var with = flag.String("python", "/usr/bin/python3", "the interpreter to test with")

// judge writes files into a folder and judges them with every rule.
func judge(t *testing.T, sources map[string]string) (string, Result) {
	t.Helper()
	folder := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	r := Request{Python: *with, Folder: folder, Least: Possible, Fix: true}
	for _, rule := range All() {
		r.Rules = append(r.Rules, rule.ID)
	}
	for name, text := range sources {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
		r.Files = append(r.Files, name)
	}
	slices.Sort(r.Files)
	return folder, must.Get(Run(t.Context(), r))(t)
}

// example is the indented code below a heading of a page.
func example(page, heading string) string {
	_, after, _ := strings.Cut(page, "## "+heading+"\n")
	after, _, _ = strings.Cut(after, "\n## ")
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(after), "\n") {
		b.WriteString(strings.TrimPrefix(line, "    ") + "\n")
	}
	return b.String()
}

// TestCatalogue holds each rule to its row and its page, whose example before fires and whose example after does not.
func TestCatalogue(t *testing.T) {
	id := regexp.MustCompile(`^lint/[a-z0-9-]+$`)
	sources := map[string]string{}
	for _, r := range All() {
		if !id.MatchString(r.ID) || r.Title == "" || strings.HasSuffix(r.Title, ".") || r.Help == "" ||
			strings.HasSuffix(r.Help, ".") {
			t.Errorf("%s: an id of the form lint/name, a title and a line of help without a full stop", r.ID)
		}
		if !slices.Contains(Certainties, r.Certainty) ||
			!slices.Contains([]report.Severity{report.Error, report.Warning, report.Info}, r.Severity) {
			t.Errorf("%s: %q, %q", r.ID, r.Certainty, r.Severity)
		}
		page := written(r.ID)
		if _, known := rules.Find(r.Confirms); !known && !(r.Confirms == "" && strings.Contains(page, "easure")) {
			t.Errorf("%s: %q is no measured rule, and the page does not say why there is none", r.ID, r.Confirms)
		}
		for _, heading := range []string{"Why", "Before", "After", "When it is wrong"} {
			if !strings.Contains("\n"+page, "\n## "+heading+"\n") {
				t.Errorf("%s: the page lacks %q", r.ID, heading)
			}
		}
		name := strings.TrimPrefix(r.ID, "lint/")
		sources[name+".before.py"], sources[name+".after.py"] = example(page, "Before"), example(page, "After")
	}
	_, result := judge(t, sources)
	for _, u := range result.Unjudged {
		t.Errorf("%s: %s", u.File, u.Why)
	}
	for _, r := range All() {
		name := strings.TrimPrefix(r.ID, "lint/")
		if !fires(result, name+".before.py", r.ID) {
			t.Errorf("%s: the example before has nothing found in it", r.ID)
		}
		if fires(result, name+".after.py", r.ID) {
			t.Errorf("%s: the example after is found", r.ID)
		}
	}
}

func fires(result Result, file, id string) bool {
	return slices.ContainsFunc(result.Findings, func(f Finding) bool { return f.File == file && f.Rule == id })
}

// TestCases goes through testdata/*.txtar: small scripts with "# want: rule" on the lines where something is to be
// found, at whatever certainty; "rule?" is found as possible and no more.
func TestCases(t *testing.T) {
	archives := must.Get(filepath.Glob("testdata/*.txtar"))(t)
	if len(archives) == 0 {
		t.Fatal("no cases")
	}
	for _, name := range archives {
		sources, want := map[string]string{}, []string{}
		for _, f := range must.Get(txtar.ParseFile(name))(t).Files {
			sources[f.Name] = string(f.Data)
			for i, line := range strings.Split(string(f.Data), "\n") {
				if _, rules, marked := strings.Cut(line, "# want: "); marked {
					for rule := range strings.SplitSeq(rules, ", ") {
						want = append(want, fmt.Sprintf("%s:%d lint/%s", f.Name, i+1, rule))
					}
				}
			}
		}
		_, result := judge(t, sources)
		got := []string{}
		for _, f := range result.Findings {
			place := fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Rule)
			if f.Certainty == Possible && slices.Contains(want, place+"?") {
				place += "?"
			}
			got = append(got, place)
		}
		for _, u := range result.Unjudged {
			t.Errorf("%s: %s: %s", name, u.File, u.Why)
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: not found: %s", name, w)
			}
		}
		for _, g := range got {
			if !slices.Contains(want, g) {
				t.Errorf("%s: found: %s", name, g)
			}
		}
	}
}

// TestUnjudged: what cannot be read or parsed is named with the reason, and so is a file that ends the interpreter; the
// rest is judged.
func TestUnjudged(t *testing.T) {
	_, result := judge(t, map[string]string{
		"a.py": "x = (\n", "b.py": "import torch\n\n\nprint 'two'\n", "c.py": strings.Repeat("(", 9000),
		"d.py": "# \xff\n", "e.ipynb": "no json", "z.py": example(written("lint/workers-restart"), "Before"),
	})
	want := map[string]string{"a.py": "line 1", "b.py": "line 4", "c.py": "", "d.py": "cannot be decoded",
		"e.ipynb": "no notebook"}
	for _, u := range result.Unjudged {
		why, expected := want[u.File]
		if !expected || !strings.Contains(u.Why, why) {
			t.Errorf("%s: %s", u.File, u.Why)
		}
		delete(want, u.File)
	}
	if len(want) > 0 || !fires(result, "z.py", "lint/workers-restart") {
		t.Errorf("not told: %v; found %v", want, result.Findings)
	}
}

// TestInterpreters: one that dies at a file costs that file alone, one that cannot judge anything is an error.
func TestInterpreters(t *testing.T) {
	folder := t.TempDir()
	program := func(script string) string {
		path := filepath.Join(t.TempDir(), "python3")
		must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		return path
	}
	once := filepath.Join(folder, "once")
	r := Request{Folder: folder, Files: []string{"a.py", "b.py", "c.py"}, Rules: []string{"lint/workers-zero"},
		Least: Likely}
	r.Python = program("echo ready; test -e " + once + " && { echo '{}'; exit; }; touch " + once +
		"; echo '{}'; kill -11 $$")
	result, err := Run(t.Context(), r)
	if err != nil || len(result.Unjudged) != 1 || result.Unjudged[0].File != "b.py" ||
		!strings.Contains(result.Unjudged[0].Why, "segmentation") {
		t.Errorf("%+v, %v", result, err)
	}
	for script, want := range map[string]string{"echo 'Python 3.8 or newer' >&2; exit 1": "Python 3.8 or newer",
		"exit 0": "no answer",
		`echo ready; echo '{"Findings":[{"Rule":"lint/x"}]}'`: "no sense", "echo ready; echo hello": "cannot be read"} {
		r.Python = program(script)
		if _, err := Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", script, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, r); err == nil {
		t.Error("ended, and no error")
	}
}

// TestFixes makes the changes of the pages that have one: the example before becomes the example after.
func TestFixes(t *testing.T) {
	for _, name := range []string{"workers-restart", "pinned-but-blocking", "non-blocking-but-pageable"} {
		page := written("lint/" + name)
		folder, result := judge(t, map[string]string{"x.py": example(page, "Before")})
		if len(result.Changes) != 1 || string(result.Changes[0].Text) != example(page, "After") {
			t.Errorf("%s: %s", name, result.Changes)
			continue
		}
		if !bytes.HasPrefix(result.Changes[0].Diff, []byte("--- a/x.py\n+++ b/x.py\n")) {
			t.Errorf("%s: %s", name, result.Changes[0].Diff)
		}
		if got := must.Get(os.ReadFile(filepath.Join(folder, "x.py")))(t); string(got) != example(page, "Before") {
			t.Errorf("%s: the file was written", name)
		}
	}
}
