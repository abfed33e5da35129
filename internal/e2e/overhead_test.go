//go:build e2e && overhead

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// What the hook may cost a job of a thousand steps a second.
const (
	maxHookSlowdown = 0.005 // of its steps per second, median of the pairs
	hookPairs       = 20
	mostHookPairs   = 40 // where their median is above the promise and their interval does not tell
	hookSeconds     = "8"
	stepWork        = "270000" // of the job: steps of some 1 ms
	itemReads       = "10000"  // of the job: steps of some 1 ms that are items in Python
	hookSettles     = 2.0      // seconds of the stop-watch left out at its start
	attachAfter     = 2500 * time.Millisecond
	attachFor       = 6 * time.Second
)

// TestLaunchOverhead runs the same job bare and watched, in pairs, and compares its own count of steps per second:
// launched and attached, with workers and without, and with items that are Python code.
func TestLaunchOverhead(t *testing.T) {
	for _, c := range []struct {
		how  watchedHow
		job  string
		args []string
	}{
		{launchedJob, "0 workers", []string{"--work", stepWork}},
		{attachedJob, "0 workers", []string{"--work", stepWork}},
		{launchedJob, "4 workers", []string{"--work", stepWork, "--workers", "4"}},
		{attachedJob, "4 workers", []string{"--work", stepWork, "--workers", "4"}},
		{launchedJob, "items in Python", []string{"--work", "1000", "--reads", itemReads}},
	} {
		what := fmt.Sprintf("%s, %s", c.how, c.job)
		t.Run(what, func(t *testing.T) {
			b := findMachine(t).newBench(t)
			slowdown(t, what, hookPairs, mostHookPairs, maxHookSlowdown, func(watched bool) float64 {
				each := bareJob
				if watched {
					each = c.how
				}
				return b.stepsPerSecond(t, each, c.args...)
			})
		})
	}
}

// TestLaunchLosesNothing launches a job of some 2,000 steps per second; no message of the hook may be lost.
func TestLaunchLosesNothing(t *testing.T) {
	rate := findMachine(t).newBench(t).stepsPerSecond(t, launchedJob, "--work", "110000")
	fmt.Printf("%.0f steps/s launched\n", rate)
}

// watchedHow is how pipetune looks at the job of a run.
type watchedHow string

const (
	bareJob     watchedHow = "bare" // not at all
	launchedJob watchedHow = "launched"
	attachedJob watchedHow = "attached"
)

// TestLaunchHookByTurns compares stretches of steps with the hook's wrappers and without them in one process, which
// distinguishes what pairs of whole jobs cannot.
func TestLaunchHookByTurns(t *testing.T) {
	for _, workers := range []string{"0", "4"} {
		t.Run(workers+" workers", func(t *testing.T) {
			m := findMachine(t)
			b := m.newBench(t)
			job := b.shell(b.showHook(), b.scriptArgs(testCase{name: "hook_by_turns"}, "--work", stepWork, "--workers",
				workers)...)
			output, _ := b.launch(t, []string{"-q", "-o", filepath.Join(b.work, "turns.json")}, job.Args)
			var walls, cpus []float64
			for line := range strings.Lines(string(output)) {
				var bare, bareCPU, hooked, hookedCPU float64
				if _, err := fmt.Sscan(line, &bare, &bareCPU, &hooked, &hookedCPU); err == nil {
					walls, cpus = append(walls, hooked/bare-1), append(cpus, hookedCPU-bareCPU)
				}
			}
			if len(walls) != hookPairs {
				t.Fatalf("%d pairs, want %d: %s", len(walls), hookPairs, output)
			}
			wall, cpu := stat.Median(walls), stat.Median(cpus)
			fmt.Printf("%s workers: a step takes %+.2f %% with the hook (95 %% interval %+.2f to %+.2f), %+.1f µs of "+
				"CPU time (%+.1f to %+.1f)\n",
				workers, 100*wall.Center, 100*wall.Lo, 100*wall.Hi, cpu.Center, cpu.Lo, cpu.Hi)
			if wall.Center > maxHookSlowdown {
				t.Errorf("a step takes %.2f %% longer with the hook (median), promised %.1f %%", 100*wall.Center,
					100*maxHookSlowdown)
			}
		})
	}
}

// stepsPerSecond runs the job once. Launched, no message may be lost.
func (b bench) stepsPerSecond(t *testing.T, how watchedHow, flags ...string) float64 {
	t.Helper()
	out := filepath.Join(b.work, "fast.jsonl")
	job := b.timed(testCase{name: "fast_steps", args: flags}, b.showHook(), hookSeconds)
	switch how {
	case bareJob:
		output(t, job)
	case attachedJob:
		b.attached(t, job)
	case launchedJob:
		b.launch(t, []string{"-q", "-o", out}, job.Args)
		rec := must.Read(t, out, recording.Read)
		if lost := total(rec, metric.HookLost); lost > 0 {
			t.Errorf("%.0f messages of the hook were lost", lost)
		}
		if total(rec, metric.HookSteps) == 0 {
			t.Error("the hook told of no step")
		}
	}
	readings := must.Get(readStopwatch(b.stopwatch()))(t)
	if len(readings) < 2 {
		t.Fatalf("%d readings of the stop-watch", len(readings))
	}
	last := readings[len(readings)-1]
	first, ok := at(readings, readings[0].T+hookSettles)
	if !ok {
		t.Fatalf("the job trained for less than %.0f s", hookSettles)
	}
	return (last.Batches - first.Batches) / (last.T - first.T)
}

// attached runs the job, and pipetune beside it from soon after its start to shortly before its end.
func (b bench) attached(t *testing.T, job *exec.Cmd) {
	t.Helper()
	must.Do(t, job.Start())
	defer func() { must.Do(t, job.Wait()) }()
	time.Sleep(attachAfter)
	b.run(t, nil, "diagnose", "--pid", strconv.Itoa(job.Process.Pid), "--duration", attachFor.String(), "-q", "-o",
		filepath.Join(b.work, "attached.json"))
}

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
	cmd, _ := b.run(t, nil, "diagnose", "--pid", strconv.Itoa(pid), "--duration", stretch.String(), "-q", "-o", out)
	cost := must.Read(t, out, report.Decode).Tool.Overhead
	if cost == nil {
		t.Fatal("the report does not say what pipetune cost")
	}
	return cost, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
