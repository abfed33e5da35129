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
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/pipetune/pipetune/internal/merge"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

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
		g.Left = append(g.Left, report.LeftOut{File: fmt.Sprintf("task-%d.json", task), Reason: report.LeftUnreadable,
			Why: "the report was cut off"})
	}
	return nil
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
		if text == "}" {
			delete(g.parts, task)
			g.done(task, part.String())
		}
	}
	return lines.Err()
}

// done takes a whole report.
func (g *Gathering) done(task int, text string) {
	w, err := merge.Decode("", []byte(text))
	if err != nil {
		g.Left = append(g.Left, report.LeftOut{File: fmt.Sprintf("task-%d.json", task), Reason: report.LeftUnreadable,
			Why: untrusted.Message(err.Error())})
		return
	}
	g.Took(task, w, text)
}
