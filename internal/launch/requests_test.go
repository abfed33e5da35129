package launch

import (
	"os"
	"syscall"
	"testing"
	"time"
)

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
