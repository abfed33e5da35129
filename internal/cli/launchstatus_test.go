package cli

import (
	"bytes"
	"errors"
	"strings"
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

// TestStatusOfATerminatedJob: a job that --then terminate has ended counts as 0, with its own status in a note where that was not SIGTERM's doing as
// plainly as 143 says it; torchrun ends with 1 then. One that the person told to end too has the status it would have had without.
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

// TestLeave: the diagnosis decides only over a job that ended well; else what went wrong with it is still told.
func TestLeave(t *testing.T) {
	gate := fail(exitGate, "", "a gate failed")
	for _, c := range []struct {
		status    int
		diagnosis error
		want      int
		told      bool
	}{{0, nil, 0, false}, {0, gate, exitGate, false}, {7, nil, 7, false}, {7, gate, 7, true}} {
		var stderr bytes.Buffer
		err := leave(c.status, c.diagnosis, &stderr)
		if got := exitCode(err); got != c.want {
			t.Errorf("job %d, diagnosis %v: %d, want %d", c.status, c.diagnosis, got, c.want)
		}
		if told := strings.Contains(stderr.String(), "a gate failed"); told != c.told {
			t.Errorf("job %d, diagnosis %v: stderr %q", c.status, c.diagnosis, stderr.String())
		}
	}
}

func TestStartFailure(t *testing.T) {
	for errno, want := range map[syscall.Errno]int{
		syscall.ENOENT: exitNotFound, syscall.EACCES: exitNotExecutable, syscall.E2BIG: exitNotExecutable, syscall.EAGAIN: exitNotStarted, syscall.ENOMEM: exitNotStarted,
	} {
		err := startFailure("train", errno)
		if got := exitCode(err); got != want || !errors.Is(err, errno) {
			t.Errorf("%v: %d, want %d (%v)", errno, got, want, err)
		}
	}
}
