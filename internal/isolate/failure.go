package isolate

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// ErrStuck is what errors.Is finds in every refusal because of children that do not come back.
var ErrStuck = errors.New("an earlier call on it is still stuck")

// ErrGaveUp is what errors.Is finds when a long-lived child died more often than MaxRestarts.
var ErrGaveUp = errors.New("died too often")

// StuckError refuses a request at once: an earlier one on the same key has not come back, or, with an empty Key, as
// many as MaxStuck children are stuck in all.
type StuckError struct{ Key string }

func (e *StuckError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%d child processes are stuck already: no more are started", MaxStuck)
	}
	return fmt.Sprintf("%s: %v", e.Key, ErrStuck)
}

// Is makes errors.Is(err, ErrStuck) true.
func (e *StuckError) Is(target error) bool { return target == ErrStuck }

// TimeoutError says that a child did not answer in time and was given up.
type TimeoutError struct {
	Task     string
	Key      string
	After    time.Duration
	Starting bool // it did not even come to being asked
}

func (e *TimeoutError) Error() string {
	if e.Starting {
		return fmt.Sprintf("starting the %s process: not ready within %v", e.Task, e.After)
	}
	on := ""
	if e.Key != "" {
		on = " on " + e.Key
	}
	return fmt.Sprintf("%s%s: no answer within %v", e.Task, on, e.After)
}

// DeathError says that a child ended instead of answering, and of what.
type DeathError struct {
	Task     string
	Signal   syscall.Signal // 0 when it ended by itself without being hit by a signal
	ExitCode int            // -1 when a signal killed it or the status is not known
	Line     string         // the line of its standard error that says most, sanitized; "" when it said nothing
}

func (e *DeathError) Error() string {
	cause := fmt.Sprintf("exit status %d", e.ExitCode)
	if e.Signal != 0 {
		cause = fmt.Sprintf("signal %d, %v", int(e.Signal), e.Signal)
	} else if e.ExitCode < 0 {
		cause = "it closed its pipe and did not exit"
	}
	if e.Line != "" {
		cause += ": " + e.Line
	}
	return fmt.Sprintf("the %s process died (%s)", e.Task, cause)
}

// GarbageError says that a child answered something that is no answer; it was ended.
type GarbageError struct {
	Task   string
	Reason string
}

func (e *GarbageError) Error() string {
	return fmt.Sprintf("the %s process answered nonsense: %s", e.Task, e.Reason)
}

// RemoteError is an error that the handler in the child returned; the child lives on.
type RemoteError struct {
	Message string        `json:"message"`
	Errno   syscall.Errno `json:"errno,omitempty"` // 0 when no system call was the cause
}

func (e *RemoteError) Error() string { return e.Message }

// Unwrap lets errors.Is compare with fs.ErrNotExist, fs.ErrPermission and any syscall.Errno.
func (e *RemoteError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}
