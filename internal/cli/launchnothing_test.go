package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/launch"
)

// TestNothing: where there is no report the reason is reported, and -q keeps back all but failures, which a file that
// was asked for and is missing is.
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
