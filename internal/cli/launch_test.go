package cli

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/launch"
)

// TestNothing: why there is no report is said, and -q keeps back all but failures: a missing file of -o is one.
func TestNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		quiet  bool
		err    error
		failed bool
		outs   []output
		names  string // of the files
		want   string // "": nothing is said
	}{
		{name: "nothing is known", want: "nothing in it took a batch or looked like training\n"},
		{name: "judging", err: errors.New("the recording holds no readings"),
			want: "and the recording holds no readings\n"},
		{name: "quiet", quiet: true},
		{name: "quiet, and only the recording was asked for", quiet: true,
			outs: []output{{path: "run.jsonl", recording: true}}},
		{name: "quiet, but a report was asked for", quiet: true, outs: []output{{path: "run.jsonl", recording: true},
			{path: "a.json"}, {path: "a.md"}},
			names: " (-o a.json, -o a.md)", want: "nothing in it took a batch or looked like training\n"},
		{name: "quiet, but it failed", quiet: true, err: errors.New("process 7 belongs to another user"), failed: true,
			want: "process 7 belongs to another user\n"},
	} {
		l := &launched{Job: &launch.Job{}, o: &diagnoseOptions{}}
		l.o.quiet, l.o.outs = c.quiet, c.outs
		l.env.Stderr = &l.held
		l.nothing(c.err, c.failed)
		got := l.held.String()
		if !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got != "" && !strings.HasPrefix(got, "pipetune: no report"+c.names+": the job ended after ") {
			t.Errorf("%s: %q does not name %q", c.name, got, c.names)
		}
	}
}

// TestWritePatch: the patch goes to the outputs that take one; where there is none no file is made, and it is said why.
func TestWritePatch(t *testing.T) {
	path := t.TempDir() + "/fix.patch"
	var stderr bytes.Buffer
	l := &launched{env: Env{Stderr: &stderr}, fix: launch.Fix{Why: "no setting"}, o: &diagnoseOptions{}}
	l.o.outs = []output{{path: path, patch: true}, {path: path + ".md"}}
	if err := l.writePatch(); err != nil || stderr.String() != "pipetune: -o "+path+
		": no patch was written: no setting\n" {
		t.Errorf("%v, said %q", err, stderr.String())
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	stderr.Reset()
	l.fix = launch.Fix{Diff: "--- a\n+++ b\n"}
	if err := l.writePatch(); err != nil || strings.TrimSpace(stderr.String()) != "" {
		t.Errorf("%v, said %q", err, stderr.String())
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != l.fix.Diff {
		t.Errorf("%q, %v", got, err)
	}
}
