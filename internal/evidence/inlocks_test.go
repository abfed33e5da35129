package evidence

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// TestInLocks makes what a watch sees of a trainer that waits in locks for data and for its device, and wants the wait.
func TestInLocks(t *testing.T) {
	for _, c := range []struct {
		name                 string
		wait, device, atWork float64
	}{
		{"who feeds it sets the pace", 0.85, 0.15, 1},
		{"who feeds it has time to spare", 0.40, 0.30, 0.5},
		{"who feeds it has much time to spare", 0.10, 0.80, 0.3},
		{"no wait", 0, 0.90, 0.2},
		{"no sleep for the device", 0.60, 0, 0.9},
	} {
		beside := (c.atWork - c.wait) / (1 - c.wait) // part of the sleep for the device in which they are at work
		seen := c.wait + beside*c.device
		b := &builder{Watch: &watched.Watch{}}
		r := &rank{Process: &watched.Process{Entity: "process/1"},
			wait: stat.Summary{Center: seen, Lo: seen, Hi: seen, N: 1}}
		busy := step.Share(c.device, c.device, c.device)
		b.inLocks(r, step.Seen{Device: step.Counted, Busy: busy}, c.atWork)
		if math.Abs(r.wait.Center-c.wait) > 1e-9 || r.wait.Lo > c.wait+1e-9 || r.wait.Hi < c.wait-1e-9 {
			t.Errorf("%s: wait %.3f (%.3f to %.3f), want %.3f", c.name, r.wait.Center, r.wait.Lo, r.wait.Hi, c.wait)
		}
	}
}
