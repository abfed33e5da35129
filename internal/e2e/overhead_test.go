//go:build e2e && overhead

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/stat"
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
// that keeps all cores busy, so that whatever pipetune takes is taken from it.
func TestOverhead(t *testing.T) {
	m := findMachine(t)
	b := m.newBench(t)
	c := testCase{name: "overhead", script: "cpu_decode", args: []string{"--workers", "16", "--batch-size", "4"},
		seconds: "600"}
	j := b.start(t, c, nil)
	j.flows(t)
	time.Sleep(settleBefore)

	var cpu, total []float64
	most := 0.0 // MB
	slowdown(t, "with 16 workers", pairs, mostPairs, maxSlowdown, func(watched bool) (rate float64) {
		from := monotonic()
		if watched {
			rep, used := watchOnce(t, b, j.pid)
			cpu, most = append(cpu, rep.CPURatio), max(most, float64(rep.MaxRSSBytes)/1e6)
			total = append(total, used.Seconds()/(monotonic()-from))
		} else {
			time.Sleep(stretch)
		}
		return j.over(t, from, monotonic()).batchesPerSec
	})
	fmt.Printf("pipetune %.2f %% of one CPU (median), %.2f %% with start and report, %.1f MB at most\n",
		100*median(cpu), 100*median(total), most)
	if got := median(cpu); got > maxCPURatio {
		t.Errorf("pipetune used %.2f %% of one CPU, promised %.0f %%", 100*got, 100*maxCPURatio)
	}
	if most > maxRSSBytes/1e6 {
		t.Errorf("pipetune used %.1f MB, promised %.1f", most, maxRSSBytes/1e6)
	}
}

// slowdown measures a job's rate with pipetune and without in pairs, each in the other order than the one before, so
// that a drift of the machine falls on both, until their median tells, and holds it to a promise.
func slowdown(t *testing.T, what string, least, most int, promise float64, rate func(watched bool) float64) {
	t.Helper()
	var slowdowns []float64
	undecided := func() bool { // whether the median is above the promise and its interval still allows that
		s := stat.Median(slowdowns)
		return s.Center > promise && s.Lo <= promise
	}
	for i := 0; i < least || i < most && undecided(); i++ {
		rates := map[bool]float64{}
		for _, watched := range []bool{i%2 == 0, i%2 != 0} {
			rates[watched] = rate(watched)
		}
		slowdowns = append(slowdowns, 1-rates[true]/rates[false])
		fmt.Printf("pair %2d, %s: %.2f /s without, %.2f with: %+.2f %%\n", i+1, what, rates[false], rates[true],
			-100*slowdowns[i])
	}
	s := stat.Median(slowdowns)
	fmt.Printf("%s: job slower by %.2f %% (median of %d pairs; 95 %% interval %.2f to %.2f %%)\n", what, 100*s.Center,
		len(slowdowns), 100*s.Lo, 100*s.Hi)
	if s.Center > promise {
		t.Errorf("%s: the job was slower by %.2f %% at the median of the pairs, promised %.1f %%", what, 100*s.Center,
			100*promise)
	}
}

// watchOnce runs diagnose for one stretch and returns what its report says of pipetune itself, and the CPU time of the
// whole command, its children included.
func watchOnce(t *testing.T, b bench, pid int) (*report.Overhead, time.Duration) {
	t.Helper()
	out := filepath.Join(b.work, "overhead.json")
	cmd := exec.CommandContext(b.ctx, b.binary, "diagnose", "--pid", strconv.Itoa(pid), "--duration", stretch.String(),
		"-q", "-o", out)
	output(t, cmd)
	cost := must.Read(t, out, report.Decode).Tool.Overhead
	if cost == nil {
		t.Fatal("the report does not say what pipetune cost")
	}
	return cost, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
