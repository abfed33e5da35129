//go:build e2e && overhead

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// The overhead that is promised, beside a job with 16 workers.
const (
	maxCPURatio  = 0.01     // of one CPU
	maxRSSBytes  = 40 << 20 // pipetune and its children
	maxSlowdown  = 0.005    // of the job's throughput, median of the pairs
	pairs        = 12
	mostPairs    = 36 // where their median is above the promise and their interval does not tell
	stretch      = 10 * time.Second
	settleBefore = 8 * time.Second
)

// TestOverhead measures what pipetune costs: its own CPU time and memory, and the throughput of a job with 16 workers
// that keeps all cores busy, so that whatever pipetune takes is taken from it. Stretches with and without pipetune
// alternate, each pair in the other order than the one before, so that a drift of the machine falls on both.
func TestOverhead(t *testing.T) {
	m := findMachine(t)
	ctx := context.Background()
	b := must.Get(newBench(m.python, m.root))(t)
	defer os.RemoveAll(b.work)
	c := testCase{name: "overhead", script: "cpu_decode", args: []string{"--workers", "16", "--batch-size", "4"},
		seconds: "600"}
	j := must.Get(b.start(ctx, c, nil))(t)
	defer func() {
		if err := j.stop(); err != nil {
			t.Error(err)
		}
	}()
	must.Get(awaitStopwatch(j, patience, "steady steps", flowing))(t)
	time.Sleep(settleBefore)

	var slowdowns, cpu, total []float64
	var rss []int64
	for i := 0; i < pairs || i < mostPairs && undecided(slowdowns, maxSlowdown); i++ {
		var with, without float64
		for _, watched := range []bool{i%2 == 0, i%2 != 0} {
			from := monotonic()
			if watched {
				rep, used, err := watchOnce(ctx, m, b, j.pid)
				if err != nil {
					t.Fatal(err)
				}
				cpu, rss = append(cpu, rep.Tool.Overhead.CPURatio), append(rss, rep.Tool.Overhead.MaxRSSBytes)
				total = append(total, used.Seconds()/(monotonic()-from))
			} else {
				time.Sleep(stretch)
			}
			rate := must.Get(rateBetween(j, from, monotonic()))(t)
			if watched {
				with = rate
			} else {
				without = rate
			}
		}
		slowdowns = append(slowdowns, 1-with/without)
		fmt.Printf("pair %2d: %.2f batches/s without, %.2f with: %+.2f %%; %.2f %% of a CPU while watching, %.2f %% "+
			"with start and report, %.1f MB\n",
			i+1, without, with, 100*(with/without-1), 100*cpu[i], 100*total[i], float64(rss[i])/1e6)
	}
	slices.Sort(slowdowns)
	slices.Sort(cpu)
	low, high := medianBetween(slowdowns)
	fmt.Printf("job slower by %.2f %% (median of %d pairs; 95 %% interval %.2f to %.2f %%); pipetune %.2f %% of one "+
		"CPU (median), %.1f MB at most\n",
		100*median(slowdowns), len(slowdowns), 100*low, 100*high, 100*median(cpu), float64(slices.Max(rss))/1e6)
	if got := median(cpu); got > maxCPURatio {
		t.Errorf("pipetune used %.2f %% of one CPU, promised %.0f %%", 100*got, 100*maxCPURatio)
	}
	if got := slices.Max(rss); got > maxRSSBytes {
		t.Errorf("pipetune used %.1f MB, promised %.1f", float64(got)/1e6, maxRSSBytes/1e6)
	}
	if got := median(slowdowns); got > maxSlowdown {
		t.Errorf("the job was slower by %.2f %% at the median of the pairs, promised %.1f %%", 100*got, 100*maxSlowdown)
	}
}

// undecided reports whether the median of what was measured is above a promise that its 95 % interval still allows.
func undecided(values []float64, promise float64) bool {
	sorted := slices.Sorted(slices.Values(values))
	low, _ := medianBetween(sorted)
	return low <= promise && median(sorted) > promise
}

// watchOnce runs diagnose for one stretch and returns its report and the CPU time of the whole command, its children
// included.
func watchOnce(ctx context.Context, m machine, b bench, pid int) (*report.Report, time.Duration, error) {
	out := filepath.Join(b.work, "overhead.json")
	cmd := exec.CommandContext(ctx, m.binary, "diagnose", "--pid", strconv.Itoa(pid), "--duration", stretch.String(),
		"-q", "-o", out)
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("pipetune diagnose: %w: %s", err, output)
	}
	f, err := os.Open(out)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	rep, err := report.Decode(f)
	if err == nil && rep.Tool.Overhead == nil {
		err = errors.New("the report does not say what pipetune cost")
	}
	return rep, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// rateBetween is the job's own count of batches per second between two moments.
func rateBetween(j *job, from, to float64) (float64, error) {
	var got measured
	_, err := awaitStopwatch(j, patience, "the stop-watch past the stretch", func(ranks [][]reading) bool {
		var ok bool
		got, ok = over(ranks, from, to)
		return ok
	})
	return got.batchesPerSec, err
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
