package patch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var six = []Setting{{Name: "num_workers", To: "6"}}

// TestBytesAreKept changes files whose bytes are out of the ordinary: only the value may differ afterwards.
func TestBytesAreKept(t *testing.T) {
	const call = "loader = DataLoader(data, num_workers=1)"
	for name, before := range map[string]string{
		"windows line ends":            "import torch\r\n" + call + "\r\nprint(1)\r\n",
		"mixed line ends":              "import torch\n" + call + "\r\nprint(1)\n",
		"no line end at the end":       "import torch\n" + call,
		"byte order mark":              "\ufeff" + call + "\n",
		"byte order mark and CRLF":     "\ufeff" + call + "\r\n",
		"latin 1":                      "# -*- coding: latin-1 -*-\n# gr\xf6\xdfe\n" + call + "  # \xe9\n",
		"form feed":                    "a = 1\n\x0c\n" + call + "\n",
		"unicode line separator":       "a = '\u2028\u0085'\n" + call + "\n",
		"old mac line ends in strings": "a = 'x\\\r\ny'\n" + call + "\n",
		"a long way down": strings.Repeat("x = 1\n", 20000) + call + "\n" + strings.Repeat("y = 1\n",
			20000),
		"escapes": "a = '\x1b[2J'\n" + call + "  # \u202e\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, "train.py", before)
			p := must.Get(Make(t.Context(), r))(t)
			if want := strings.Replace(before, "num_workers=1", "num_workers=6", 1); applied(t, r, p) != want {
				t.Error("the patched file is not what was meant")
			}
		})
	}
}

// TestNames: patch reads back names below the folder and outside, through links, with characters that end one.
func TestNames(t *testing.T) {
	const call = "DataLoader(data, num_workers=1)\n"
	for _, name := range []string{"train.py", "a b.py", "a/b/train.py", "tab\t.py", "new\nline.py", "quote\".py",
		"back\\slash.py", "日本.py", "-.py", "b\xff.py"} {
		r := request(t, name, call)
		p := must.Get(Make(t.Context(), r))(t)
		if p.File != name {
			t.Errorf("named %q, not %q", p.File, name)
		}
		if got := applied(t, r, p); got != "DataLoader(data, num_workers=6)\n" {
			t.Errorf("%q became %q", name, got)
		}
	}
	r := request(t, "train.py", call)
	r.Folder = t.TempDir()
	p, err := Make(t.Context(), r)
	if err != nil || p.File != r.File || !strings.Contains(p.Diff, "--- a"+r.File+"\n") {
		t.Errorf("outside of the folder: %q, %v\n%s", p.File, err, p.Diff)
	}
	cmd := exec.Command("patch", "-p1", "-d", "/")
	cmd.Stdin = strings.NewReader(p.Diff)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("patch -d /: %v: %s", err, out)
	}
	r = request(t, "real/train.py", call)
	must.Do(t, os.Symlink("real/train.py", filepath.Join(r.Folder, "link.py")))
	r.File = filepath.Join(r.Folder, "link.py")
	if p, err = Make(t.Context(), r); err != nil || p.File != "real/train.py" {
		t.Errorf("through a link: %q, %v", p.File, err)
	}
}

// TestRefusals: every reason for no patch is said, with the file.
func TestRefusals(t *testing.T) {
	const call = "DataLoader(data, num_workers=1)\n"
	folder := t.TempDir()
	for name, text := range map[string]string{
		"good.py": call, "utf8.py": "# \xff\n" + call, "nul.py": "a = '\x00'\n" + call, "large.py": call +
			strings.Repeat("#", 5<<20), "deep.py": strings.Repeat("(", 5000) + call,
		"cookie.py": "# coding: klingon\n" + call,
	} {
		write(t, filepath.Join(folder, name), text)
	}
	must.Do(t, os.Mkdir(filepath.Join(folder, "folder.py"), 0o755))
	for name, c := range map[string]struct {
		file, want string
		line       int
		began      time.Time
	}{
		"gone":                  {folder + "/gone.py", "cannot be read: No such file or directory", 1, time.Time{}},
		"a folder":              {folder + "/folder.py", "not a regular file", 1, time.Time{}},
		"below a file":          {folder + "/good.py/x.py", "cannot be read", 1, time.Time{}},
		"no UTF-8":              {folder + "/utf8.py", "cannot be decoded", 2, time.Time{}},
		"a NUL":                 {folder + "/nul.py", "cannot parse it", 2, time.Time{}},
		"unknown encoding":      {folder + "/cookie.py", "unknown encoding", 2, time.Time{}},
		"too large":             {folder + "/large.py", "larger than 4 MiB", 1, time.Time{}},
		"too deep":              {folder + "/deep.py", "", 1, time.Time{}},
		"changed since":         {folder + "/good.py", "changed after the job began", 1, time.Now().Add(-time.Hour)},
		"a line behind the end": {folder + "/good.py", "holds no call", 9, time.Time{}},
		"no line":               {folder + "/good.py", "no line", 0, time.Time{}},
		"from a string":         {"/home/ada/<string>", "in no file", 1, time.Time{}},
		"a notebook":            {"/tmp/ipykernel_123/456.py", "notebook", 1, time.Time{}},
		"not absolute":          {"train.py", "not an absolute path", 1, time.Time{}},
		"not said":              {"", "did not say", 1, time.Time{}},
	} {
		p, err := Make(t.Context(), Request{Python: *with, File: c.file, Folder: folder, Line: c.line, Began: c.began,
			Settings: six})
		if err == nil || !strings.Contains(err.Error(), c.want) || p.Diff != "" || c.file != "" &&
			!strings.HasPrefix(err.Error(), c.file) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	r := request(t, "train.py", call)
	r.Began = time.Now().Add(time.Minute)
	if p, err := Make(t.Context(), r); err != nil || p.Diff == "" {
		t.Errorf("older than the job: %v", err)
	}
}

// TestInterpreters: one that is gone is stood in for, one that lies, floods or dies is reported. That none lives on is
// tested where they are run: package python.
func TestInterpreters(t *testing.T) {
	r := request(t, "train.py", "DataLoader(data, num_workers=1)\n")
	r.Python = "/nonexistent/python3"
	if p, err := Make(t.Context(), r); err != nil || p.Diff == "" {
		t.Errorf("the python3 of PATH does not stand in: %v", err)
	}
	for want, script := range map[string]string{
		"gave no answer":      "echo hello",
		"answered too much":   "head -c 2000000 /dev/zero",
		"out of memory":       "echo 'MemoryError: out of memory' >&2; exit 1",
		"Python 3.8 or newer": "echo 'Python 3.8 or newer is needed to read the source' >&2; exit 1",
		"signal 9, killed":    "kill -9 $$",
	} {
		r.Python = program(t, script)
		if _, err := Make(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", script, err)
		}
	}
}

func request(t *testing.T, name, source string) Request {
	t.Helper()
	folder := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	r := Request{Python: *with, File: filepath.Join(folder, name), Folder: folder, Line: lineOf(source), Settings: six}
	must.Do(t, os.MkdirAll(filepath.Dir(r.File), 0o755))
	write(t, r.File, source)
	return r
}

func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python3")
	must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	return path
}
