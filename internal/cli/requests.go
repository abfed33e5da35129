package cli

import (
	"os"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/launch"
)

// secondRequest waits for a signal that is another request than the first; nil where over was closed before one came.
func secondRequest(signals <-chan os.Signal, first os.Signal, over <-chan struct{}) os.Signal {
	var r launch.Requests
	r.Take(first, time.Now())
	for {
		select {
		case sig := <-signals:
			if _, asked := r.Take(sig, time.Now()); asked > 1 {
				return sig
			}
		case <-over:
			return nil
		}
	}
}

// handleRequests takes the requests to end a command from here on, whatever the command is busy with, a write that
// nobody reads included. A first one is handed to who asks for it; a second ends the program at once.
func handleRequests(env Env) (first <-chan os.Signal, stop func()) {
	signals, end := env.Signals()
	asked, over := make(chan os.Signal, 1), make(chan struct{})
	second := func(sig os.Signal) {
		if again := secondRequest(signals, sig, over); again != nil {
			abort(again, func() { note(env.Stderr, "no report: a second signal asked pipetune to end without one") })
		}
	}
	select {
	case sig := <-signals:
		asked <- sig
		go second(sig)
	default:
		go func() {
			select {
			case sig := <-signals:
				asked <- sig
				second(sig)
			case <-over:
			}
		}()
	}
	return asked, func() {
		close(over)
		end()
	}
}

// lastWords is how long the end of the program waits for a last line to be written: whoever reads stderr may have
// stopped reading, which is why one asks twice.
const lastWords = 20 * time.Millisecond

// abort ends the program at a second request. Children die with it; temporary outputs stay, under names that say
// so.
func abort(s os.Signal, say func()) {
	said := make(chan struct{})
	go func() {
		say()
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(lastWords):
	}
	os.Exit(requestCode(s))
}

// requestCode is the exit code of a command that a signal ended without a report.
func requestCode(s os.Signal) int {
	if s == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}

// unmeasured is the end of a command that was asked to end before it had measured anything.
func unmeasured(s os.Signal) error {
	return fail(requestCode(s), "", "interrupted before anything was measured")
}
