//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// TestLaunch launches each job with the hook, as a user would, and holds the exact figures against the trainer's own
// stop-watch, and what the same recording reports without the hook against what it tells with it.
func TestLaunch(t *testing.T) {
	ctx, m := interruptible(t), findMachine(t)
	var tries account
	defer tries.close(t)
	var rows []string
	for _, c := range selected("E2E_JOBS", slices.Concat(launchCases, launchVariations)) {
		if !asked(t, c.name) || ctx.Err() != nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			var made []launched
			_, err := tries.measure(t, func() (try, string, error) {
				l, err := m.launchOnce(ctx, t, c)
				if err != nil {
					return try{}, "", err
				}
				made = append(made, l)
				return l.try(), l.row(), nil
			})
			for i, l := range made {
				rows = append(rows, fmt.Sprintf("%d of %d %s", i+1, len(made), l.row()))
			}
			must.Do(t, err)
		})
	}
	fmt.Printf("\n%-6s %-26s %-24s %-30s %22s %8s %18s %24s %6s %s\n%s\n", "TRIES", "LAUNCHED", "VERDICT", "FIRST RULE",
		"WAIT/STEP HOOK/OWN", "DIFF", "WAIT SEEN OUTSIDE", "BATCHES/S HOOK/OUT/OWN", "OTHERS", "DATALOADER",
		strings.Join(rows, "\n"))
}

// launchOnce launches the job and gathers what it left.
func (m machine) launchOnce(ctx context.Context, t *testing.T, c launchCase) (l launched, err error) {
	b, err := m.newGPUBench(c.testCase)
	defer func() { err = errors.Join(err, b.remove()) }()
	if err != nil {
		return l, err
	}
	prelude, undo, err := c.around.around(ctx, b, c.testCase)
	defer func() { err = errors.Join(err, undo()) }()
	if err != nil {
		return l, err
	}
	if err := b.prepare(ctx, c); err != nil {
		return l, err
	}
	stopwatch := filepath.Join(b.work, "stopwatch.jsonl")
	out := filepath.Join(b.work, c.name+".json")
	job := b.shell(append(b.showHook(), prelude...), b.scriptArgs(c.testCase, "--stopwatch", b.inside(stopwatch),
		"--seconds", cmp.Or(c.seconds, launchSeconds))...)
	neighbours, quiet, err := startNeighbours(c.around.neighbours)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, quiet()) }()
	before := readCPU(neighbours)
	stdout, cmd, err := m.launch(ctx, b, []string{"-q", "--warmup", watchDrops.String(), "-o", out, "-o", out + "l"},
		job.Args)
	others := before.others(readCPU(neighbours), cmd)
	if err != nil {
		return l, err
	}
	if len(stdout) > 0 {
		return l, fmt.Errorf("the job writes nothing to stdout, but there is: %.200q", stdout)
	}
	m.keepFile(t, out, "launch-"+c.name+".json")
	m.keepFile(t, out+"l", "launch-"+c.name+".jsonl")
	m.keepFile(t, stopwatch, "launch-"+c.name+".stopwatch.0.jsonl")
	l = launched{launchCase: c, others: others}
	rep, err := readReport(out)
	if err != nil {
		return l, err
	}
	rec, err := readRecordingFile(out + "l")
	if err != nil {
		return l, err
	}
	return l, l.gather(rep, rec, stopwatch)
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
func (m machine) launch(ctx context.Context, b bench, flags, command []string) ([]byte, *exec.Cmd, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	hookDir := b.hookDir()
	if err := os.MkdirAll(hookDir, 0o700); err != nil {
		return nil, nil, err
	}
	if b.root != "" {
		// the mount point; what was mounted there ended with the job's mount namespace
		defer os.RemoveAll(b.root + b.work)
	}
	cmd := exec.CommandContext(ctx, m.binary, slices.Concat([]string{"diagnose"}, flags, []string{"--"}, command)...)
	cmd.Dir = b.work
	cmd.Env = append(b.environment(), "XDG_RUNTIME_DIR="+hookDir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := inGroup(cmd).Run(); err != nil {
		return nil, nil, fmt.Errorf("pipetune diagnose -- …: %w: %.2000s", err, stderr.Bytes())
	}
	left, err := os.ReadDir(hookDir)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%s is left behind in the runtime folder", left[0].Name())
	}
	return stdout.Bytes(), cmd, err
}

// prepare makes the data set before the job is launched, so that making it is not part of what is watched.
func (b bench) prepare(ctx context.Context, c launchCase) error {
	if c.around.cold {
		return nil // made already
	}
	// the seconds are for jobs without a data set
	cmd := b.shell(nil, b.scriptArgs(c.testCase, "--make-only", "--seconds", "0.1")...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("making the data set: %w: %s", err, output)
	}
	return ctx.Err()
}
