package cli

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/watch"
)

//go:embed demo/train.py
var demoScript []byte

// demoStart is how long the job may take from its start to its first batch: importing torch from a cold disk takes most
// of it.
const demoStart = 90 * time.Second

// demoInterpreters are tried in this order; the first that has torch and h5py is taken.
var demoInterpreters = []string{"python3", "/usr/bin/python3", "python"}

type demoOptions struct {
	diagnoseOptions
	python string
}

func newDemo(env Env) *cobra.Command {
	o := &demoOptions{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "a small real training job with a planted fault, diagnosed",
		Long: `demo makes a small HDF5 dataset in a temporary folder, starts a real PyTorch job
on it that opens the file anew for every item, watches that job, reports, and
cleans up. It needs a Python with torch and h5py, no GPU.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return runDemo(c.Context(), env, o)
		},
	}
	c.Flags().DurationVar(&o.duration, "duration", 15*time.Second, "how long to watch")
	c.Flags().StringVar(&o.python, "python", "", "the interpreter to use (default: the first of "+
		strings.Join(demoInterpreters, ", ")+" that has torch and h5py)")
	o.interval = 100 * time.Millisecond
	o.addFlags(c, ofRecording)
	return c
}

func runDemo(ctx context.Context, env Env, o *demoOptions) (err error) {
	o.warmup = watch.DefaultWarmup(o.duration)
	if _, _, err := o.ready(false); err != nil { // before a job is started for it
		return err
	}
	python, err := findPython(o.python)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "pipetune-demo-")
	if err != nil {
		return fail(exitNotMeasured, "set TMPDIR to a folder you may write to", "making a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	script := filepath.Join(folder, "train.py")
	if err := os.WriteFile(script, demoScript, 0o600); err != nil {
		return fail(exitNotMeasured, "", "writing the demo's script: %w", err)
	}
	note(env.Stderr, "starting "+python+" train.py: 1 worker, an HDF5 file reopened for every item")
	job, err := startDemoJob(python, script, folder)
	if err != nil {
		return err
	}
	defer job.end()
	o.pid, o.ownChild = job.cmd.Process.Pid, true
	return runDiagnose(ctx, env, &o.diagnoseOptions, true)
}

func findPython(chosen string) (string, error) {
	candidates := demoInterpreters
	if chosen != "" {
		candidates = []string{chosen}
	}
	for _, c := range candidates {
		path, err := exec.LookPath(c)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			continue
		}
		try := exec.Command(path, "-c", "import torch, h5py")
		try.Dir = "/" // -c imports from the current folder before all others, and whatever lies there is not asked for
		if try.Run() == nil {
			return path, nil
		}
	}
	return "", fail(exitNotMeasured, "on Debian or Ubuntu: sudo apt-get install python3-torch python3-h5py; else: "+
		"pip install torch h5py",
		"no Python with torch and h5py among %s", strings.Join(candidates, ", "))
}

// demoJob is the training job the demo started; only the demo's own job is ever ended.
type demoJob struct {
	cmd   *exec.Cmd
	words *strings.Builder // the end of what it said on stderr
}

func startDemoJob(python, script, folder string) (*demoJob, error) {
	cmd := exec.Command(python, script, folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), "TMPDIR="+folder) // what the job leaves there goes with the folder
	words := &strings.Builder{}
	cmd.Stderr = words
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fail(exitNotMeasured, "", "starting the demo's job: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fail(exitNotMeasured, "", "starting the demo's job: %w", err)
	}
	j := &demoJob{cmd: cmd, words: words}
	if err := j.awaitTraining(stdout); err != nil {
		j.end()
		return nil, fail(exitNotMeasured, "it said: "+lastLine(words.String()), "the demo's job: %w", err)
	}
	return j, nil
}

func (j *demoJob) awaitTraining(stdout io.Reader) error {
	ready := make(chan error, 1)
	go func() {
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err == nil && line != "training\n" {
			err = fmt.Errorf("said %q", line)
		}
		ready <- err
	}()
	select {
	case err := <-ready:
		if err != nil {
			return fmt.Errorf("ended before its first batch (%w)", err)
		}
		return nil
	case <-time.After(demoStart):
		return fmt.Errorf("had no batch after %s", demoStart)
	}
}

// end ends the job and its workers, which are its process group, and collects it.
func (j *demoJob) end() {
	// The group may be gone already; then there is nothing left to do.
	_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL)
	_ = j.cmd.Wait()
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
