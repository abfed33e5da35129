//go:build reliability

package reliability

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// steady is a training job whose output is the same in every run: testdata/reliability/steady.py.
type steady struct {
	batches int
	step    time.Duration // sleep of the trainer a batch
	item    time.Duration // sleep of a worker an item
	workers int
	epoch   int      // batches; 0: 100
	more    []string // further flags, see the script
}

// argv is its command line.
func (j steady) argv(s *stand) []string {
	return append([]string{
		s.python, s.testdata("reliability/steady.py"), "--batches", strconv.Itoa(j.batches), "--workers",
		strconv.Itoa(j.workers), "--step-ms", milliseconds(j.step), "--item-ms", milliseconds(j.item), "--epoch",
		strconv.Itoa(cmp.Or(j.epoch, 100)),
	}, j.more...)
}

func milliseconds(d time.Duration) string { return fmt.Sprint(1000 * d.Seconds()) }

// start runs it, and returns when it trains and has its workers.
func (j steady) start(s *stand) *command {
	s.Helper()
	c := s.start("job", j.argv(s))
	c.awaitLines(2) // what it is, and its first epoch's begin
	s.until(time.Minute, "the job has workers", func() bool { return len(workersOf(c)) >= j.workers || c.hasEnded() })
	return c
}

// bare is the output and status of a job with nothing beside it, run once for each shape of job.
func (j steady) bare(s *stand) bareEnding {
	s.Helper()
	j.step, j.item = 0, 0 // the output does not depend on them
	argv := j.argv(s)
	key := strings.Join(argv, " ")
	if _, known := bareEndings[key]; !known {
		c := s.start("bare", argv)
		e := bareEnding{status: c.wait(5 * time.Minute), stdout: string(c.output())}
		if e.stdout == "" {
			s.Fatalf("the bare job writes nothing; stderr: %s", c.complaints())
		}
		bareEndings[key] = e
	}
	return bareEndings[key]
}

type bareEnding struct {
	stdout string
	status int
}

var bareEndings = map[string]bareEnding{}

// unharmed waits for the job's end and holds its output and status to those of a bare run.
func (j steady) unharmed(s *stand, c *command) {
	s.Helper()
	status, want := c.wait(10*time.Minute), j.bare(s)
	if got := string(c.output()); got != want.stdout {
		s.Errorf("the job's output differs from a bare run's:\n%.600s\nbare:\n%.600s", got, want.stdout)
	}
	if status != want.status {
		s.Errorf("the job ended with %d, bare with %d; stderr: %.600s", status, want.status, c.complaints())
	}
}

// churn is a job that computes nothing: testdata/reliability/churn.py.
type churn struct {
	flags []string
	more  []string // words that only make the command line long
}

func (j churn) argv(s *stand) []string {
	argv := append([]string{s.python, s.testdata("reliability/churn.py")}, j.flags...)
	if len(j.more) > 0 {
		argv = append(append(argv, "--"), j.more...)
	}
	return argv
}

// start runs it, and returns when its workers that stay are there.
func (j churn) start(s *stand) *command {
	s.Helper()
	c := s.start("job", j.argv(s))
	c.awaitLines(1)
	return c
}

// births returns how many workers it says to have made so far, in thousands and at the end of all.
func (c *command) births() int {
	c.stand.Helper()
	born := 0
	for line := range strings.Lines(string(c.output())) {
		var n int
		if _, err := fmt.Sscanf(line, "born %d", &n); err == nil {
			born = n
		}
	}
	return born
}

// stopChurn ends the job as its person would, and holds it to have gone on undisturbed until then. It returns its
// births.
func (s *stand) stopChurn(c *command) (born int) {
	s.Helper()
	c.signal(syscall.SIGTERM)
	c.ends(2*time.Minute, 0)
	last := lastLine(string(c.output()))
	if _, err := fmt.Sscanf(last, "done %d", &born); err != nil {
		s.Errorf("the job's last line is %q", last)
	}
	return born
}
