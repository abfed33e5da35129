package launch

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestTerminalHasTold: what a terminal or its shell sends to whole groups is not sent to the job a second time.
func TestTerminalHasTold(t *testing.T) {
	const int, quit, hup, term, usr1, cont, winch = syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM,
		syscall.SIGUSR1, syscall.SIGCONT, syscall.SIGWINCH
	for _, c := range []struct {
		name                               string
		had, leader, yes, there, byProcess bool
		received, forwarded                []os.Signal
	}{
		{"no terminal: a scheduler's", false, false, false, false, false, nil, []os.Signal{int, quit, hup, term, usr1,
			cont, winch}},
		{"in the foreground", true, false, true, true, false, []os.Signal{int, quit, cont, winch},
			[]os.Signal{hup, term, usr1}},
		{"kill, in the foreground", true, false, true, true, true, []os.Signal{cont}, []os.Signal{int, quit, hup, term,
			usr1, winch}},
		{"in the background", true, false, false, true, false, []os.Signal{cont}, []os.Signal{int, quit, hup, term,
			usr1, winch}},
		{"the terminal is gone", true, false, false, false, false, []os.Signal{hup, cont}, []os.Signal{int, quit, term,
			usr1}},
		{"the terminal is gone, and told the leader alone", true, true, false, false, false, nil,
			[]os.Signal{int, hup, cont, term, usr1}},
	} {
		tty := terminal{had: c.had, leader: c.leader, foreground: func() (bool, bool) { return c.yes, c.there },
			fromKernel: func(os.Signal) bool { return !c.byProcess }}
		for _, s := range c.received {
			if !tty.hasReceived(s) {
				t.Errorf("%s: %s would reach the job twice", c.name, s)
			}
		}
		for _, s := range c.forwarded {
			if tty.hasReceived(s) {
				t.Errorf("%s: %s would not reach the job", c.name, s)
			}
		}
	}
}

// TestRelay: every signal is passed on once; the first to ask for the end ends the watch, a second all but waiting.
func TestRelay(t *testing.T) {
	signals, over, hurry, done := make(chan os.Signal), make(chan struct{}), make(chan struct{}), make(chan struct{})
	passed := make(chan os.Signal, 16)
	ended := make(chan struct{})
	go func() {
		relay(signals, terminal{}, func(s os.Signal) { passed <- s }, over, hurry, done)
		close(ended)
	}()
	for _, c := range []struct {
		signal      os.Signal
		over, hurry bool
	}{{syscall.SIGUSR1, false, false}, {syscall.SIGTERM, true, false}, {syscall.SIGUSR2, true, false},
		{syscall.SIGINT, true, true}, {syscall.SIGHUP, true, true}} {
		signals <- c.signal
		signals <- syscall.SIGWINCH // taken only after the one before was dealt with
		if closed(over) != c.over || closed(hurry) != c.hurry {
			t.Errorf("after %s: over %v, hurry %v", c.signal, closed(over), closed(hurry))
		}
	}
	close(done)
	<-ended
	close(passed)
	var got []os.Signal
	for s := range passed {
		if s != syscall.SIGWINCH { // how many of them came within one sending is a matter of pace
			got = append(got, s)
		}
	}
	if want := []os.Signal{syscall.SIGUSR1, syscall.SIGTERM, syscall.SIGUSR2, syscall.SIGINT,
		syscall.SIGHUP}; !slices.Equal(got, want) {
		t.Errorf("passed on %v, want %v", got, want)
	}
}

// TestRequests: timeout's two signals are one, a person's second Ctrl-C is a second request, and no signal is kept
// from the job but the same sending's.
func TestRequests(t *testing.T) {
	const interrupt, term, hup, usr1 = syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1
	type step struct {
		after  time.Duration // since the first
		signal os.Signal
		pass   bool
		asked  int
	}
	for name, steps := range map[string][]step{
		"timeout: its child, then the group": {{0, term, true, 1}, {time.Millisecond, term, false, 0}},
		"Ctrl-C twice":                       {{0, interrupt, true, 1}, {time.Second, interrupt, true, 2}},
		"Ctrl-C in haste": {{0, interrupt, true, 1}, {400 * time.Millisecond, interrupt, true, 0},
			{900 * time.Millisecond, interrupt, true, 0}, {1100 * time.Millisecond, interrupt, true, 2}},
		"a key held down": {{0, interrupt, true, 1}, {50 * time.Millisecond, interrupt, false, 0},
			{100 * time.Millisecond, interrupt, true, 0}, {150 * time.Millisecond, interrupt, false, 0}},
		"another kind": {{0, interrupt, true, 1}, {10 * time.Millisecond, term, true, 2}, {2 * time.Second, hup, true,
			3}},
		"no request": {{0, usr1, true, 0}, {time.Millisecond, usr1, false, 0}, {time.Second, usr1, true, 0},
			{time.Second, term, true, 1}},
	} {
		var r Requests
		begin := time.Now()
		for _, s := range steps {
			if pass, asked := r.Take(s.signal, begin.Add(s.after)); pass != s.pass || asked != s.asked {
				t.Errorf("%s: after %s, %s: passed on %v, request %d; want %v, %d", name, s.after, s.signal, pass,
					asked, s.pass, s.asked)
			}
		}
	}
}
