// Package slurm runs a program on each node of a Slurm job that runs, by one srun, and takes the reports that it brings
// back. It asks squeue and scancel, opens no port, and logs in nowhere.
package slurm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/pipetune/pipetune/internal/merge"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// Job is what Slurm says of a job that runs.
type Job struct {
	ID    string
	Nodes int
	List  string // their names, in Slurm's short form
}

// Why a job cannot be watched.
var (
	ErrNoSlurm    = errors.New("is this a Slurm cluster?")
	ErrUnknown    = errors.New("unknown to Slurm: job")
	ErrArray      = errors.New("is an array")
	ErrNotRunning = errors.New("it has to run")
)

// Find asks Slurm for a job. Its error may be one of those above.
func Find(ctx context.Context, id string) (Job, error) {
	for _, program := range []string{"squeue", "srun"} {
		if _, err := exec.LookPath(program); err != nil {
			return Job{}, fmt.Errorf("there is no %s here: %w", program, ErrNoSlurm)
		}
	}
	said, err := command(ctx, "squeue", "--noheader", "--jobs="+id, "--format=%T|%D|%N").Output()
	var refused *exec.ExitError
	if errors.As(err, &refused) {
		said = refused.Stderr
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	last := lines[len(lines)-1]
	switch {
	case last == "":
		return Job{}, fmt.Errorf("%w %s", ErrUnknown, id)
	case err != nil:
		return Job{}, fmt.Errorf("%w %s: %s", ErrUnknown, id, last)
	case len(lines) > 1:
		return Job{}, fmt.Errorf("job %s %w with %d jobs", id, ErrArray, len(lines))
	}
	state, rest, _ := strings.Cut(last, "|")
	count, list, _ := strings.Cut(rest, "|")
	n, err := strconv.Atoi(count)
	switch {
	case err != nil || n < 1:
		return Job{}, fmt.Errorf("squeue said what is not understood: %s", last)
	case state != "RUNNING":
		return Job{}, fmt.Errorf("job %s is %s: %w", id, strings.ToLower(state), ErrNotRunning)
	}
	return Job{ID: id, Nodes: n, List: list}, nil
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

// Gathering takes the nodes' reports from one srun, whose lines begin with the number of their task: "3: {".
type Gathering struct {
	Job  Job
	Step string
	Note func(text string)                           // what is to be known of the gathering itself
	Said func(line string)                           // by the nodes, or srun; sanitized
	Took func(task int, w *merge.Watch, text string) // a whole report
	Left []report.LeftOut                            // reports that cannot be used

	parts map[int]*strings.Builder // reports that have not ended yet
}

// Run runs the command to its end. A request to end is handed on to the nodes, which then report what they have seen.
func (g *Gathering) Run(ctx context.Context, line []string, asked <-chan os.Signal) error {
	g.parts = map[int]*strings.Builder{}
	cmd := command(ctx, line[0], line[1:]...)
	// Ctrl-C is ours to hand on: srun would ask for a second one
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	stdout, err := cmd.StdoutPipe()
	stderr, err2 := cmd.StderrPipe()
	if err = errors.Join(err, err2); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("starting srun: %w", err)
	}
	over := make(chan struct{})
	go func() {
		select {
		case <-asked:
			if err := g.endEarly(ctx); err != nil {
				g.Note("the nodes could not be asked to report now: " + err.Error())
				_ = cmd.Process.Signal(syscall.SIGTERM) // one that has ended needs none
			}
		case <-over:
		}
	}()
	var readers sync.WaitGroup
	readers.Go(func() { g.pass(stderr) })
	readErr := g.take(stdout)
	readers.Wait()
	waitErr := cmd.Wait()
	close(over)
	var exit *exec.ExitError
	if readErr != nil {
		return fmt.Errorf("reading what the nodes report: %w", readErr)
	}
	if waitErr != nil && !errors.As(waitErr, &exit) {
		return fmt.Errorf("srun: %w", waitErr)
	}
	for task := range g.parts { // it was killed, or its node is gone
		g.leave(task, "the report was cut off")
	}
	return nil
}

func (g *Gathering) leave(task int, why string) {
	g.Left = append(g.Left, report.LeftOut{File: fmt.Sprintf("task-%d.json", task), Reason: report.LeftUnreadable,
		Why: why})
}

// endEarly has Slurm send the nodes what Ctrl-C would: they report what they have seen. srun itself, asked to end,
// kills its tasks.
func (g *Gathering) endEarly(ctx context.Context) error {
	said, err := command(ctx, "squeue", "--noheader", "--steps", "--jobs="+g.Job.ID, "--format=%i|%j").Output()
	if err != nil {
		return fmt.Errorf("squeue: %w", err)
	}
	for line := range strings.Lines(string(said)) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "|")
		if name != g.Step {
			continue
		}
		if text, err := command(ctx, "scancel", "--signal=INT", id).CombinedOutput(); err != nil {
			return fmt.Errorf("scancel: %w: %s", err, bytes.TrimSpace(text))
		}
		return nil
	}
	return errors.New("no such step is known to Slurm")
}

// mostWords bounds what is passed on of what the nodes say.
const mostWords = 40

// pass hands on what the nodes, and srun, have to say.
func (g *Gathering) pass(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		if n++; n <= mostWords {
			g.Said(untrusted.Sanitize(lines.Text()))
		}
	}
	if n > mostWords {
		g.Note(fmt.Sprintf("%d more lines of the nodes", n-mostWords))
	}
	if err := lines.Err(); err != nil {
		g.Note("what else the nodes said was lost: " + err.Error())
		_, _ = io.Copy(io.Discard, r) // so that nobody waits for a reader
	}
}

// take sorts lines by their task; a line "}" ends a report.
func (g *Gathering) take(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, merge.MaxBytes)
	for lines.Scan() {
		label, text, ok := strings.Cut(lines.Text(), ": ")
		task, err := strconv.Atoi(strings.TrimSpace(label))
		if !ok || err != nil {
			g.Note(lines.Text()) // srun itself
			continue
		}
		part := g.parts[task]
		if part == nil {
			part = &strings.Builder{}
			g.parts[task] = part
		}
		if part.Len() <= merge.MaxBytes {
			part.WriteString(text + "\n")
		}
		if text != "}" {
			continue
		}
		delete(g.parts, task)
		if w, err := merge.Decode("", []byte(part.String())); err == nil {
			g.Took(task, w, part.String())
		} else {
			g.leave(task, untrusted.Message(err.Error()))
		}
	}
	if err := lines.Err(); err != nil {
		_, _ = io.Copy(io.Discard, r) // srun, and who reads what else it says, would wait for it
		return err
	}
	return nil
}
