//go:build e2e && overhead

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// What the hook may cost a job of a thousand steps a second.
const (
	maxHookSlowdown = 0.005 // of its steps per second, median of the pairs
	hookPairs       = 10
	hookSeconds     = "8"
	hookSettles     = 2.0 // seconds of the stop-watch left out at its start
)

// TestLaunchOverhead runs the same job bare and launched, in pairs of alternating order, and compares its own count of steps per second.
func TestLaunchOverhead(t *testing.T) {
	m := findMachine(t)
	b, err := newBench(m.python, m.root)
	if b.work != "" {
		defer os.RemoveAll(b.work)
	}
	if err != nil {
		t.Fatal(err)
	}
	var slowdowns []float64
	for i := range hookPairs {
		rate := map[bool]float64{}
		for _, launched := range []bool{i%2 == 0, i%2 != 0} {
			if rate[launched], err = m.stepsPerSecond(t, b, launched); err != nil {
				t.Fatal(err)
			}
		}
		slowdowns = append(slowdowns, 1-rate[true]/rate[false])
		fmt.Printf("pair %2d: %.1f steps/s bare, %.1f launched: %+.2f %%\n", i+1, rate[false], rate[true], -100*slowdowns[i])
	}
	slices.Sort(slowdowns)
	fmt.Printf("job slower by %.2f %% (median of %d pairs, quartiles %.2f to %.2f %%)\n", 100*median(slowdowns), hookPairs,
		100*slowdowns[hookPairs/4], 100*slowdowns[hookPairs-1-hookPairs/4])
	// The median of pairs is judged with its own noise: it fails when three quarters of the pairs agree that the promise is broken.
	if got := slowdowns[hookPairs/4]; got > maxHookSlowdown {
		t.Errorf("the job was slower by more than %.2f %% in three quarters of the pairs, promised %.1f %%", 100*got, 100*maxHookSlowdown)
	}
}

// stepsPerSecond runs the job once. Launched, no message may be lost.
func (m machine) stepsPerSecond(t *testing.T, b bench, launched bool) (float64, error) {
	stopwatch, out := filepath.Join(b.work, "stopwatch.jsonl"), filepath.Join(b.work, "fast.jsonl")
	job := b.shell(b.showHook(), b.scriptArgs(testCase{name: "fast_steps"}, "--stopwatch", b.inside(stopwatch), "--seconds", hookSeconds)...)
	if !launched {
		if output, err := job.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("the bare job: %w: %s", err, output)
		}
	} else {
		if _, _, err := m.launch(t.Context(), b, []string{"-q", "-o", out}, job.Args); err != nil {
			return 0, err
		}
		file, err := os.Open(out)
		if err != nil {
			return 0, err
		}
		defer file.Close()
		rec, err := recording.Read(file)
		if err != nil {
			return 0, err
		}
		if lost := total(rec, metric.HookLost); lost > 0 {
			t.Errorf("%.0f messages of the hook were lost", lost)
		}
		if total(rec, metric.HookSteps) == 0 {
			t.Error("the hook told of no step")
		}
	}
	readings, err := readStopwatch(stopwatch)
	if err != nil || len(readings) < 2 {
		return 0, fmt.Errorf("%d readings of the stop-watch: %w", len(readings), err)
	}
	last := readings[len(readings)-1]
	first, ok := at(readings, readings[0].T+hookSettles)
	if !ok {
		return 0, fmt.Errorf("the job trained for less than %.0f s", hookSettles)
	}
	return (last.Batches - first.Batches) / (last.T - first.T), nil
}
