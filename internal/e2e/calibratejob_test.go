//go:build e2e && calibrate

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// calibrationJob is a running testdata/jobs/calibrate.py.
type calibrationJob struct {
	bench     bench
	cmd       *exec.Cmd
	ask       io.WriteCloser
	answers   *bufio.Reader
	complaint *bytes.Buffer
}

func (m machine) startCalibration(t *testing.T) *calibrationJob {
	t.Helper()
	b := m.newBench(t)
	j := &calibrationJob{bench: b, cmd: b.calibrate(nil), complaint: &bytes.Buffer{}}
	j.cmd.Stderr = j.complaint
	j.ask = must.Get(j.cmd.StdinPipe())(t)
	j.answers = bufio.NewReaderSize(must.Get(j.cmd.StdoutPipe())(t), 1<<20)
	must.Do(t, j.cmd.Start())
	t.Cleanup(func() { must.Do(t, j.stop()) })
	return j
}

// calibrate is the script's command, after some lines of shell.
func (b bench) calibrate(prelude []string, args ...string) *exec.Cmd {
	script := b.inside(filepath.Join(b.work, "jobs", "calibrate.py"))
	return b.shell(prelude, append([]string{b.python, script}, args...)...)
}

// stop ends the job, which leaves when there is nothing more to answer.
func (j *calibrationJob) stop() error {
	if err := j.ask.Close(); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	late := time.AfterFunc(20*time.Second, func() { _ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	if err := j.cmd.Wait(); err != nil {
		return fmt.Errorf("calibrate.py: %w: %.2000s", err, j.complaint.Bytes())
	}
	return nil
}

// Seconds and epochs that a run goes on for, at the least. What others are predicted from is watched for longer.
const (
	trySeconds, tryEpochs   = 6, 2
	baseSeconds, baseEpochs = 12, 3
)

// asked is a configuration as the script takes it.
func (g grid) asked(seconds, epochs int, settle bool) string {
	text, err := json.Marshal(struct {
		grid
		Seconds int  `json:"seconds"`
		Epochs  int  `json:"epochs"`
		Settle  bool `json:"settle"`
	}{g, seconds, epochs, settle})
	if err != nil {
		panic(err) // of plain words and numbers
	}
	return string(text)
}

// run asks for one configuration, or launches it as a user would, in a process of its own.
func (j *calibrationJob) run(t *testing.T, g grid, how way) (a answer, rec []byte) {
	t.Helper()
	if how == byLaunch {
		b := j.bench.newBench(t)
		out := filepath.Join(b.work, "known.jsonl")
		job := b.calibrate(b.showHook(), g.asked(baseSeconds, baseEpochs, false))
		stdout, _ := b.launch(t, []string{"-q", "-o", out}, job.Args)
		return readAnswer(t, stdout), must.Get(os.ReadFile(out))(t)
	}
	late := time.AfterFunc(answerWithin, func() { _ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	_, err := io.WriteString(j.ask, g.asked(trySeconds, tryEpochs, true)+"\n")
	line, err2 := j.answers.ReadBytes('\n')
	if err != nil || err2 != nil {
		t.Fatalf("%s: no answer within %v: %v, %v: %.2000s", g.name(), answerWithin, err, err2, j.complaint.Bytes())
	}
	return readAnswer(t, line), nil
}

// quietly runs something until others leave it alone, and returns what came of the time they disturbed least, with the
// cores they used.
func quietly[T any](pid int, run func() T) (best T, least float64) {
	least = math.Inf(1)
	for range mostAttempts {
		before, children := readCPU(pid), childrenCPU()
		got := run()
		adoptEnded()
		now := readCPU(pid)
		now.groups += childrenCPU() - children // those that ended meanwhile
		if others := before.others(now, nil); others < least {
			best, least = got, others
		}
		if least <= nearlyAlone {
			break
		}
	}
	return best, least
}

// adopt makes this process the parent of what its jobs leave behind, such as the server that forkserver forks from, so
// that their CPU time is counted among its children's.
func adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// adoptEnded waits for adopted processes that have ended or are about to. No command of this process's own ends
// meanwhile.
func adoptEnded() {
	for range 5 {
		time.Sleep(50 * time.Millisecond)
		for pid := 1; pid > 0; {
			pid, _ = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
	}
}

// childrenCPU is the CPU time of the processes that this one has started and seen end.
func childrenCPU() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used); err != nil {
		return 0
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// answer is what a run reported.
type answer struct {
	Steps, Seconds float64
	Torch, Python  string
}

func (a answer) rate() float64 { return a.Steps / a.Seconds }

func readAnswer(t *testing.T, line []byte) (a answer) {
	t.Helper()
	if err := json.Unmarshal(line, &a); err != nil || a.Steps <= 0 || a.Seconds <= 0 {
		t.Fatalf("calibrate.py answers %q, with %g steps: %v", line, a.Steps, err)
	}
	return a
}

func (a answer) kept(run string, others float64, took time.Duration) keptRun {
	return keptRun{Run: run, Steps: a.Steps, Seconds: a.Seconds, Others: others, Took: took.Seconds(), Torch: a.Torch,
		Python: a.Python}
}

func (j *calibrationJob) group() int { return j.cmd.Process.Pid }
