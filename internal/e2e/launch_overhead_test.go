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
				b := cleared(t)(m.newBench())
				what := fmt.Sprintf("%s, %s workers", how, workers)
				slowdown(t, what, hookPairs, mostHookPairs, maxHookSlowdown, func(watched bool) float64 {
					each := bareJob
					if watched {
						each = how
					}
					return must.Get(m.stepsPerSecond(t, b, each, "--work", stepWork, "--workers", workers))(t)
				})
			})
		}
	}
}

// TestLaunchLosesNothing launches a job of some 2,000 steps per second; no message of the hook may be lost.
func TestLaunchLosesNothing(t *testing.T) {
	m := findMachine(t)
	rate := must.Get(m.stepsPerSecond(t, cleared(t)(m.newBench()), launchedJob, "--work", "110000"))(t)
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
			b := cleared(t)(m.newBench())
			job := b.shell(b.showHook(), b.scriptArgs(testCase{name: "hook_by_turns"}, "--work", stepWork, "--workers",
				workers)...)
			output, _, err := m.launch(t.Context(), b, []string{"-q", "-o", filepath.Join(b.work, "turns.json")},
				job.Args)
			must.Do(t, err)
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
func (m machine) stepsPerSecond(t *testing.T, b bench, how watchedHow, flags ...string) (float64, error) {
	stopwatch, out := filepath.Join(b.work, "stopwatch.jsonl"), filepath.Join(b.work, "fast.jsonl")
	flags = append(flags, "--stopwatch", b.inside(stopwatch), "--seconds", hookSeconds)
	job := b.shell(b.showHook(), b.scriptArgs(testCase{name: "fast_steps"}, flags...)...)
	switch how {
	case bareJob:
		if output, err := job.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("the bare job: %w: %s", err, output)
		}
	case attachedJob:
		if err := m.attached(t, b, job); err != nil {
			return 0, err
		}
	case launchedJob:
		if _, _, err := m.launch(t.Context(), b, []string{"-q", "-o", out}, job.Args); err != nil {
			return 0, err
		}
		rec, err := readRecordingFile(out)
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

// attached runs the job, and pipetune beside it from soon after its start to shortly before its end.
func (m machine) attached(t *testing.T, b bench, job *exec.Cmd) error {
	if err := job.Start(); err != nil {
		return err
	}
	time.Sleep(attachAfter)
	watch := exec.CommandContext(t.Context(), m.binary, "diagnose", "--pid", strconv.Itoa(job.Process.Pid),
		"--duration", attachFor.String(), "-q", "-o", filepath.Join(b.work, "attached.json"))
	output, err := watch.CombinedOutput()
	if ended := job.Wait(); ended != nil {
		return fmt.Errorf("the job: %w", ended)
	}
	if err != nil {
		return fmt.Errorf("pipetune diagnose: %w: %s", err, output)
	}
	return nil
}
