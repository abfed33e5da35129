//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
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

// jobSeconds ends every job by itself, also where this program was killed and could not: some seconds to flow, 20 s
// watched, and room for a machine that is so busy that patience is needed.
const jobSeconds = "700"

// bench is where jobs run: an interpreter, perhaps in a chroot, and a work folder of this case alone.
type bench struct {
	machine
	work string // as seen from here, below root
	gpu  string // folder of the stand-in GPU's libraries; "": a step is slept through
}

// inside returns a path as the job sees it.
func (b bench) inside(path string) string { return strings.TrimPrefix(path, b.root) }

// job is a running training script with all its processes, which share a process group.
type job struct {
	ctx       context.Context
	stopwatch string
	log       string
	pid       int
	ended     chan struct{}
	err       error // set before ended is closed
}

// newBench copies the scripts to a fresh work folder on a disk (never tmpfs: storage is what some jobs are about). It
// is removed with the test.
func (m machine) newBench(t *testing.T) bench {
	t.Helper()
	b := bench{machine: m, work: workFolder(t, m.root)}
	for _, folder := range []string{"jobs", "device"} {
		must.Do(t, os.CopyFS(filepath.Join(b.work, folder), os.DirFS(filepath.Join("../../testdata", folder))))
	}
	return b
}

// workFolder makes a folder on a disk, below a chroot where one is given. It is removed with the test.
func workFolder(t *testing.T, root string) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp(filepath.Join(root, "/var/tmp"), fmt.Sprintf("%s%d-", workPrefix, os.Getpid())))(t)
	t.Cleanup(func() { must.Do(t, os.RemoveAll(dir)) })
	return dir
}

// newGPUBench is a bench with the stand-in GPU, one for each rank, that the case's job trains on and that pipetune
// sees. There is none in a chroot, as its libraries are of this system. Its timeline is where both may write, and
// beside /dev/shm where the job has one of its own.
func (m machine) newGPUBench(t *testing.T, c testCase) bench {
	t.Helper()
	b := m.newBench(t)
	if m.root != "" {
		return b
	}
	b.gpu = filepath.Join(b.work, "gpu")
	shared := "/dev/shm"
	if c.around.shmBytes > 0 && os.Getuid() == 0 { // which mounting one needs
		shared = "/dev"
	}
	buildGPU(t, b.gpu, filepath.Join(shared, filepath.Base(b.work)), fmt.Sprintf("devices=%d", max(c.ranks, 1)))
	return b
}

// buildGPU builds the stand-in GPU's libraries into a folder. Their timeline is removed with the test.
func buildGPU(t *testing.T, folder, timeline string, settings ...string) {
	t.Helper()
	t.Cleanup(func() { must.Do(t, os.RemoveAll(timeline)) })
	output(t, exec.Command("../../testdata/device/build.sh", append([]string{folder, "timeline=" + timeline},
		settings...)...))
}

// run runs pipetune to its end, which must be a good one, and returns the ended command and all that it wrote.
func (m machine) run(t *testing.T, environment []string, args ...string) (*exec.Cmd, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(m.ctx, 2*patience)
	defer cancel()
	cmd := inGroup(exec.CommandContext(ctx, m.binary, args...))
	cmd.Env = environment
	return cmd, output(t, cmd)
}

// output runs a command, which must end well, and returns all that it wrote.
func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%.300q: %v: %.2000s", cmd.Args, err, bytes.TrimSpace(text))
	}
	return text
}

// environment lets a process find the stand-in GPU: the job its libcuda, pipetune its libnvidia-ml.
func (b bench) environment() []string {
	if b.gpu == "" {
		return os.Environ()
	}
	return append(os.Environ(), "PIPETUNE_STAND_IN=1", "LD_LIBRARY_PATH="+b.gpu)
}

// workPrefix begins the names of work folders and cgroups; the pid of their owner follows.
const workPrefix = "pipetune-e2e-"

