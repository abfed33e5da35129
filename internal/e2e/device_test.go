//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

const (
	deviceSeconds = "26" // a launched loop trains so long
	freeSeconds   = 8    // over which the loop with data for free is measured
)

// TestDevice watches loops on the stand-in GPU, attached and launched, and holds what is said of each against its
// timeline and against the same loop with data for free. Attempts follow the policy of doc.go. E2E_DEVICE='regexp'
// selects loops, E2E_DEVICE_HOW='attached' or 'launched' one way; E2E_KEEP keeps each loop's recordings with their
// truth in a folder of its name; E2E_RECORDINGS is a folder of recordings to replay, such as
// testdata/recordings/device, to which each loop's last attempt is added.
func TestDevice(t *testing.T) {
	m := findMachine(t)
	if m.root != "" {
		t.Fatal("the stand-in GPU is built for this machine: run it without TORCH_ROOT and TORCH")
	}
	m.watchLoops(interruptible(t), t, selected("E2E_DEVICE", deviceLoops))
}

// watchLoops watches loops and holds them to their bounds, one by one and together.
func (m machine) watchLoops(ctx context.Context, t *testing.T, loops []deviceLoop) {
	how, known := regexp.MustCompile(os.Getenv("E2E_DEVICE_HOW")), knownMisses(t)
	var tries account
	defer tries.close(t)
	var rows []deviceRow
	for _, loop := range loops {
		if ctx.Err() != nil {
			t.Fatal("interrupted; what was started is ended and cleared")
		}
		t.Run(loop.name, func(t *testing.T) {
			var made [][]deviceRow
			best, err := tries.measure(t, func() (one try, figures string, err error) {
				watched, err := m.watchLoop(ctx, loop, how)
				made = append(made, watched)
				for _, r := range watched {
					r.hold(&one, known)
				}
				return one, fmt.Sprintf("%s %s\n%s", loop.conf, loop.args, deviceTable(watched)), err
			})
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, made[best]...)
		})
	}
	if len(rows) == 0 {
		t.Fatalf("no loop was watched: E2E_DEVICE=%s E2E_DEVICE_HOW=%s", os.Getenv("E2E_DEVICE"), how)
	}
	text := deviceTable(rows)
	fmt.Printf("\n%s\n", text)
	m.keepText(t, "device-table.txt", text)
	checkHeadroom(t, rows)
}

// watchLoop watches one loop in the wanted ways.
func (m machine) watchLoop(ctx context.Context, loop deviceLoop, how *regexp.Regexp) (rows []deviceRow, err error) {
	s, err := newDeviceStand(m, loop)
	defer func() { err = errors.Join(err, s.remove()) }()
	if err != nil {
		return nil, err
	}
	if m.keep != "" {
		s.keep = filepath.Join(m.keep, loop.name)
		if err := os.MkdirAll(s.keep, 0o755); err != nil {
			return nil, err
		}
	}
	free, err := s.measureFree(ctx)
	if err != nil {
		return nil, fmt.Errorf("with data for free: %w", err)
	}
	for _, way := range []struct {
		how   string
		watch func(context.Context) (deviceRow, error)
	}{{"attached", s.attached}, {"launched", s.launched}} {
		if !how.MatchString(way.how) || ctx.Err() != nil {
			continue
		}
		r, err := way.watch(ctx)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", way.how, err)
		}
		r.loop, r.how, r.free = loop, way.how, free
		if loop.class == nil {
			r.loop.class = trueClasses(r.worst())
		}
		rows = append(rows, r)
		if folder := os.Getenv("E2E_RECORDINGS"); folder != "" {
			if err := r.record(folder, filepath.Join(s.dir, way.how+".jsonl")); err != nil {
				return rows, err
			}
		}
	}
	return rows, nil
}

// measureFree returns what the loop's slowest rank does with data for free.
func (s deviceStand) measureFree(ctx context.Context) (free deviceTruth, err error) {
	free, _, err = s.measureAlone(ctx, s.loop.jobArgs(), "DEVICE_FREE=1")
	return free, errors.Join(err, s.write("free.json", free))
}

