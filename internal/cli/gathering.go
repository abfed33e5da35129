package cli

import (
	"bufio"
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

// gathering takes the nodes' reports from one srun, whose lines begin with the number of their task: "3: {".
type gathering struct {
	env   Env
	job   string // its number
	name  string // of the step
	keep  string
	parts map[int]*strings.Builder // reports that have not ended yet
	list  []*merge.Watch
	left  []report.LeftOut
}

// run runs the command to its end. A request to end is handed on to the nodes, which then report what they have seen.
func (g *gathering) run(ctx context.Context, command []string, asked <-chan os.Signal) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = slurmEnvironment()
	// Ctrl-C is ours to hand on: srun would ask for a second one
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	stdout, err := cmd.StdoutPipe()
	stderr, err2 := cmd.StderrPipe()
	if err = errors.Join(err, err2); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fail(exitNotMeasured, "", "starting srun: %w", err)
	}
	over := make(chan struct{})
	go func() {
		select {
		case <-asked:
			if err := g.endEarly(ctx); err != nil {
				note(g.env.Stderr, "the nodes could not be asked to report now: "+err.Error())
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
		return fail(exitNotMeasured, "", "reading what the nodes report: %w", readErr)
	}
	if waitErr != nil && !errors.As(waitErr, &exit) {
		return fail(exitNotMeasured, "", "srun: %w", waitErr)
	}
	for task := range g.parts { // it was killed, or its node is gone
		g.left = append(g.left, report.LeftOut{File: fmt.Sprintf("task-%d.json", task), Reason: report.LeftUnreadable,
			Why: "the report was cut off"})
	}
	return nil
}

// endEarly has Slurm send the nodes what Ctrl-C would: they report what they have seen. srun itself, asked to end,
// kills its tasks.
func (g *gathering) endEarly(ctx context.Context) error {
	list := exec.CommandContext(ctx, "squeue", "--noheader", "--steps", "--jobs="+g.job, "--format=%i|%j")
	list.Env = slurmEnvironment()
	said, err := list.Output()
	if err != nil {
		return fmt.Errorf("squeue: %w", err)
	}
	for line := range strings.Lines(string(said)) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "|")
		if name != g.name {
			continue
		}
		send := exec.CommandContext(ctx, "scancel", "--signal=INT", id)
		send.Env = slurmEnvironment()
		if text, err := send.CombinedOutput(); err != nil {
			return fmt.Errorf("scancel: %w: %s", err, lastLine(string(text)))
		}
		return nil
	}
	return errors.New("no such step is known to Slurm")
}

// mostWords bounds what is passed on of what the nodes say.
const mostWords = 40

// pass hands on what the nodes, and srun, have to say.
func (g *gathering) pass(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		if n++; n <= mostWords {
			fmt.Fprintln(g.env.Stderr, untrusted.Sanitize(lines.Text()))
		}
	}
	if n > mostWords {
		note(g.env.Stderr, fmt.Sprintf("%d more lines of the nodes", n-mostWords))
	}
	if err := lines.Err(); err != nil {
		note(g.env.Stderr, "what else the nodes said was lost: "+err.Error())
		_, _ = io.Copy(io.Discard, r) // so that nobody waits for a reader
	}
}

// take sorts lines by their task; a line "}" ends a report.
func (g *gathering) take(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, merge.MaxBytes)
	for lines.Scan() {
		label, text, ok := strings.Cut(lines.Text(), ": ")
		task, err := strconv.Atoi(strings.TrimSpace(label))
		if !ok || err != nil {
			note(g.env.Stderr, lines.Text()) // srun itself
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
func (g *gathering) done(task int, text string) {
	w, err := merge.Decode("", []byte(text))
	if err != nil {
		g.left = append(g.left, report.LeftOut{File: fmt.Sprintf("task-%d.json", task), Reason: report.LeftUnreadable,
			Why: untrusted.Message(err.Error())})
		return
	}
	w.SetFile(nodeFile(g.keep, w, task))
	g.list = append(g.list, w)
	if g.keep == "" {
		return
	}
	out := output{path: nodeFile(g.keep, w, task), flag: "--keep"}
	if err := out.fill(func(f io.Writer) error { _, err := io.WriteString(f, text); return err }); err != nil {
		complain(g.env.Stderr, err)
	}
}
