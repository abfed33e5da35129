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
		name       string
		status     syscall.WaitStatus
		terminated bool
		want       int
	}{
		{"ended well", exited(0), false, 0},
		{"its own status", exited(3), false, 3},
		{"Ctrl-C", killed(syscall.SIGINT, 0), false, 130},
		{"with a core file", killed(syscall.SIGSEGV, core), false, 139},
		{"terminated by somebody else", killed(syscall.SIGTERM, 0), false, 143},
		{"terminated as asked", killed(syscall.SIGTERM, 0), true, 0},
		{"terminated as asked, by way of a shell", exited(143), true, 0},
		{"failed while it was terminated", exited(1), true, 1},
		{"killed while it was terminated", killed(syscall.SIGKILL, 0), true, 137},
	} {
		if got := jobStatus(c.status, c.terminated); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
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
