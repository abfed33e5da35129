// Package demo starts a small real training job with a planted fault, for pipetune to watch. Only its own job is ever
// ended.
package demo

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed train.py
var script []byte

// toFirstBatch is how long the job may take from its start to its first batch: importing torch from a cold disk takes
// most of it.
const toFirstBatch = 90 * time.Second

// Interpreters are tried in this order; the first that has torch and h5py is taken.
var Interpreters = []string{"python3", "/usr/bin/python3", "python"}

// FindPython returns the path of an interpreter that has torch and h5py: of the one that was chosen, or of the first of
// Interpreters where that is "".
func FindPython(chosen string) (string, error) {
	candidates := Interpreters
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
	return "", fmt.Errorf("no Python with torch and h5py among %s", strings.Join(candidates, ", "))
}

// Job is a job that was started, and trains.
type Job struct{ cmd *exec.Cmd }

// PID is the trainer's process number.
func (j *Job) PID() int { return j.cmd.Process.Pid }

// Start starts the job, which makes its dataset in folder, and waits for its first batch.
func Start(python, folder string) (*Job, error) {
	path := filepath.Join(folder, "train.py")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		return nil, fmt.Errorf("writing the demo's script: %w", err)
	}
	cmd := exec.Command(python, path, folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), "TMPDIR="+folder) // what the job leaves there goes with the folder
	var words strings.Builder                        // on stderr
	cmd.Stderr = &words
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the demo's job: %w", err)
	}
	j := &Job{cmd}
	if err := awaitTraining(stdout); err != nil {
		j.End()
		lines := strings.Split(strings.TrimSpace(words.String()), "\n")
		return nil, fmt.Errorf("the demo's job: %w; it said: %s", err, lines[len(lines)-1])
	}
	return j, nil
}

func awaitTraining(stdout io.Reader) error {
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
	case <-time.After(toFirstBatch):
		return fmt.Errorf("had no batch after %s", toFirstBatch)
	}
}

// End ends the job and its workers, which are its process group, and collects it.
func (j *Job) End() {
	// The group may be gone already; then there is nothing left to do.
	_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL)
	_ = j.cmd.Wait()
}
