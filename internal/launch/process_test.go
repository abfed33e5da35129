package launch

import (
	"errors"
	"syscall"
	"testing"
)

func exited(code int) syscall.WaitStatus { return syscall.WaitStatus(code << 8) }
func killed(by syscall.Signal, core int) syscall.WaitStatus {
	return syscall.WaitStatus(int(by) | core)
}

func TestJobStatus(t *testing.T) {
	const core = 0x80
	for _, c := range []struct {
		name   string
		status syscall.WaitStatus
		want   int
	}{
		{"ended well", exited(0), 0},
		{"its own status", exited(3), 3},
		{"Ctrl-C", killed(syscall.SIGINT, 0), 130},
		{"with a core file", killed(syscall.SIGSEGV, core), 139},
		{"terminated", killed(syscall.SIGTERM, 0), 143},
	} {
		if got := jobStatus(c.status); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestStatusOfATerminatedJob: a job that --then terminate has ended counts as 0, with its own status in a note where
// that was not SIGTERM's doing as plainly as 143 says it; torchrun ends with 1 then. One that the person told to end
// too has the status it would have had without.
func TestStatusOfATerminatedJob(t *testing.T) {
	for _, c := range []struct {
		name  string
		own   int
		asked bool
		want  int
		noted bool
	}{
		{"by the signal", 143, false, 0, false},
		{"ended well", 0, false, 0, false},
		{"torchrun", 1, false, 0, true},
		{"aborted on its way out", 134, false, 0, true},
		{"by Ctrl-C", 130, true, 130, false},
		{"by the signal, before Ctrl-C came", 143, true, 0, false},
	} {
		got, said := terminatedStatus(c.own, c.asked)
		if got != c.want || (said != "") != c.noted {
			t.Errorf("%s: %d with the note %q, want %d", c.name, got, said, c.want)
		}
	}
}

func TestStartFailure(t *testing.T) {
	for errno, want := range map[syscall.Errno]int{
		syscall.ENOENT: notFound, syscall.EACCES: notExecutable, syscall.E2BIG: notExecutable,
		syscall.EAGAIN: notStarted, syscall.ENOMEM: notStarted,
	} {
		err := startFailure("train", errno)
		var e *Error
		if !errors.As(err, &e) || e.Status != want || !errors.Is(err, errno) {
			t.Errorf("%v: %+v, want %d", errno, e, want)
		}
	}
}
