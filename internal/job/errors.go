package job

import (
	"errors"
	"fmt"
)

// The reasons why a process cannot be watched, distinguished with errors.Is on an *Error.
var (
	// ErrNoProcess: no process has that number, or it cannot be seen (/proc mounted with hidepid).
	ErrNoProcess = errors.New("no such process")
	// ErrZombie: the process has ended; its parent has not collected it yet.
	ErrZombie = errors.New("process has ended")
	// ErrOtherUser: the process belongs to another user.
	ErrOtherUser = errors.New("process belongs to another user")
	// ErrRefused: the process is of the same user but lets nobody look at it.
	ErrRefused = errors.New("process may not be inspected")
	// ErrOrphan: the process is a leftover of a job that has ended.
	ErrOrphan = errors.New("process is left over from a job that has ended")
	// ErrSelf: the process is pipetune itself or one of its children.
	ErrSelf = errors.New("process is pipetune itself")
	// ErrKernelThread: the process is a thread of the kernel.
	ErrKernelThread = errors.New("process is a kernel thread")
	// ErrSeveralJobs: below the process run several jobs that have nothing to do with each other; see Error.Candidates.
	ErrSeveralJobs = errors.New("several training jobs run below this process")
)

// Error says why a process cannot be watched.
type Error struct {
	PID    int
	Kind   error  // one of the Err… of this package
	Detail string // what more is known, "" where nothing is
	Hint   string // what would help, "" where nothing would
	// Candidates are the jobs to choose from, with ErrSeveralJobs.
	Candidates []Candidate
}

func (e *Error) Error() string {
	if e.Detail != "" {
		return fmt.Sprintf("attaching to process %d: %v: %s", e.PID, e.Kind, e.Detail)
	}
	return fmt.Sprintf("attaching to process %d: %v", e.PID, e.Kind)
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }
