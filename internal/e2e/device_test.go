//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
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
	m.watchLoops(t, selected("E2E_DEVICE", deviceLoops))
}

// watchLoops watches loops and holds them to their bounds, one by one and together.
func (m machine) watchLoops(t *testing.T, loops []deviceLoop) {
	how, known := regexp.MustCompile(os.Getenv("E2E_DEVICE_HOW")), knownMisses(t)
	var tries account
	defer tries.close(t)
	var rows []deviceRow
	for _, loop := range loops {
		if m.ctx.Err() != nil {
			t.Fatal("interrupted; what was started is ended and cleared")
		}
		t.Run(loop.name, func(t *testing.T) {
			var made [][]deviceRow
			best := tries.measure(t, func(t *testing.T) (one try, figures string) {
				watched := m.watchLoop(t, loop, how)
				made = append(made, watched)
				for _, r := range watched {
					r.hold(&one, known)
				}
				return one, fmt.Sprintf("%s %s\n%s", loop.conf, loop.args, deviceTable(watched))
			})
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
func (m machine) watchLoop(t *testing.T, loop deviceLoop, how *regexp.Regexp) (rows []deviceRow) {
	t.Helper()
	s := newDeviceStand(t, m, loop)
	if m.keep != "" {
		s.keep = filepath.Join(m.keep, loop.name)
		must.Do(t, os.MkdirAll(s.keep, 0o755))
	}
	free := s.measureFree(t)
	for _, way := range []struct {
		how   string
		watch func(*testing.T) deviceRow
	}{{"attached", s.attached}, {"launched", s.launched}} {
		if !how.MatchString(way.how) {
			continue
		}
		r := way.watch(t)
		r.loop, r.how, r.free = loop, way.how, free
		if loop.class == nil {
			r.loop.class = trueClasses(r.worst())
		}
		rows = append(rows, r)
		if folder := os.Getenv("E2E_RECORDINGS"); folder != "" {
			r.record(t, folder, filepath.Join(s.dir, way.how+".jsonl"))
		}
	}
	return rows
}

// measureFree returns what the loop's slowest rank does with data for free.
func (s deviceStand) measureFree(t *testing.T) deviceTruth {
	t.Helper()
	free, _ := s.measureAlone(t, s.loop.jobArgs(), "DEVICE_FREE=1")
	s.write(t, "free.json", free)
	return free
}

// measureAlone returns what the slowest rank of a loop does that nobody watches, and the cores that others used.
func (s deviceStand) measureAlone(t *testing.T, args string, environment ...string) (slowest deviceTruth,
	others float64) {
	t.Helper()
	j, stop := s.flowing(t, args, environment...)
	defer stop()
	before := readCPU(j.pid)
	select {
	case <-time.After(freeSeconds * time.Second):
	case <-s.ctx.Done():
		t.Fatal(s.ctx.Err())
	}
	others = before.others(readCPU(j.pid), nil)
	ranks := must.Get(s.bins())(t).last(freeSeconds)
	if len(ranks) == 0 {
		t.Fatal("the timeline has no ranks")
	}
	return slices.MinFunc(ranks, func(x, y deviceTruth) int { return cmp.Compare(x.Rate, y.Rate) }), others
}

// write keeps a value as JSON, where E2E_KEEP is set.
func (s deviceStand) write(t *testing.T, name string, what any) {
	t.Helper()
	if s.keep != "" {
		text := must.Get(json.MarshalIndent(what, "", " "))(t)
		must.Do(t, os.WriteFile(filepath.Join(s.keep, name), append(text, '\n'), 0o644))
	}
}

// attached watches the running loop from outside.
func (s deviceStand) attached(t *testing.T) (r deviceRow) {
	t.Helper()
	j, stop := s.flowing(t, s.loop.jobArgs())
	defer stop()
	before := readCPU(j.pid)
	cmd := s.pipetune(t, "attached", "--pid", strconv.Itoa(j.pid), "--duration", watchFor.String())
	r.others = before.others(readCPU(j.pid), cmd)
	s.read(t, &r, "attached", "truth.json")
	return r
}

// launched lets pipetune start the loop.
func (s deviceStand) launched(t *testing.T) (r deviceRow) {
	t.Helper()
	defer s.again(t)
	defer s.withNeighbour(t)()
	before := readCPU()
	cmd := s.pipetune(t, "launched", append([]string{"--"}, s.command(deviceSeconds, s.loop.jobArgs())...)...)
	r.others = before.others(readCPU(), cmd)
	s.read(t, &r, "launched", "launched-truth.json")
	return r
}

// pipetune runs diagnose and leaves its report and recording in the stand's folder.
func (s deviceStand) pipetune(t *testing.T, how string, args ...string) *exec.Cmd {
	t.Helper()
	out := filepath.Join(s.dir, how)
	flags := []string{"diagnose", "-q", "--warmup", watchDrops.String(), "-o", out + ".json", "-o", out + ".jsonl"}
	ctx, cancel := context.WithTimeout(s.ctx, watchFor+patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary, append(flags, args...)...)
	cmd.Dir, cmd.Env = s.dir, s.environment(append(s.shown(), "XDG_RUNTIME_DIR="+s.dir)...)
	output(t, inGroup(cmd))
	return cmd
}

// read takes the report and the truth of its window.
func (s deviceStand) read(t *testing.T, r *deviceRow, how, truth string) {
	t.Helper()
	path := filepath.Join(s.dir, how+".json")
	if r.rep = judgedReport(t, path); r.rep.Window == nil {
		t.Fatal("the report has no window")
	}
	b := must.Get(s.bins())(t)
	from, to := window(r.rep, 0, 0)
	if how == "launched" { // it was watched until its process ended, which takes longer than its last step
		to = min(to, b.lastStep())
	}
	if r.truth = b.over(from, to); len(r.truth) == 0 {
		t.Fatalf("the timeline has nothing from %.1f to %.1f", from, to)
	}
	if s.keep == "" {
		return
	}
	kept := map[string]string{"attached": "report.json", "launched": "launched-report.json"}[how]
	copyFile(t, path, filepath.Join(s.keep, kept))
	copyFile(t, filepath.Join(s.dir, how+".jsonl"), filepath.Join(s.keep, how+".jsonl"))
	s.write(t, truth, map[string]any{
		"loop": s.loop.name, "class": s.loop.class,
		"conf": s.loop.conf, "args": s.loop.jobArgs(), "neighbour": s.loop.neighbour, "visible": s.loop.visible,
		"from": from, "to": to, "others_cores": r.others, "ranks": r.truth, "bins": b,
	})
}

// freeError is how far the measured rate with data for free may be from that of the same loop over batches in memory.
const freeError = 0.05

// TestHeadroom has loops on the stand-in GPU handed their last batches again, and holds the rate against that of the
// same loop with its data in memory. E2E_DEVICE='regexp' selects loops.
func TestHeadroom(t *testing.T) {
	m, loops := findMachine(t), selected("E2E_DEVICE", deviceLoops)
	if len(loops) == 0 {
		t.Fatalf("no loop is called so: E2E_DEVICE=%s", os.Getenv("E2E_DEVICE"))
	}
	for _, loop := range loops {
		if m.ctx.Err() == nil {
			t.Run(loop.name, func(t *testing.T) { m.holdHeadroom(t, loop) })
		}
	}
}

func (m machine) holdHeadroom(t *testing.T, loop deviceLoop) {
	s := newDeviceStand(t, m, loop)
	free := s.measureFree(t)
	defer s.withNeighbour(t)()
	how := []string{"--headroom", "--duration", "12s", "--"}
	s.pipetune(t, "headroom", append(how, s.command("120", s.loop.jobArgs())...)...)
	r := deviceRow{loop: loop, how: "launched"}
	s.read(t, &r, "headroom", "headroom-truth.json")
	rate, ok := r.rep.Metrics["free_batches_per_s"]
	if !ok {
		t.Fatalf("no rate was measured: %q", r.rep.Warnings)
	}
	// Between evaluations; the truth is of all the time.
	truth := free.Rate / (1 - free.Outside)
	step := r.rep.Verdict.Step
	off := rate.Center/truth - 1
	fmt.Printf("%-26s free %7.2f /s measured (%.2f to %.2f), %7.2f in memory, %+5.1f %%; headroom %s measured, %s "+
		"estimated\n", loop.name,
		rate.Center, rate.Lo, rate.Hi, truth, 100*off, between(step.HeadroomMeasured), between(step.Headroom))
	if off < -freeError || off > freeError {
		t.Errorf("%.2f batches/s measured, %.2f with data in memory", rate.Center, truth)
	}
}
