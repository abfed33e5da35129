package python

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

var with = flag.String("python", "/usr/bin/python3", "the interpreter to test with")

// run runs a script with a request and returns what it wrote.
func run(t *testing.T, ctx context.Context, script string, request any, most int) (string, error) {
	t.Helper()
	out, err := Run(ctx, *with, must.Get(Question([]byte(script), request))(t), most)
	return string(out), err
}

// TestScriptJoins: the parts share a namespace, in their order, whether or not they end in a newline.
func TestScriptJoins(t *testing.T) {
	files := fstest.MapFS{"a.py": {Data: []byte("x = 1")}, "b.py": {Data: []byte("print(x)\n")}}
	script := must.Get(Script(files, "a.py", "b.py"))(t)
	if got, err := run(t, t.Context(), string(script), nil, 100); got != "1\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Script(files, "a.py", "c.py"); err == nil {
		t.Error("a part that is not there is no error")
	}
}

// TestQuestion: the script sees the request as it was, and nothing of it is taken for the script.
func TestQuestion(t *testing.T) {
	const script = "import json, sys\nprint(json.load(sys.stdin.buffer)['text'])"
	for _, text := range []string{"", "a\nb", "é\u2028\x00", "print(1)", strings.Repeat("x", 1<<17)} {
		got, err := run(t, t.Context(), script, map[string]string{"text": text}, 1<<20)
		if got != text+"\n" || err != nil {
			t.Errorf("%.40q: %.40q, %v", text, got, err)
		}
	}
	if _, err := Question(nil, func() {}); err == nil {
		t.Error("a request that is no JSON is no error")
	}
}

// TestRunIsAlone: nothing of the person's environment reaches the script, and it can write no file.
func TestRunIsAlone(t *testing.T) {
	folder := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(folder, "sitecustomize.py"), []byte("print('theirs')"), 0o644))
	must.Do(t, os.WriteFile(filepath.Join(folder, "json.py"), []byte("print('theirs')"), 0o644))
	t.Setenv("PYTHONPATH", folder)
	t.Setenv("PYTHONSTARTUP", filepath.Join(folder, "json.py"))
	t.Chdir(folder)
	const script = `import json, os, sys
target = json.loads(sys.stdin.buffer.read())
wrote = True
try:
    with open(target, "w") as f:
        f.write("harm")
except OSError:
    wrote = False
print(json.dumps({"path": sys.path, "cwd": os.getcwd(), "wrote": wrote, "site": "site" in sys.modules}))`
	got, err := run(t, t.Context(), script, filepath.Join(folder, "harm"), 1<<20)
	var told struct {
		Path        []string
		Cwd         string
		Wrote, Site bool
	}
	must.Do(t, errors.Join(err, json.Unmarshal([]byte(got), &told)))
	if told.Wrote || told.Site || told.Cwd != "/" {
		t.Errorf("%+v", told)
	}
	for _, p := range told.Path {
		if p == "" || strings.HasPrefix(p, folder) {
			t.Errorf("%q is on its path", p)
		}
	}
}

// TestRunTellsWhatFailed: what came before is given with the error, which ends in the last line of its complaint.
func TestRunTellsWhatFailed(t *testing.T) {
	for _, c := range []struct{ name, script, out, want string }{
		{"exit", "import sys\nprint('begun', flush=True)\nsys.exit('no such thing')", "begun\n", ": no such thing"},
		{"raises", "print('begun', flush=True)\nraise ValueError('x\\x1b[31m')", "begun\n", "ValueError: x"},
		{"signal", "import os\nprint('begun', flush=True)\nos.abort()", "begun\n", "signal 6, aborted"},
		{"silent", "import os\nos._exit(3)", "", "exit status 3"},
		{"too-much", "print('x' * 1000)", strings.Repeat("x", 64), "answered too much"},
		{"memory", "x = bytearray(6 << 30)", "", "MemoryError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := run(t, t.Context(), c.script, nil, 64)
			if got != c.out || err == nil || !strings.Contains(err.Error(), c.want) ||
				strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	for name, program := range map[string]string{"none": "/nowhere/python3", "no program": t.TempDir()} {
		if _, err := Run(t.Context(), program, nil, 64); !errors.Is(err, ErrNotStarted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Run(t.Context(), "/bin/true", nil, 64); err != nil {
		t.Errorf("a program that ends well without a word: %v", err)
	}
}

// TestRunEndsItsProcesses: at the end of its time, and when it ends before those it started, none of its group is left.
func TestRunEndsItsProcesses(t *testing.T) {
	const begin = `import os, sys, time
child = os.fork()
if child == 0:
    os.close(1); os.close(2)
    time.sleep(600)
    os._exit(0)
print(child, flush=True)
`
	for name, c := range map[string]struct {
		script string
		late   bool
	}{"its time is over": {begin + "time.sleep(600)", true}, "it ends first": {begin, false}} {
		ctx, cancel := context.WithCancel(t.Context())
		if c.late {
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		}
		got, err := run(t, ctx, c.script, nil, 64)
		cancel()
		if c.late != errors.Is(err, context.DeadlineExceeded) || !c.late && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var pid int
		must.Do(t, json.Unmarshal([]byte(strings.TrimSpace(got)), &pid))
		if alive(pid) {
			t.Errorf("%s: process %d is left", name, pid)
		}
	}
}

// alive reports whether a process still runs 10 s after it was killed: init takes its status when it likes.
func alive(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
	return n == 0
}
