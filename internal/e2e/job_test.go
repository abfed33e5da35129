//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"errors"
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
	python string
	root   string // chroot; "": none
	work   string // as seen from here, below root
	gpu    string // folder of the stand-in GPU's libraries; "": a step is slept through

	timeline string // the file that they share
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

// newBench copies the scripts to a fresh work folder on a disk (never tmpfs: storage is what some jobs are about).
func (m machine) newBench() (bench, error) {
	work, err := os.MkdirTemp(filepath.Join(m.root, "/var/tmp"), fmt.Sprintf("%s%d-", workPrefix, os.Getpid()))
	if err != nil {
		return bench{}, fmt.Errorf("making a work folder: %w", err)
	}
	b := bench{python: m.python, root: m.root, work: work}
	for _, folder := range []string{"jobs", "device"} {
		if err := os.CopyFS(filepath.Join(work, folder),
			os.DirFS(filepath.Join("../../testdata", folder))); err != nil {
			return b, fmt.Errorf("copying the jobs: %w", err)
		}
	}
	return b, nil
}

// cleared takes a bench that was made, to be removed with the test.
func cleared(t *testing.T) func(bench, error) bench {
	return func(b bench, err error) bench {
		t.Helper()
		t.Cleanup(func() {
			if err := b.remove(); err != nil {
				t.Error(err)
			}
		})
		must.Do(t, err)
		return b
	}
}

// newGPUBench is a bench with the stand-in GPU, one for each rank, that the case's job trains on and that pipetune
// sees. There is none in a chroot, as its libraries are of this system. Its timeline is where both may write, and
// beside /dev/shm where the job has one of its own.
func (m machine) newGPUBench(c testCase) (bench, error) {
	b, err := m.newBench()
	if err != nil || m.root != "" {
		return b, err
	}
	b.gpu, b.timeline = filepath.Join(b.work, "gpu"), filepath.Join("/dev/shm", filepath.Base(b.work))
	if c.around.shmBytes > 0 && os.Getuid() == 0 { // which mounting one needs
		b.timeline = filepath.Join("/dev", filepath.Base(b.work))
	}
	devices := fmt.Sprintf("devices=%d", max(c.ranks, 1))
	output, err := exec.Command("../../testdata/device/build.sh", b.gpu, devices, "timeline="+
		b.timeline).CombinedOutput()
	if err != nil {
		return b, fmt.Errorf("building the stand-in GPU: %w: %s", err, output)
	}
	return b, nil
}

// environment lets a process find the stand-in GPU: the job its libcuda, pipetune its libnvidia-ml.
func (b bench) environment() []string {
	if b.gpu == "" {
		return os.Environ()
	}
	return append(os.Environ(), "PIPETUNE_STAND_IN=1", "LD_LIBRARY_PATH="+b.gpu)
}

// remove clears what the bench left.
func (b bench) remove() error {
	return errors.Join(os.RemoveAll(b.work), os.RemoveAll(b.timeline)) // of "" it removes nothing
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

// start starts the case's job. The caller stops it, whatever else fails.
func (b bench) start(ctx context.Context, c testCase, prelude []string) (*job, error) {
	stopwatch := filepath.Join(b.work, "stopwatch.jsonl")
	if err := os.RemoveAll(stopwatch); err != nil {
		return nil, err
	}
	cmd := b.shell(prelude, b.scriptArgs(c, "--stopwatch", b.inside(stopwatch), "--seconds",
		cmp.Or(c.seconds, jobSeconds))...)
	cmd.Env = b.environment()
	j, err := startJob(ctx, cmd, b.work)
	if err == nil {
		j.stopwatch = stopwatch
	}
	return j, err
}

// startJob starts a command in a process group of its own, whose output goes to a log in a folder.
func startJob(ctx context.Context, cmd *exec.Cmd, folder string) (*job, error) {
	j := &job{ctx: ctx, ended: make(chan struct{}), log: filepath.Join(folder, "job.log")}
	log, err := os.Create(j.log)
	if err != nil {
		return nil, fmt.Errorf("making the job's log: %w", err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := inGroup(cmd).Start(); err != nil {
		return nil, fmt.Errorf("starting the job: %w", err)
	}
	j.pid = cmd.Process.Pid
	go func() {
		j.err = cmd.Wait()
		close(j.ended)
	}()
	return j, nil
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
func (j *job) until(what string, every time.Duration, holds func() bool) error {
	for deadline := time.Now().Add(patience); !holds(); {
		select {
		case <-j.ended:
			return fmt.Errorf("the job ended while waiting for %s: %v; its output ends with: %s", what, j.err,
				j.lastOutput())
		case <-j.ctx.Done():
			return j.ctx.Err()
		case <-time.After(every):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no %s within %s; the job's output ends with: %s", what, patience, j.lastOutput())
		}
	}
	return nil
}

// flows waits until all ranks train.
func (j *job) flows() error {
	return j.until("steady steps", 100*time.Millisecond, func() bool {
		ranks, err := readStopwatches(j.stopwatch)
		return err == nil && flowing(ranks)
	})
}

// over is what the stop-watches say of a stretch, once they reach over it.
func (j *job) over(from, to float64) (m measured, err error) {
	err = j.until("the stop-watch past the window", 100*time.Millisecond, func() bool {
		ranks, err := readStopwatches(j.stopwatch)
		if err != nil {
			return false
		}
		var ok bool
		m, ok = over(ranks, from, to)
		return ok
	})
	return m, err
}
