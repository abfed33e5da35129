//go:build reliability

package reliability

import (
	"bytes"
	"strconv"
	"sync"
	"time"
)

// steady is a training job whose output is the same in every run: testdata/reliability/steady.py.
type steady struct {
	batches int
	step    time.Duration // sleep of the trainer a batch
	item    time.Duration // sleep of a worker an item
	workers int
	more    []string // further flags, see the script
}

// argv is its command line.
func (j steady) argv(s *stand) []string {
	s.Helper()
	script := s.testdata("reliability/steady.py")
	return append([]string{
		s.python, script, "--batches", strconv.Itoa(j.batches), "--workers", strconv.Itoa(j.workers),
		"--step-ms", strconv.FormatFloat(j.step.Seconds()*1000, 'f', -1, 64), "--item-ms",
		strconv.FormatFloat(j.item.Seconds()*1000, 'f', -1, 64),
	}, j.more...)
}

// start runs it, and returns when it trains.
func (j steady) start(s *stand) *command {
	s.Helper()
	c := s.start("job", j.argv(s))
	c.awaitLines(2) // what it is, and its first epoch's begin
	return c
}

// bare is the output and status of a job with nothing beside it, run once for each shape of job.
func (j steady) bare(s *stand) (stdout []byte, status int) {
	s.Helper()
	quick := j
	quick.step, quick.item = 0, 0 // the output does not depend on them
	key := string(bytes.Join([][]byte{[]byte(s.python), []byte(time.Duration(j.batches).String()),
		[]byte(strconv.Itoa(j.workers))}, nil))
	for _, m := range j.more {
		key += " " + m
	}
	bareMu.Lock()
	defer bareMu.Unlock()
	if e, known := bareEndings[key]; known {
		return e.stdout, e.status
	}
	c := s.start("bare", quick.argv(s))
	status = c.wait(5 * time.Minute)
	stdout = c.output()
	if len(stdout) == 0 {
		s.Fatalf("the bare job writes nothing; stderr: %s", c.complaints())
	}
	bareEndings[key] = bareEnding{stdout, status}
	return stdout, status
}

type bareEnding struct {
	stdout []byte
	status int
}

var (
	bareMu      sync.Mutex
	bareEndings = map[string]bareEnding{}
)

// unharmed waits for the job's end and holds its output and status to those of a bare run.
func (j steady) unharmed(s *stand, c *command) {
	s.Helper()
	status := c.wait(10 * time.Minute)
	want, wantStatus := j.bare(s)
	if got := c.output(); !bytes.Equal(got, want) {
		s.Errorf("the job's output differs from a bare run's:\n%.600s\nbare:\n%.600s", got, want)
	}
	if status != wantStatus {
		s.Errorf("the job ended with %d, bare with %d; stderr: %.600s", status, wantStatus, c.complaints())
	}
}
