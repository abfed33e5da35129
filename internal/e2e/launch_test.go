//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestLaunch launches each job with the hook, as a user would, and holds the exact figures against the trainer's own
// stop-watch, and what the same recording reports without the hook against what it tells with it.
func TestLaunch(t *testing.T) {
	m := findMachine(t)
	var tries account
	defer tries.close(t)
	var rows []string
	for _, c := range selected("E2E_JOBS", slices.Concat(launchCases, launchVariations)) {
		if !asked(t, c.name) || m.ctx.Err() != nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			var made []launched
			tries.measure(t, func(t *testing.T) (try, string) {
				l := m.launchOnce(t, c)
				made = append(made, l)
				return l.try(), l.row()
			})
			for i, l := range made {
				rows = append(rows, fmt.Sprintf("%d of %d %s", i+1, len(made), l.row()))
			}
		})
	}
	fmt.Printf("\n%-6s %-26s %-24s %-30s %22s %8s %18s %24s %6s %s\n%s\n", "TRIES", "LAUNCHED", "VERDICT", "FIRST RULE",
		"WAIT/STEP HOOK/OWN", "DIFF", "WAIT SEEN OUTSIDE", "BATCHES/S HOOK/OUT/OWN", "OTHERS", "DATALOADER",
		strings.Join(rows, "\n"))
}

// launchOnce launches the job and gathers what it left.
func (m machine) launchOnce(t *testing.T, c launchCase) launched {
	t.Helper()
	b := m.newGPUBench(t, c.testCase)
	prelude := c.around.around(t, b, c.testCase)
	b.prepare(t, c)
	out := filepath.Join(b.work, c.name+".json")
	job := b.timed(c.testCase, append(b.showHook(), prelude...), cmp.Or(c.seconds, launchSeconds))
	neighbours := startNeighbours(t, c.around.neighbours)
	before := readCPU(neighbours)
	stdout, cmd := b.launch(t, []string{"-q", "--warmup", watchDrops.String(), "-o", out, "-o", out + "l"}, job.Args)
	others := before.others(readCPU(neighbours), cmd)
	if len(stdout) > 0 {
		t.Fatalf("the job writes nothing to stdout, but there is: %.200q", stdout)
	}
	m.keepFile(t, out, "launch-"+c.name+".json")
	m.keepFile(t, out+"l", "launch-"+c.name+".jsonl")
	m.keepFile(t, b.stopwatch(), "launch-"+c.name+".stopwatch.0.jsonl")
	l := gather(t, c, judgedReport(t, out), must.Read(t, out+"l", recording.Read), b.stopwatch())
	l.others = others
	return l
}

// hookDir is where the hook's private folder of this bench's launches is made.
func (b bench) hookDir() string { return filepath.Join(b.work, "hook") }

// showHook lets a job in a chroot see that folder by the name it has outside. A container is given it as a volume in
// the same way.
func (b bench) showHook() []string {
	if b.root == "" {
		return nil
	}
	return []string{"mkdir -p " + b.root + b.hookDir(), "mount --bind " + b.hookDir() + " " + b.root + b.hookDir()}
}

// launch runs diagnose with flags on a command and returns what came on stdout, and the ended command.
func (b bench) launch(t *testing.T, flags, command []string) ([]byte, *exec.Cmd) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*patience)
	defer cancel()
	hookDir := b.hookDir()
	must.Do(t, os.MkdirAll(hookDir, 0o700))
	if b.root != "" {
		// the mount point; what was mounted there ended with the job's mount namespace
		defer os.RemoveAll(b.root + b.work)
	}
	cmd := exec.CommandContext(ctx, b.binary, slices.Concat([]string{"diagnose"}, flags, []string{"--"}, command)...)
	cmd.Dir = b.work
	cmd.Env = append(b.environment(), "XDG_RUNTIME_DIR="+hookDir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := inGroup(cmd).Run(); err != nil {
		t.Fatalf("pipetune diagnose -- …: %v: %.2000s", err, stderr.Bytes())
	}
	if left := must.Get(os.ReadDir(hookDir))(t); len(left) > 0 {
		t.Fatalf("%s is left behind in the runtime folder", left[0].Name())
	}
	return stdout.Bytes(), cmd
}

// prepare makes the data set before the job is launched, so that making it is not part of what is watched.
func (b bench) prepare(t *testing.T, c launchCase) {
	t.Helper()
	if !c.around.cold { // else it is made already
		// the seconds are for jobs without a data set
		output(t, b.shell(nil, b.scriptArgs(c.testCase, "--make-only", "--seconds", "0.1")...))
	}
}
