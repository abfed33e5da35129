package cli

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pipetune/pipetune/internal/probe"
)

func benchEnv(w *bytes.Buffer, terminal bool, vars map[string]string) Env {
	return Env{Stderr: w, StderrTerminal: terminal, Getenv: func(k string) string { return vars[k] }}
}

func TestProgressInALog(t *testing.T) {
	for name, env := range map[string]struct {
		terminal, quiet bool
		vars            map[string]string
	}{"no terminal": {}, "CI": {terminal: true, vars: map[string]string{"CI": "1"}},
		"dumb": {terminal: true, vars: map[string]string{"TERM": "dumb"}}, "quiet": {terminal: true, quiet: true},
		"quiet log": {quiet: true}} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			p := newProgress(benchEnv(&b, env.terminal, env.vars), env.quiet, 90*time.Second, benchProgress())
			if p.steps == env.quiet {
				t.Errorf("steps are shown: %v", p.steps)
			}
			p.step("random reads\x1b[31m", 0)
			for s := range 100 {
				p.tick(time.Duration(s) * time.Second)
			}
			p.tick(200 * time.Second) // a long step: the lines that were due in between are one
			p.step("several workers", 201*time.Second)
			p.done()
			p.tick(300 * time.Second)
			want := ""
			for _, at := range []int{30, 60, 90, 200} {
				want += fmt.Sprintf("pipetune: measuring random reads\\x1b[31m  %d/90 s\n", at)
			}
			if env.quiet {
				want = ""
			}
			if got := b.String(); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// TestProgressOnATerminal: what is measured, what is left, in 80 columns; a bar taken away is not drawn again.
func TestProgressOnATerminal(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(benchEnv(&b, true, nil), false, time.Minute, benchProgress())
	p.step(strings.Repeat("w", 100), 0)
	p.step("random reads, cold", 12*time.Second)
	p.step("reading items, warm and cold, in order and shuffled", 13*time.Second)
	p.tick(70 * time.Second)
	for _, line := range strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\r' || r == '\n' }) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	for _, want := range []string{"random reads, cold", "48 s left", "reading items   ", "finishing", "Ctrl-C"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in %q", want, b.String())
		}
	}
	p.done()
	if after := b.String(); !strings.HasSuffix(strings.TrimRight(after, " "), "\r") {
		t.Errorf("the bar is not taken away: %q", after)
	}
	shown := b.Len()
	p.tick(71 * time.Second)
	p.done()
	if b.Len() != shown {
		t.Errorf("a late tick drew: %q", b.String()[shown:])
	}
}

// TestStepsOfAShortLog: nobody finds out what a log of one line, at its end, is to say.
func TestStepsOfAShortLog(t *testing.T) {
	for terminal, want := range map[bool]bool{false: false, true: true} {
		var b bytes.Buffer
		p := newProgress(benchEnv(&b, terminal, nil), false, lineEvery, watchProgress(1))
		if p.done(); p.steps != want {
			t.Errorf("on a terminal %v: steps are shown %v", terminal, p.steps)
		}
	}
}

// TestProgressFromSeveralGoroutines is for the race detector.
func TestProgressFromSeveralGoroutines(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(benchEnv(&b, false, nil), false, time.Minute, benchProgress())
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for s := range 100 {
				p.tick(time.Duration(s) * time.Second)
				p.step("x", time.Duration(s)*time.Second)
			}
		})
	}
	wait.Wait()
	p.done()
	if got := strings.Count(b.String(), "\n"); got != 3 {
		t.Errorf("%d lines: %q", got, b.String())
	}
}

func TestBenchPlan(t *testing.T) {
	got := benchPlan("~/data: image, 12 files\x1b[2J", []probe.Step{{Probe: "open", What: "opening files",
		Budget: 6 * time.Second}, {Probe: "read", What: "random reads, cold", Budget: 12500 * time.Millisecond},
		{Probe: "read", What: "random reads, warm", Budget: 40 * time.Millisecond}}, time.Minute)
	want := `~/data: image, 12 files\x1b[2J
up to 60 s would be measured, in this order:
   6.0 s  open  opening files
    12 s  read  random reads, cold
   0.0 s        random reads, warm
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := benchPlan("x", nil, time.Second); !strings.Contains(got, "nothing") {
		t.Errorf("%q", got)
	}
}

// TestSurveyProgress: the look at a large dataset is reported too, and that Ctrl-C ends it without a report.
func TestSurveyProgress(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(benchEnv(&b, true, nil), false, 30*time.Second, surveyProgress())
	p.tick(progressEvery)
	p.done()
	for _, want := range []string{"looking at the dataset", "30 s left", "Ctrl-C: end"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in %q", want, b.String())
		}
	}
}

// TestProgressFitsNarrowTerminals: a line that is as wide as the terminal would scroll it at each drawing.
func TestProgressFitsNarrowTerminals(t *testing.T) {
	for columns, bar := range map[int]string{100: "[============>           ]", 60: "[==", 40: ""} {
		var b bytes.Buffer
		env := benchEnv(&b, true, nil)
		env.Columns = func() int { return columns }
		p := newProgress(env, false, time.Minute, watchProgress(4711))
		p.tick(30 * time.Second)
		p.done()
		for line := range strings.FieldsFuncSeq(b.String(), func(r rune) bool { return r == '\r' }) {
			if n := utf8.RuneCountInString(line); n >= columns {
				t.Errorf("%d of %d columns: %q", n, columns, line)
			}
		}
		if !strings.Contains(b.String(), "pid 4711  30/60 s") || !strings.Contains(b.String(), bar) ||
			strings.Contains(b.String(), "[") != (bar != "") {
			t.Errorf("%d columns: %q", columns, b.String())
		}
	}
}
