package cli

import (
	"os"
	"syscall"
	"time"
)

// How the same signal coming again is taken. timeout signals its child, and then its child's whole group: what was sent once comes twice.
const (
	// sameSending is within what a signal that comes again was sent by whoever sent it before: it is passed on once.
	sameSending = 100 * time.Millisecond
	// sameRequest is within what it is no second request: nobody who asks again has read yet what came of the first.
	sameRequest = time.Second
)

// requests judges signals by when they came. The zero value: none has come.
type requests struct {
	passed, counted map[os.Signal]time.Time // when the last one came that was passed on, and that was counted
	asked           int                     // how many asked the job to end
}

// take judges a signal that has come: whether it is to be passed on, and how many requests to end have come with it; 0 where it is none, or the
// same request as one before.
func (r *requests) take(s os.Signal, at time.Time) (pass bool, asked int) {
	if r.passed == nil {
		r.passed, r.counted = map[os.Signal]time.Time{}, map[os.Signal]time.Time{}
	}
	if last, came := r.passed[s]; !came || at.Sub(last) >= sameSending {
		r.passed[s] = at
		pass = true
	}
	if last, came := r.counted[s]; passedOn[s] && (!came || at.Sub(last) >= sameRequest) {
		r.counted[s] = at
		r.asked++
		asked = r.asked
	}
	return pass, asked
}

// secondRequest waits for a signal that is another request than the first; nil where over was closed before one came.
func secondRequest(signals <-chan os.Signal, first os.Signal, over <-chan struct{}) os.Signal {
	var r requests
	r.take(first, time.Now())
	for {
		select {
		case sig := <-signals:
			if _, asked := r.take(sig, time.Now()); asked > 1 {
				return sig
			}
		case <-over:
			return nil
		}
	}
}

// heed takes the requests to end a command from here on, whatever the command is busy with, a write that nobody reads included. A first one is
// handed to who asks for it; a second ends the program at once.
func heed(env Env) (first <-chan os.Signal, stop func()) {
	signals, end := env.Signals()
	asked, over := make(chan os.Signal, 1), make(chan struct{})
	insist := func(sig os.Signal) {
		if again := secondRequest(signals, sig, over); again != nil {
			abort(again, func() { note(env.Stderr, "no report: a second signal asked pipetune to end without one") })
		}
	}
	select {
	case sig := <-signals:
		asked <- sig
		go insist(sig)
	default:
		go func() {
			select {
			case sig := <-signals:
				asked <- sig
				insist(sig)
			case <-over:
			}
		}()
	}
	return asked, func() {
		close(over)
		end()
	}
}

// lastWords is how long the end of the program waits for a last line to be written: whoever reads stderr may have stopped reading, which is
// why one asks twice.
const lastWords = 20 * time.Millisecond

// abort ends the program when the person insists. Children die with it; temporary outputs stay, under names that say so.
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
