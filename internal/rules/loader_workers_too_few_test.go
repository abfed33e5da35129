package rules

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// TestWhyNoMoreWorkers: CPUs are no limit to workers that wait, and are not called one.
func TestWhyNoMoreWorkers(t *testing.T) {
	for _, c := range []struct {
		cpu, wait float64
		clamp     predict.Clamp
		says      string
	}{
		{0.09, 0.01, predict.ByCPUs, "usable CPUs allow no more"},
		{0.01, 0.09, predict.ByCPUs, "more workers for each usable CPU are not recommended, though they mostly wait"},
		{0.01, 0.09, predict.ByShm, "/dev/shm allows no more"},
	} {
		costs := predict.Loader{CPU: stat.Exact(c.cpu), Wait: stat.Exact(c.wait), FreeStep: stat.Exact(0.02)}
		l := &diagnose.Loader{Pipeline: predict.Pipeline{Loader: costs}, Seen: costs}
		if got := why(l, diagnose.Needed{Clamp: c.clamp}); !strings.HasSuffix(got, c.says) {
			t.Errorf("%v s on a CPU, %v s waiting, kept by %s: %q", c.cpu, c.wait, c.clamp, got)
		}
	}
}
