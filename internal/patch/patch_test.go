package patch

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	update = flag.Bool("update", false, "write the expectations anew")
	with   = flag.String("python", "/usr/bin/python3", "the interpreter to test with")
)

var pythonVersion = regexp.MustCompile(`Python 3\.\d+`)

// change is one case of the tables under testdata.
type change struct {
	name                       string
	ask, before, after, expect string
}

// TestTables makes each change: it must apply with patch(1), parse, and be found done by a second Make.
func TestTables(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables (%v)", err)
	}
	total := 0
	for _, file := range files {
		archive := must.Get(txtar.ParseFile(file))(t)
		cases := casesOf(archive)
		total += len(cases)
		for i := range cases {
			t.Run(cases[i].name, func(t *testing.T) { cases[i].run(t) })
		}
		if *update {
			must.Do(t, os.WriteFile(file, txtar.Format(archiveOf(archive.Comment, cases)), 0o644))
		}
	}
	if total < 40 {
		t.Errorf("only %d cases", total)
	}
}

func casesOf(a *txtar.Archive) []change {
	var list []change
	for _, f := range a.Files {
		name, part, _ := strings.Cut(f.Name, "/")
		if len(list) == 0 || list[len(list)-1].name != name {
			list = append(list, change{name: name})
		}
		c := &list[len(list)-1]
		*map[string]*string{"ask": &c.ask, "before.py": &c.before, "after.py": &c.after,
			"told": &c.expect}[part] = string(f.Data)
	}
	return list
}

func archiveOf(comment []byte, cases []change) *txtar.Archive {
	a := &txtar.Archive{Comment: comment}
	for _, c := range cases {
		for _, f := range []struct{ name, text string }{{"ask", c.ask}, {"before.py", c.before}, {"after.py", c.after},
			{"told", c.expect}} {
			if f.text != "" {
				a.Files = append(a.Files, txtar.File{Name: c.name + "/" + f.name, Data: []byte(f.text)})
			}
		}
	}
	return a
}

func (c *change) run(t *testing.T) {
	folder := t.TempDir()
	r := c.request(t, folder)
	write(t, r.File, c.before)
	p, err := Make(t.Context(), r)
	got, after := told(p, err), ""
	if err == nil && p.Diff != "" {
		after = applied(t, r, p)
	}
	got = pythonVersion.ReplaceAllString(strings.ReplaceAll(got, folder, "FOLDER"), "Python 3.x")
	if *update {
		c.expect, c.after = got, after
		return
	}
	if d := cmp.Diff(c.expect, got); d != "" {
		t.Errorf("told (-want +got):\n%s", d)
	}
	if d := cmp.Diff(c.after, after); d != "" {
		t.Errorf("source (-want +got):\n%s", d)
	}
}

// request reads what is asked: settings, and "line" and "workers" with a number.
func (c *change) request(t *testing.T, folder string) Request {
	t.Helper()
	r := Request{Python: *with, File: filepath.Join(folder, "train.py"), Folder: folder, Line: lineOf(c.before)}
	words := strings.Fields(c.ask)
	for i, word := range words {
		name, to, isSetting := strings.Cut(word, "=")
		switch {
		case isSetting:
			r.Settings = append(r.Settings, Setting{Name: name, To: to})
		case i > 0 && (words[i-1] == "line" || words[i-1] == "workers"):
			n := must.Get(strconv.Atoi(word))(t)
			if words[i-1] == "workers" {
				r.Workers = &n
			} else {
				r.Line = n
			}
		}
	}
	return r
}

// lineOf is the first line that makes a loader.
func lineOf(source string) int {
	for i, l := range strings.Split(source, "\n") {
		if strings.Contains(l, "DataLoader(") || strings.Contains(l, "DataLoader (") ||
			strings.Contains(l, "(DataLoader)") {
			if !strings.HasPrefix(l, "class ") {
				return i + 1
			}
		}
	}
	return 0
}

func told(p report.Patch, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, s := range p.Settings {
		from := "-"
		if s.From != nil {
			from = *s.From
		}
		fmt.Fprintf(&b, "%s: %s -> %s, %s, line %d\n", s.Setting, from, s.To, s.How, s.Line)
		if s.Origin != "" {
			fmt.Fprintf(&b, "  %s\n", s.Origin)
		}
	}
	return b.String()
}

// applied gives the file that patch(1) makes of it, parses it, and asks again: then nothing is left to change.
func applied(t *testing.T, r Request, p report.Patch) string {
	t.Helper()
	cmd := exec.Command("patch", "-p1", "--batch", "--fuzz=0")
	cmd.Dir, cmd.Stdin = r.Folder, strings.NewReader(p.Diff)
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("offset")) {
		t.Fatalf("patch -p1: %v: %s\n%s", err, out, p.Diff)
	}
	if out, err := exec.Command(*with, "-I", "-S", "-c", "import ast,sys; ast.parse(open(sys.argv[1],'rb').read())",
		r.File).CombinedOutput(); err != nil {
		t.Fatalf("the patched file does not parse: %s", out)
	}
	after := must.Get(os.ReadFile(r.File))(t)
	again, err := Make(context.WithoutCancel(t.Context()), r)
	if err != nil || again.Diff != "" {
		t.Errorf("a second time: %v\n%s", err, again.Diff)
	}
	for _, s := range again.Settings {
		if i := slices.IndexFunc(p.Settings,
			func(x report.PatchedSetting) bool { return x.Setting == s.Setting }); i >= 0 &&
			p.Settings[i].How != report.PatchElsewhere && s.How != report.PatchAlready {
			t.Errorf("a second time %s is %s, not already there", s.Setting, s.How)
		}
	}
	return string(after)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}
