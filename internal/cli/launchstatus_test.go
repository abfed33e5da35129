package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestLeave: the diagnosis decides only over a job that ended well; else what went wrong with it is still reported.
func TestLeave(t *testing.T) {
	gate := fail(exitGate, "", "a gate failed")
	for _, c := range []struct {
		status    int
		diagnosis error
		want      int
		printed   bool
	}{{0, nil, 0, false}, {0, gate, exitGate, false}, {7, nil, 7, false}, {7, gate, 7, true}} {
		var stderr bytes.Buffer
		err := leave(c.status, c.diagnosis, &stderr)
		if got := exitCode(err); got != c.want {
			t.Errorf("job %d, diagnosis %v: %d, want %d", c.status, c.diagnosis, got, c.want)
		}
		if printed := strings.Contains(stderr.String(), "a gate failed"); printed != c.printed {
			t.Errorf("job %d, diagnosis %v: stderr %q", c.status, c.diagnosis, stderr.String())
		}
	}
}
