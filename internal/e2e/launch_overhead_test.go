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
)

// What the hook may cost a job of a thousand steps a second.
const (
	maxHookSlowdown = 0.005 // of its steps per second, median of the pairs
	hookPairs       = 20
	mostHookPairs   = 40 // where their median is above the promise and their interval does not tell
	hookSeconds     = "8"
	stepWork        = "270000" // of the job: steps of some 1 ms
	hookSettles     = 2.0      // seconds of the stop-watch left out at its start
	attachAfter     = 2500 * time.Millisecond
	attachFor       = 6 * time.Second
)

// TestLaunchOverhead runs the same job bare and watched, in pairs, and compares its own count of steps per second:
// launched and attached, with workers and without.
func TestLaunchOverhead(t *testing.T) {
	for _, workers := range []string{"0", "4"} {
		for _, how := range []watchedHow{launchedJob, attachedJob} {
			t.Run(fmt.Sprintf("%s, %s workers", how, workers), func(t *testing.T) {
				m := findMachine(t)
				b := m.newBench(t)
				what := fmt.Sprintf("%s, %s workers", how, workers)
				slowdown(t, what, hookPairs, mostHookPairs, maxHookSlowdown, func(watched bool) float64 {
					each := bareJob
					if watched {
						each = how
					}
					return b.stepsPerSecond(t, each, "--work", stepWork, "--workers", workers)
				})
			})
		}
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
	output(t, exec.CommandContext(b.ctx, b.binary, "diagnose", "--pid", strconv.Itoa(job.Process.Pid), "--duration",
		attachFor.String(), "-q", "-o", filepath.Join(b.work, "attached.json")))
}
