//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// hostileCase is a way for a job to be or to end that a guest inside of it must not change.
type hostileCase struct {
	name  string
	args  []string // of the interpreter; the script and its way come last
	way   string   // of testdata/hostile/job.py
	env   []string // beside the environment
	stdin string
	after func(pid int) error // what happens to pipetune once its job has begun
	gone  bool                // pipetune itself dies; the job's end is reported by its own files only
	says  string              // what must be among what pipetune writes to stderr
}

var hostileCases = []hostileCase{
	{name: "plain", way: "train"},
	{name: "no workers", way: "workerless"},
	{name: "spawn", way: "spawn"},
	{name: "forkserver", way: "forkserver"},
	{name: "64 workers", way: "many"},
	{name: "exit in the middle of an epoch", way: "exit"},
	{name: "killed by a signal", way: "segv"},
	{name: "worker killed, as by the OOM killer", way: "worker-killed"},
	{name: "exception in the step", way: "raise"},
	{name: "exception in a worker", way: "poison"},
	{name: "loader in a thread", way: "thread"},
	{name: "children that fork", way: "fork"},
	{name: "subclass of DataLoader", way: "subclass"},
	{name: "emptied environment", way: "empty-environment", says: "environment"},
	{name: "isolated interpreter", args: []string{"-I"}, way: "train", says: "-I"},
	{name: "no environment", args: []string{"-E"}, way: "train", says: "-E"},
	{name: "own sitecustomize", env: []string{"PYTHONPATH=../../testdata/hostile/site"}, way: "path"},
	{name: "PYTHONPATH of several", env: []string{"PYTHONPATH=/nowhere:../../testdata/hostile"}, way: "path"},
	{name: "standard input", way: "stdin", stdin: "every byte\x00 of it\n"},
	{name: "pipetune stopped", way: "long", after: func(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) },
		gone: true},
	{name: "pipetune killed", way: "long", after: func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) },
		gone: true},
}

// TestHostile runs each job bare and launched by pipetune: stdout must be the same byte for byte, and so must the exit
// status.
func TestHostile(t *testing.T) {
	m := findMachine(t)
	script := must.Get(filepath.Abs("../../testdata/hostile/job.py"))(t)
	for _, c := range hostileCases {
		t.Run(c.name, func(t *testing.T) {
			command := append(append([]string{m.python}, c.args...), script, c.way)
			want := runHostile(t, c, command, nil)
			if len(want.stdout) == 0 {
				t.Fatalf("the bare job writes nothing: %s", want.stderr)
			}
			launch := []string{m.binary, "diagnose", "-q", "--"}
			if c.says != "" { // -q keeps the reason back where there is no report
				launch = slices.Delete(launch, 2, 3)
			}
			got := runHostile(t, c, append(launch, command...), c.after)
			if !bytes.Equal(got.stdout, want.stdout) {
				t.Errorf("stdout launched:\n%.600s\nbare:\n%.600s", got.stdout, want.stdout)
			}
			if got.status != want.status && !c.gone {
				t.Errorf("exit status %d launched, %d bare; stderr: %.1000s", got.status, want.status, got.stderr)
			}
			if got.inner != want.inner {
				t.Errorf("the job itself ended with %q launched, %q bare", got.inner, want.inner)
			}
			if !strings.Contains(string(got.stderr), c.says) {
				t.Errorf("stderr does not speak of %q: %.1500s", c.says, got.stderr)
			}
		})
	}
}

// ending is how a run came out.
type ending struct {
	stdout, stderr []byte
	status         int
	inner          string // the status the job itself ended with, as the shell around it wrote it down
}

// runHostile runs a command to the end of its job, which a shell around it writes down.
func runHostile(t *testing.T, c hostileCase, argv []string, after func(int) error) (e ending) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	dir := t.TempDir()
	status := filepath.Join(dir, "status")
	// The job's own shell notes its end, so that it is known also where pipetune is gone. It stands between: a shell
	// that waits.
	note := []string{"/bin/sh", "-c", `"$@"; s=$?; echo $s > "$STATUS"; exit $s`, "sh"}
	argv = slices.Insert(slices.Clone(argv), slices.Index(argv, "--")+1, note...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), "STATUS="+status, "XDG_RUNTIME_DIR="+dir, "PYTHONDONTWRITEBYTECODE=1"),
		c.env...)
	out := must.Get(os.Create(filepath.Join(dir, "stdout")))(t)
	defer out.Close()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Stdin = out, &stderr, strings.NewReader(c.stdin)
	if c.gone { // a pipe would be waited for by Wait as long as the job lives
		log := must.Get(os.Create(filepath.Join(dir, "stderr")))(t)
		defer log.Close()
		cmd.Stderr, cmd.Stdin = log, nil
	}
	must.Do(t, inGroup(cmd).Start())
	if after != nil {
		// a stopped pipetune does not end by itself
		defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
		must.Do(t, awaitFile(ctx, out.Name()))
		time.Sleep(time.Second) // into its epoch
		must.Do(t, after(cmd.Process.Pid))
		must.Do(t, awaitFile(ctx, status))
	} else {
		if must.Do(t, ended(cmd.Wait())); ctx.Err() != nil {
			t.Fatalf("hangs: %.1000s", stderr.Bytes())
		}
		e.status = cmd.ProcessState.ExitCode()
	}
	e.stderr, e.stdout = stderr.Bytes(), must.Get(os.ReadFile(out.Name()))(t)
	inner, err := os.ReadFile(status)
	if err != nil {
		t.Fatalf("the job left no status: %v; stderr: %.500s", err, e.stderr)
	}
	e.inner = strings.TrimSpace(string(inner))
	return e
}

// awaitFile waits until a file is there with a line in it.
func awaitFile(ctx context.Context, path string) error {
	for {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte("\n")) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("nothing is written")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
