package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// failing is a stream on which each write fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: f.err}
}

// TestStdoutThatFails: a full disk under stdout is reported, a reader that has gone is not; files are whole in both.
func TestStdoutThatFails(t *testing.T) {
	recording := filepath.Join("..", "..", "testdata", "recordings", "no-workers.jsonl")
	for name, c := range map[string]struct {
		err  error
		args []string
		code int
	}{
		"full":               {syscall.ENOSPC, nil, exitUsage},
		"reader gone":        {syscall.EPIPE, nil, exitOK},
		"reader gone, gated": {syscall.EPIPE, []string{"--fail-on", "warning"}, exitGate},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "r.json")
			var stderr bytes.Buffer
			env := Env{Stdout: failing{c.err}, Stderr: &stderr, Getenv: func(string) string { return "" }}
			if code := Main(append([]string{"report", recording, "-o", file}, c.args...), env); code != c.code {
				t.Errorf("exit code %d, want %d; stderr: %s", code, c.code, stderr.String())
			}
			if printed := strings.Contains(stderr.String(), "writing to stdout: "+
				c.err.Error()); printed != (c.err == syscall.ENOSPC) {
				t.Errorf("stderr: %s", stderr.String())
			}
			if text, err := os.ReadFile(file); err != nil || !bytes.HasSuffix(text, []byte("}\n")) {
				t.Errorf("the file: %d bytes, %v", len(text), err)
			}
		})
	}
	for _, page := range [][]string{{"help"}, {"help", "exit-codes"}, {"explain"}, {"version"}, {"doctor"},
		{"compare", "--help"}} {
		env := Env{Stdout: failing{syscall.ENOSPC}, Stderr: &bytes.Buffer{}, Getenv: func(string) string { return "" }}
		if code := Main(page, env); code != exitUsage {
			t.Errorf("pipetune %s on a full disk: exit code %d", strings.Join(page, " "), code)
		}
	}
}

// TestOutletKeepsTheFirstFailure: what comes after a failed write would leave a hole.
func TestOutletKeepsTheFirstFailure(t *testing.T) {
	var b bytes.Buffer
	o := stdoutWriter{w: &flaky{w: &b, good: 1}}
	for range 3 {
		_, _ = o.Write([]byte("x")) // what it answers is asked for below
	}
	if b.String() != "x" || !errors.Is(o.failure(), syscall.ENOSPC) {
		t.Errorf("written %q, failure %v", b.String(), o.failure())
	}
}

// flaky fails the first write after the good ones only.
type flaky struct {
	w    *bytes.Buffer
	good int
}

func (f *flaky) Write(b []byte) (int, error) {
	if f.good--; f.good == -1 {
		return 0, syscall.ENOSPC
	}
	return f.w.Write(b)
}