// measureAlone returns what the slowest rank of a loop does that nobody watches, and the cores that others used.
func (s deviceStand) measureAlone(ctx context.Context, args string, environment ...string) (slowest deviceTruth,
	others float64, err error) {
	j, stop, err := s.flowing(ctx, args, environment...)
	if err != nil {
		return slowest, 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	before := readCPU(j.pid)
	select {
	case <-time.After(freeSeconds * time.Second):
	case <-ctx.Done():
		return slowest, 0, ctx.Err()
	}
	others = before.others(readCPU(j.pid), nil)
	b, err := s.bins()
	if err != nil {
		return slowest, 0, err
	}
	ranks := b.last(freeSeconds)
	if len(ranks) == 0 {
		return slowest, 0, errors.New("the timeline has no ranks")
	}
	return slices.MinFunc(ranks, func(x, y deviceTruth) int { return cmp.Compare(x.Rate, y.Rate) }), others, nil
}

// write keeps a value as JSON, where E2E_KEEP is set.
func (s deviceStand) write(name string, what any) error {
	if s.keep == "" {
		return nil
	}
	text, err := json.MarshalIndent(what, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.keep, name), append(text, '\n'), 0o644)
}

// attached watches the running loop from outside.
func (s deviceStand) attached(ctx context.Context) (r deviceRow, err error) {
	j, stop, err := s.flowing(ctx, s.loop.jobArgs())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	before := readCPU(j.pid)
	cmd, err := s.pipetune(ctx, "attached", "--pid", strconv.Itoa(j.pid), "--duration", watchFor.String())
	if err != nil {
		return r, err
	}
	r.others = before.others(readCPU(j.pid), cmd)
	return r, s.read(&r, "attached", "truth.json")
}

// launched lets pipetune start the loop.
func (s deviceStand) launched(ctx context.Context) (r deviceRow, err error) {
	stopNeighbour, err := s.withNeighbour(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stopNeighbour(), s.again()) }()
	before := readCPU()
	cmd, err := s.pipetune(ctx, "launched", append([]string{"--"}, s.command(deviceSeconds, s.loop.jobArgs())...)...)
	if err != nil {
		return r, err
	}
	r.others = before.others(readCPU(), cmd)
	return r, s.read(&r, "launched", "launched-truth.json")
}

// pipetune runs diagnose and leaves its report and recording in the stand's folder.
func (s deviceStand) pipetune(ctx context.Context, how string, args ...string) (*exec.Cmd, error) {
	ctx, cancel := context.WithTimeout(ctx, watchFor+patience)
	defer cancel()
	out := filepath.Join(s.dir, how)
	flags := []string{"diagnose", "-q", "--warmup", watchDrops.String(), "-o", out + ".json", "-o", out + ".jsonl"}
	cmd := exec.CommandContext(ctx, s.binary, append(flags, args...)...)
	cmd.Dir, cmd.Env = s.dir, s.environment(append(s.shown(), "XDG_RUNTIME_DIR="+s.dir)...)
	output, err := inGroup(cmd).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pipetune diagnose: %w: %.2000s", err, bytes.TrimSpace(output))
	}
	return cmd, nil
}

// read takes the report and the truth of its window.
func (s deviceStand) read(r *deviceRow, how, truth string) error {
	path := filepath.Join(s.dir, how+".json")
	var err error
	if r.rep, err = readReport(path); err != nil {
		return err
	}
	if r.rep.Window == nil {
		return errors.New("the report has no window")
	}
	b, err := s.bins()
	if err != nil {
		return err
	}
	from, to := window(r.rep, 0, 0)
	if how == "launched" { // it was watched until its process ended, which takes longer than its last step
		to = min(to, b.lastStep())
	}
	r.truth = b.over(from, to)
	if len(r.truth) == 0 {
		return fmt.Errorf("the timeline has nothing from %.1f to %.1f", from, to)
	}
	if s.keep == "" {
		return nil
	}
	kept := map[string]string{"attached": "report.json", "launched": "launched-report.json"}[how]
	return errors.Join(copyFile(path, filepath.Join(s.keep, kept)),
		copyFile(filepath.Join(s.dir, how+".jsonl"), filepath.Join(s.keep, how+".jsonl")),
		s.write(truth, map[string]any{
			"loop": s.loop.name, "class": s.loop.class,
			"conf": s.loop.conf, "args": s.loop.jobArgs(), "neighbour": s.loop.neighbour, "visible": s.loop.visible,
			"from": from, "to": to, "others_cores": r.others, "ranks": r.truth, "bins": b,
		}))
}
