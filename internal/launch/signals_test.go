package launch

import (
	"os"
	"slices"
	"syscall"
	"testing"
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

// TestRelay: every signal is passed on once; the first that asks to end ends the watch, a second one all work but
// waiting.
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
