//go:build reliability

package reliability

import (
	"fmt"
	"strings"
	"syscall"
	"time"
)

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
