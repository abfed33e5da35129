package launch

import (
	"os"
	"time"
)

// How the same signal coming again is taken. timeout signals its child, and then its child's whole group: what was
// sent once comes twice.
const (
	// sameSending is within what a signal that comes again was sent by whoever sent it before: it is passed on once.
	sameSending = 100 * time.Millisecond
	// sameRequest is within what it is no second request: nobody who asks again has read yet what came of the first.
	sameRequest = time.Second
)

// Requests judges signals by when they came. The zero value: none has come.
type Requests struct {
	passed, counted map[os.Signal]time.Time // when the last one came that was passed on, and that was counted
	asked           int                     // how many asked the job to end
}

// Take judges a signal that has come: whether it is to be passed on, and how many requests to end have come with it;
// 0 where it is none, or the same request as one before.
func (r *Requests) Take(s os.Signal, at time.Time) (pass bool, asked int) {
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
