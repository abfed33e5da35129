package cli

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
)

// TestNothing: where there is no report the reason is told, and -q keeps back all but failures, which a file that was asked for and is missing is.
func TestNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		quiet  bool
		err    error
		failed bool
		why    reason
		noHook string
		outs   []output
		want   string // "": nothing is said
	}{
		{name: "nothing is known", want: "nothing in it took a batch or looked like training\n"},
		{name: "isolated", why: reason{"Python was started with -I", 3}, want: "training; the hook told nothing: Python was started with -I\n"},
		{name: "no receiver", why: reason{"sh is not a Python", 1}, noHook: "the hook could not be prepared: no room", want: "told nothing: the hook could not be prepared: no room\n"},
		{name: "judging", err: errors.New("the recording holds no readings"), want: "and the recording holds no readings\n"},
		{name: "quiet", quiet: true, why: reason{"Python was started with -I", 3}},
		{name: "quiet, and only the recording was asked for", quiet: true, outs: []output{{path: "run.jsonl", recording: true}}},
		{name: "quiet, but a report was asked for", quiet: true, outs: []output{{path: "run.jsonl", recording: true}, {path: "a.json"}, {path: "a.md"}},
			want: "pipetune: no report (-o a.json, -o a.md): the job ended after 0s, and nothing in it took a batch or looked like training\n"},
		{name: "quiet, but it failed", quiet: true, err: errors.New("process 7 belongs to another user"), failed: true, want: "process 7 belongs to another user\n"},
	} {
		l := &launch{o: &diagnoseOptions{}, started: time.Now(), quiet: c.why, noHook: c.noHook, outs: c.outs}
		l.o.quiet = c.quiet
		l.env.Stderr = &l.held
		l.nothing(c.err, c.failed)
		if got := l.held.String(); !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNoticeKeepsWhatSaysMost: a process that is no Python is a reason, but not one that stands against another.
func TestNoticeKeepsWhatSaysMost(t *testing.T) {
	self := procfs.ID{PID: os.Getpid(), Start: startOf(t, os.Getpid())}
	tree := &job.Tree{Processes: []job.Process{{ID: self}}}
	l := &launch{}
	l.notice(tree)
	if !strings.HasSuffix(l.quiet.text, "is not a Python") {
		t.Errorf("noticed %+v", l.quiet)
	}
	l.quiet = reason{"Python was started with -I", 3}
	l.notice(tree)
	if l.quiet.weight != 3 {
		t.Errorf("a lesser reason stands now: %+v", l.quiet)
	}
}