// shell returns a command that becomes args where jobs of this bench run: in the chroot, whose mounts are in a mount
// namespace that ends with the job. The lines of prelude run before, outside the chroot, by the process that becomes
// the job.
func (b bench) shell(prelude []string, args ...string) *exec.Cmd {
	if b.root != "" {
		prelude = append([]string{
			// The root is made a mount point, as a container's root is: else the job's mountinfo says nothing about it.
			"mount --bind " + b.root + " " + b.root,
			"mount -t proc proc " + b.root + "/proc",
			"mount --rbind /dev " + b.root + "/dev",
			"mount --rbind /sys " + b.root + "/sys",
		}, prelude...)
	}
	private := slices.ContainsFunc(prelude, func(line string) bool { return strings.HasPrefix(line, "mount ") })
	run := `exec "$@"`
	if b.root != "" {
		run = `exec chroot "` + b.root + `" "$@"`
	}
	argv := append([]string{"/bin/sh", "-ec", strings.Join(append(prelude, run), "\n"), "sh"}, args...)
	if private {
		argv = append([]string{"unshare", "--mount", "--propagation", "private", "--"}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	return inGroup(cmd)
}

// scriptArgs is the command line of a case's script, as the job sees it.
func (b bench) scriptArgs(c testCase, more ...string) []string {
	args := []string{b.python, b.inside(filepath.Join(b.work, "jobs", c.file())), "--data", b.inside(b.data())}
	return slices.Concat(args, c.args, more)
}

func (b bench) data() string { return filepath.Join(b.work, "data") }

// stopwatch is where jobs of this bench write their times.
func (b bench) stopwatch() string { return filepath.Join(b.work, "stopwatch.jsonl") }

// timed is a case's job for so many seconds, with its stop-watch.
func (b bench) timed(c testCase, prelude []string, seconds string) *exec.Cmd {
	cmd := b.shell(prelude, b.scriptArgs(c, "--stopwatch", b.inside(b.stopwatch()), "--seconds", seconds)...)
	cmd.Env = b.environment()
	return cmd
}

// start starts the case's job, which is stopped with the test.
func (b bench) start(t *testing.T, c testCase, prelude []string) *job {
	t.Helper()
	must.Do(t, os.RemoveAll(b.stopwatch()))
	j := b.startJob(t, b.timed(c, prelude, cmp.Or(c.seconds, jobSeconds)), b.work)
	t.Cleanup(func() { must.Do(t, j.stop()) })
	return j
}

// startJob starts a command in a process group of its own, whose output goes to a log in a folder; so does its
// stop-watch, if it has one. The caller stops it, whatever else fails.
func (m machine) startJob(t *testing.T, cmd *exec.Cmd, folder string) *job {
	t.Helper()
	j := &job{ctx: m.ctx, ended: make(chan struct{}), log: filepath.Join(folder, "job.log"),
		stopwatch: filepath.Join(folder, "stopwatch.jsonl")}
	log := must.Get(os.Create(j.log))(t)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	must.Do(t, inGroup(cmd).Start())
	j.pid = cmd.Process.Pid
	go func() {
		j.err = cmd.Wait()
		close(j.ended)
	}()
	return j
}

// inGroup gives a command a process group of its own; all of it ends with the context, if it has one.
func inGroup(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	}
	return cmd
}

// stop ends the job and everything it started, and waits for it. The group is named by the pid of a child that has not
// been waited for, or whose group outlives it, so the number cannot have been given to someone else.
func (j *job) stop() error {
	err := syscall.Kill(-j.pid, syscall.SIGKILL)
	if err != nil && err != syscall.ESRCH {
		return fmt.Errorf("ending the job's process group %d: %w", j.pid, err)
	}
	select {
	case <-j.ended:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the job, process %d, does not end", j.pid)
	}
}

// lastOutput is the end of what the job wrote, in one line.
func (j *job) lastOutput() string {
	text, err := os.ReadFile(j.log)
	if err != nil {
		return err.Error()
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	return words[max(0, len(words)-500):]
}

// until looks every so often whether something holds, until it does.
func (j *job) until(t *testing.T, what string, every time.Duration, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		select {
		case <-j.ended:
			t.Fatalf("the job ended while waiting for %s: %v; its output ends with: %s", what, j.err, j.lastOutput())
		case <-j.ctx.Done():
			t.Fatal(j.ctx.Err())
		case <-time.After(every):
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %s; the job's output ends with: %s", what, patience, j.lastOutput())
		}
	}
}

// ends waits until the job has ended by itself.
func (j *job) ends(t *testing.T, limit time.Duration) {
	t.Helper()
	select {
	case <-j.ended:
		if j.err != nil {
			t.Fatalf("the job: %v: %s", j.err, j.lastOutput())
		}
		return
	case <-j.ctx.Done():
	case <-time.After(limit):
	}
	t.Fatalf("the job does not end (%v, %v): %s", j.ctx.Err(), j.stop(), j.lastOutput())
}

// flows waits until all ranks train.
func (j *job) flows(t *testing.T) {
	t.Helper()
	j.until(t, "steady steps", 100*time.Millisecond, func() bool {
		ranks, err := readStopwatches(j.stopwatch)
		return err == nil && flowing(ranks)
	})
}

// over is what the stop-watches say of a stretch, once they reach over it.
func (j *job) over(t *testing.T, from, to float64) (m measured) {
	t.Helper()
	j.until(t, "the stop-watch past the window", 100*time.Millisecond, func() (reaches bool) {
		ranks, err := readStopwatches(j.stopwatch)
		m, reaches = over(ranks, from, to)
		return reaches && err == nil
	})
	return m
}
