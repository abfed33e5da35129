//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestTuneHostile tunes jobs that do not let themselves be tuned: the status must be the right one, what was learned
// reported, and nothing left of pipetune's own.
func TestTuneHostile(t *testing.T) {
	m := findMachine(t)
	script := must.Get(filepath.Abs("../../testdata/hostile/tuned.py"))(t)
	for _, c := range []struct {
		name, way string
		status    int
		outcome   string // "": any
		says      string // in the report, or on stderr
		stays     bool   // the job does
	}{
		{name: "ignores SIGTERM", way: "deaf", says: "still runs 35s after SIGTERM", stays: true},
		{name: "forks its own trainers", way: "forks", outcome: report.TuningNone, says: "2 trainers take batches"},
		{name: "a dataset that takes a minute to make", way: "slow-start", says: `"alone": {`},
		{name: "dies with two workers", way: "dies-with-two", says: "exited unexpectedly"},
		{name: "a server forks its workers, which outlive their trainer", way: "forkserver", says: `"alone": {`},
		{name: "ends in the loop", way: "exits", status: 7, says: "the training ended"},
		{name: "full /dev/shm", way: "full-shm", says: "beyond /dev/shm"},
		{name: "fills /dev/shm in the loop", way: "grows", says: "it took three quarters of the room in /dev/shm"},
	} {
		t.Run(c.way, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "tune.json")
			argv := []string{m.binary, "tune", "--duration", "6s", "--budget", "40s", "-o", out, "--", m.python, script,
				c.way}
			if c.way == "full-shm" || c.way == "grows" { // one of its own, in which three batches of 4 MiB have room
				argv = append([]string{"unshare", "--mount", "sh", "-c",
					`mount -t tmpfs -o size=20m tmpfs /dev/shm && exec "$@"`, "sh"}, argv...)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
			defer cancel()
			cmd := inGroup(exec.CommandContext(ctx, argv[0], argv[1:]...))
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "PYTHONDONTWRITEBYTECODE=1")
			cmd.WaitDelay = 10 * time.Second // who holds stderr after that is left
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			err := ended(cmd.Run())
			if cmd.Process == nil {
				t.Fatal(err)
			}
			if err != nil && !(c.stays && errors.Is(err, exec.ErrWaitDelay)) {
				t.Error(err)
			}
			left := !c.stays && staysFor(cmd.Process.Pid, 15*time.Second) || c.stays && staysFor(cmd.Process.Pid, 0)
			if left {
				if err := cmd.Cancel(); err != nil {
					t.Error(err)
				}
			}
			if got := cmd.ProcessState.ExitCode(); got != c.status {
				t.Errorf("exit status %d, want %d", got, c.status)
			}
			if left != c.stays {
				t.Errorf("processes are left: %t, want %t", left, c.stays)
			}
			if folders, _ := filepath.Glob(filepath.Join(dir, "pipetune-*")); len(folders) > 0 {
				t.Errorf("left behind: %q", folders)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatalf("%v; stderr: %.2000s", err, stderr.String())
			}
			r := must.Get(report.Decode(bytes.NewReader(text)))(t)
			if r.Tuning == nil || c.outcome != "" && r.Tuning.Outcome != c.outcome {
				t.Errorf("the tuning: %+v, want outcome %q", r.Tuning, c.outcome)
			}
			if !strings.Contains(string(text)+stderr.String(), c.says) {
				t.Errorf("nothing speaks of %q; stderr: %.3000s", c.says, stderr.String())
			}
			if r.Tuning != nil {
				fmt.Printf("%-16s status %d, %s: %s %s\n", c.way, cmd.ProcessState.ExitCode(), r.Tuning.Outcome,
					r.Tuning.Statement, r.Tuning.Ended)
			}
		})
	}
}

// staysFor reports whether a process of a group is still there after so long: workers of a trainer that was ended see
// that within five seconds.
func staysFor(group int, long time.Duration) bool {
	for deadline := time.Now().Add(long); syscall.Kill(-group, 0) == nil; time.Sleep(200 * time.Millisecond) {
		if !time.Now().Before(deadline) {
			return true
		}
	}
	return false
}
