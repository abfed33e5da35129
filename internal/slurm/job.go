// Package slurm runs a program on each node of a Slurm job that runs, by one srun, and takes the reports that it brings
// back. It asks squeue and scancel, opens no port, and logs in nowhere.
package slurm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Job is what Slurm says of a job that runs.
type Job struct {
	ID    string
	Nodes int
	List  string // their names, in Slurm's short form
}

// Problem is a kind of Error.
type Problem string

// Why a job cannot be watched.
const (
	NoSlurm    Problem = "no slurm"    // here
	Unknown    Problem = "unknown"     // the job, to Slurm
	Array      Problem = "array"       // several jobs
	NotRunning Problem = "not running" // yet, or any more
	Garbled    Problem = "garbled"     // what squeue said
)

// Error says why a job cannot be watched.
type Error struct {
	Problem Problem
	text    string
}

// Error implements error.
func (e *Error) Error() string { return e.text }

// Find asks Slurm for a job. Its error is an *Error.
func Find(ctx context.Context, id string) (Job, error) {
	refuse := func(p Problem, format string, args ...any) (Job, error) {
		return Job{}, &Error{p, fmt.Sprintf(format, args...)}
	}
	for _, program := range []string{"squeue", "srun"} {
		if _, err := exec.LookPath(program); err != nil {
			return refuse(NoSlurm, "there is no %s here: is this a Slurm cluster?", program)
		}
	}
	said, err := command(ctx, "squeue", "--noheader", "--jobs="+id, "--format=%T|%D|%N").CombinedOutput()
	text := strings.TrimSpace(string(said))
	lines := strings.Split(text, "\n")
	last := lines[len(lines)-1]
	switch {
	case text == "":
		return refuse(Unknown, "Slurm knows no job %s", id)
	case err != nil:
		return refuse(Unknown, "Slurm knows no job %s: %s", id, last)
	}
	fields := strings.Split(last, "|")
	if len(fields) != 3 {
		return refuse(Garbled, "squeue said what is not understood: %s", last)
	}
	n, err := strconv.Atoi(fields[1])
	switch {
	case len(lines) > 1:
		return refuse(Array, "job %s is an array with %d jobs", id, len(lines))
	case fields[0] != "RUNNING":
		return refuse(NotRunning, "job %s is %s", id, strings.ToLower(fields[0]))
	case err != nil || n < 1:
		return refuse(Garbled, "squeue said what is not understood: %s", last)
	}
	return Job{ID: id, Nodes: n, List: fields[2]}, nil
}

// Command is the srun that runs a program on each node, as the step of that name. Each of its flags is there for a
// reason: with --jobid alone srun takes one node; without --overlap it waits until the job is over; and the settings of
// a cluster may end all tasks when the first has failed, or wait for one that hangs for ever.
func (j Job) Command(step string, program ...string) []string {
	n := strconv.Itoa(j.Nodes)
	return append([]string{"srun", "--jobid=" + j.ID, "--job-name=" + step, "--overlap", "--nodes=" + n,
		"--ntasks=" + n, "--ntasks-per-node=1", "--cpus-per-task=1", "--mem=0", "--kill-on-bad-exit=0", "--wait=60",
		"--input=none", "--label"}, program...)
}

// command is a program with this process's environment without what an allocation around it says of its own tasks:
// pipetune slurm may run inside a batch script, whose memory and tasks per node are no wish of ours.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	keep := []string{"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS"}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "SLURM_") && !slices.Contains(keep, name)
	})
	return cmd
}
