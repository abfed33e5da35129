package launch

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestHowAJobEnds: its own status, or 128 and the number of the signal, as a shell has it.
func TestHowAJobEnds(t *testing.T) {
	for script, want := range map[string]recording.JobEnd{
		"exit 0":        {},
		"exit 3":        {Status: 3},
		"kill -INT $$":  {Status: 130, Signal: "SIGINT"},
		"kill -SEGV $$": {Status: 139, Signal: "SIGSEGV"}, // with a core file, where the system has them
		"kill -TERM $$": {Status: 143, Signal: "SIGTERM"},
	} {
		j := &Job{process: must.Get(start([]string{"sh", "-c", script}, os.Environ()))(t)}
		status, _, err := j.Collect()
		j.process.end.LastedS = 0
		if err != nil || status != want.Status || j.process.end != want {
			t.Errorf("%s: %d, %+v, %v", script, status, j.process.end, err)
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
