package launch

import (
	"testing"
	"time"
)

// TestStepsGoOnUntilTheyCanBeJudged: fewer than 5 s after the warm-up make no verdict, however many batches they held.
func TestStepsGoOnUntilTheyCanBeJudged(t *testing.T) {
	for _, c := range []struct {
		steps int
		taken int64
		at    time.Duration
		want  bool
	}{
		{0, 1000, time.Hour, false},
		{20, 20, 9 * time.Second, false},
		{20, 20, 10 * time.Second, true},
		{20, 19, time.Minute, false},
	} {
		l := Limits{Steps: c.steps, Warmup: 5 * time.Second, Least: 5 * time.Second}
		if got := l.enough(c.taken, c.at); got != c.want {
			t.Errorf("--steps %d, %d taken, after %s: %v", c.steps, c.taken, c.at, got)
		}
	}
}
