package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/watch"
)

// TestMain lets the test binary be pipetune's own children, as the real one is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		os.Exit(serveChild(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// watched is a run of a command beside a real process that is no training job.
type watched struct {
	stdout, stderr bytes.Buffer
	signals        chan os.Signal
	job            *exec.Cmd
}

func startWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{signals: make(chan os.Signal, 4), job: exec.Command("sleep", "120")}
	must.Do(t, w.job.Start())
	t.Cleanup(func() {
		_ = w.job.Process.Kill() // it may have ended, which is what some tests are about
		_ = w.job.Wait()
	})
	return w
}

// run runs pipetune as if started from another process: the job is a child of this test, which pipetune must not take
// for its own.
func (w *watched) run(t *testing.T, args ...string) int {
	t.Helper()
	env := Env{Stdout: &w.stdout, Stderr: &w.stderr, Stdin: strings.NewReader(""),
		Getenv:  func(string) string { return "" },
		Signals: func() (<-chan os.Signal, func()) { return w.signals, func() {} }}
	o := &diagnoseOptions{}
	c := newDiagnose(env, o)
	o.ownChild = true
	c.SetArgs(append([]string{"--pid", strconv.Itoa(w.job.Process.Pid)}, args...))
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.Execute()
	complain(env.Stderr, err)
	return exitCode(err)
}

func (w *watched) alive(t *testing.T) {
	t.Helper()
	if err := w.job.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the job is gone: %v", err)
	}
}

// TestInterruptWhileWatching: the first Ctrl-C ends the watch, and what was asked for is still written, whole.
func TestInterruptWhileWatching(t *testing.T) {
	w := startWatched(t)
	dir := t.TempDir()
	go func() {
		time.Sleep(watch.Least + 500*time.Millisecond) // real time: the watch runs on the real clock
		w.signals <- os.Interrupt
	}()
	began := time.Now()
	if code := w.run(t, "--duration", "60s", "--warmup", "0", "-o", filepath.Join(dir, "run.jsonl"), "-o",
		filepath.Join(dir, "run.json")); code != exitOK {
		t.Errorf("exit code %d\n%s", code, w.stderr.String())
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %s to stop", took)
	}
	if !strings.Contains(w.stdout.String(), "VERDICT  INCONCLUSIVE") {
		t.Errorf("no verdict:\n%s", w.stdout.String())
	}
	rec := must.Get(recording.Read(bytes.NewReader(must.Get(os.ReadFile(filepath.Join(dir, "run.jsonl")))(t))))(t)
	if rec.End == nil || rec.End.Reason != recording.EndInterrupted {
		t.Errorf("the recording ends with %+v", rec.End)
	}
	onlyFiles(t, dir, "run.json", "run.jsonl")
	w.alive(t)
}

// TestInterruptBeforeWatching: nothing was measured, so nothing is written.
func TestInterruptBeforeWatching(t *testing.T) {
	w := startWatched(t)
	dir := t.TempDir()
	w.signals <- os.Interrupt
	if code := w.run(t, "--duration", "60s", "-o", filepath.Join(dir, "run.jsonl")); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if w.stdout.Len() > 0 {
		t.Errorf("wrote a report:\n%s", w.stdout.String())
	}
	onlyFiles(t, dir)
	w.alive(t)
}

// TestInterruptTooSoon: a watch that has seen too little to conclude anything from reports nothing, and leaves files
// that were good as they are, a recording among them.
func TestInterruptTooSoon(t *testing.T) {
	for _, c := range []struct {
		request os.Signal
		want    int
	}{{os.Interrupt, exitInterrupted}, {syscall.SIGTERM, exitTerminated}} {
		w := startWatched(t)
		dir := t.TempDir()
		for _, name := range []string{"run.json", "run.jsonl"} {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("good\n"), 0o600))
		}
		go func() {
			time.Sleep(300 * time.Millisecond) // real time: the watch runs on the real clock
			w.signals <- c.request
		}()
		code := w.run(t, "--duration", "60s", "-o", filepath.Join(dir, "run.jsonl"), "-o",
			filepath.Join(dir, "run.json"))
		if code != c.want || w.stdout.Len() > 0 {
			t.Errorf("exit code %d, want %d\n%s", code, c.want, w.stdout.String())
		}
		if !strings.Contains(w.stderr.String(), "too little to conclude anything from") ||
			!strings.Contains(w.stderr.String(), "no file was written") {
			t.Errorf("does not say why there is no report:\n%s", w.stderr.String())
		}
		for _, name := range []string{"run.json", "run.jsonl"} {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "good\n" {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
		onlyFiles(t, dir, "run.json", "run.jsonl")
		w.alive(t)
	}
}

// TestJobEndsWhileWatched: what was seen until then is reported, and the report says that the job ended.
func TestJobEndsWhileWatched(t *testing.T) {
	w := startWatched(t)
	go func() {
		time.Sleep(2 * time.Second) // real time: the watch runs on the real clock
		_ = w.job.Process.Kill()
		_, _ = w.job.Process.Wait()
	}()
	began := time.Now()
	if code := w.run(t, "--duration", "60s"); code != exitOK {
		t.Errorf("exit code %d\n%s", code, w.stderr.String())
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("watched a job that is gone for %s", took)
	}
	if !strings.Contains(w.stdout.String(), "ended") {
		t.Errorf("does not say that the job ended:\n%s", w.stdout.String())
	}
}

// onlyFiles expects exactly these names in a folder, hidden ones included.
func onlyFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	got := names(must.Get(os.ReadDir(dir))(t), os.DirEntry.Name)
	if !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
}
