//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/pipetune/pipetune/pkg/report"
)

// What is promised of a step with a device.
const (
	deviceSeconds   = "26" // a launched loop trains so long
	freeSeconds     = 8    // over which the loop with data for free is measured
	stallAttached   = 0.03 // of 1: how far the data stall may be off, seen from outside …
	stallLaunched   = 0.01 // … and with the hook
	promiseOver     = 0.10 // a promised rate may be so much above the true one
	headroomCovered = 0.90 // share of loops whose true headroom lies in the interval
)

// TestDevice watches loops on the stand-in GPU, attached and launched, and holds what is said of each against its timeline and against the same loop
// with data for free. E2E_DEVICE='regexp' selects loops, E2E_DEVICE_HOW='attached' or 'launched' one way; E2E_KEEP keeps each loop's recordings with
// their truth in a folder of its name.
func TestDevice(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	m := findMachine(t)
	if m.root != "" {
		t.Skip("the stand-in GPU is built for this machine, not for a chroot")
	}
	wanted, how := regexp.MustCompile(os.Getenv("E2E_DEVICE")), regexp.MustCompile(os.Getenv("E2E_DEVICE_HOW"))
	var rows []deviceRow
	for _, loop := range deviceLoops {
		if !wanted.MatchString(loop.name) || ctx.Err() != nil {
			continue
		}
		made, err := m.watchLoop(ctx, loop, how)
		if err != nil {
			t.Errorf("%s: %v", loop.name, err)
		}
		for _, r := range made {
			t.Logf("%s", r)
			rows = append(rows, r)
		}
	}
	if ctx.Err() != nil {
		t.Fatal("interrupted; what was started is ended and cleared")
	}
	if len(rows) == 0 {
		t.Fatalf("no loop was watched: E2E_DEVICE=%s E2E_DEVICE_HOW=%s", wanted, how)
	}
	text := deviceTable(rows)
	fmt.Printf("\n%s\n", text)
	if m.keep != "" {
		if err := os.WriteFile(filepath.Join(m.keep, "device-table.txt"), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	told, covered := 0, 0
	for _, r := range rows {
		for _, miss := range r.misses() {
			t.Errorf("%s %s: %s", r.loop.name, r.how, miss)
		}
		if r.said.headroom() != nil {
			told++
			if r.covered() {
				covered++
			}
		}
	}
	if float64(covered) < headroomCovered*float64(told) {
		t.Errorf("the true headroom is in the interval of %d of %d loops, want %.0f %%", covered, told, 100*headroomCovered)
	}
}

// watchLoop watches one loop in the wanted ways.
func (m machine) watchLoop(ctx context.Context, loop deviceLoop, how *regexp.Regexp) (rows []deviceRow, err error) {
	s, err := newDeviceStand(m, loop)
	if s.dir != "" {
		defer func() { err = errors.Join(err, s.remove()) }()
	}
	if err != nil {
		return nil, err
	}
	if m.keep != "" {
		s.keep = filepath.Join(m.keep, loop.name)
		if err := os.MkdirAll(s.keep, 0o755); err != nil {
			return nil, err
		}
	}
	free, err := s.free(ctx)
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
		rows = append(rows, r)
	}
	return rows, nil
}

// free measures the loop with data for free: the rate of its slowest rank.
func (s deviceStand) free(ctx context.Context) (rate float64, err error) {
	stopNeighbour, err := s.withNeighbour(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stopNeighbour()) }()
	j, err := s.start(ctx, []string{"DEVICE_FREE=1"}, s.loop.args...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, j.stop(), s.again()) }()
	if _, err := s.await(j, s.flows); err != nil {
		return 0, err
	}
	select {
	case <-time.After(freeSeconds * time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	b, err := s.bins()
	if err != nil {
		return 0, err
	}
	ranks := b.last(freeSeconds)
	if len(ranks) == 0 {
		return 0, errors.New("the timeline has no ranks")
	}
	rate = ranks[0].Rate
	for _, r := range ranks {
		rate = min(rate, r.Rate)
	}
	return rate, s.write("free.json", map[string]any{"steps_per_s": rate, "seconds": freeSeconds, "ranks": ranks})
}

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
	stopNeighbour, err := s.withNeighbour(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stopNeighbour()) }()
	j, err := s.start(ctx, nil, s.loop.args...)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, j.stop(), s.again()) }()
	if _, err := s.await(j, s.flows); err != nil {
		return r, err
	}
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
	cmd, err := s.pipetune(ctx, "launched", append([]string{"--"}, s.command(deviceSeconds, s.loop.args...)...)...)
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
	cmd.Dir, cmd.Env = s.dir, s.environment("XDG_RUNTIME_DIR="+s.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	output, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pipetune diagnose: %w: %.2000s", err, bytes.TrimSpace(output))
	}
	return cmd, nil
}

// read takes the report and the truth of its window.
func (s deviceStand) read(r *deviceRow, how, truth string) error {
	text, err := os.ReadFile(filepath.Join(s.dir, how+".json"))
	if err != nil {
		return err
	}
	if r.rep, err = report.Decode(bytes.NewReader(text)); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &r.said); err != nil {
		return err
	}
	if r.rep.Verdict == nil || r.rep.Window == nil {
		return errors.New("the report has no verdict or no window")
	}
	b, err := s.bins()
	if err != nil {
		return err
	}
	from, to := window(r.rep, 0, 0)
	r.truth = b.over(from, to)
	if len(r.truth) == 0 {
		return fmt.Errorf("the timeline has nothing from %.1f to %.1f", from, to)
	}
	if s.keep == "" {
		return nil
	}
	kept := map[string]string{"attached": "report.json", "launched": "launched-report.json"}[how]
	recording, err := os.ReadFile(filepath.Join(s.dir, how+".jsonl"))
	return errors.Join(err, os.WriteFile(filepath.Join(s.keep, kept), text, 0o644),
		os.WriteFile(filepath.Join(s.keep, how+".jsonl"), recording, 0o644),
		s.write(truth, map[string]any{"loop": s.loop.name, "conf": s.loop.conf, "args": s.loop.args, "neighbour": s.loop.neighbour, "class": s.loop.class,
			"from": from, "to": to, "others_cores": r.others, "ranks": r.truth, "bins": b}))
}

// deviceRow is what came of one watch of a loop.
type deviceRow struct {
	loop   deviceLoop
	how    string
	rep    *report.Report
	said   deviceSaid
	truth  []deviceTruth
	free   float64 // steps per second with data for free
	others float64 // cores that others used meanwhile
}

// deviceSaid are the figures of a report about the device.
type deviceSaid struct {
	Verdict struct {
		Step struct {
			Stall    *deviceInterval `json:"data_stall_ratio"`
			Busy     *deviceInterval `json:"device_busy_ratio"`
			Headroom *deviceInterval `json:"headroom"`
		} `json:"step"`
	} `json:"verdict"`
}

type deviceInterval struct {
	Center *float64 `json:"center"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
}

func (d deviceSaid) headroom() *deviceInterval { return d.Verdict.Step.Headroom }

func (i *deviceInterval) String() string {
	if i == nil {
		return "absent"
	}
	if i.Center == nil {
		return number(i.Lo) + "–" + number(i.Hi)
	}
	return fmt.Sprintf("%s (%s–%s)", number(i.Center), number(i.Lo), number(i.Hi))
}

// worst is the rank that the data stall of a job is about.
func (r deviceRow) worst() deviceTruth {
	return slices.MaxFunc(r.truth, func(a, b deviceTruth) int { return int(math.Copysign(1, a.Starved+a.Unfed-b.Starved-b.Unfed)) })
}

// headroom is how many times the rate data for free would bring.
func (r deviceRow) headroom() float64 { return r.free / r.worst().Rate }

// slack allows for a rate's own error, which a neighbour on the machine's CPUs makes.
const slack = 0.03

func (r deviceRow) covered() bool {
	h := r.said.headroom()
	return h != nil && h.Lo != nil && h.Hi != nil && *h.Lo <= r.headroom()*(1+slack) && *h.Hi >= r.headroom()*(1-slack)
}

// promised is the most that the report says the rate can become, as a multiple of what it is. Findings about the host or the GPU promise something
// else than data.
func (r deviceRow) promised() (most float64, by string) {
	take := func(e *report.Effect, name string) {
		if e == nil || e.Before <= 0 || e.Metric != "batches_per_s" && e.Metric != "samples_per_s" {
			return
		}
		if ratio := max(e.After, e.Hi) / e.Before; ratio > most {
			most, by = ratio, name
		}
	}
	for _, f := range r.rep.Findings {
		if strings.HasPrefix(f.Rule, "host/") || strings.HasPrefix(f.Rule, "gpu/") {
			continue
		}
		for _, c := range f.Recommendations {
			take(c.Effect, f.Rule)
		}
	}
	for _, p := range r.rep.Plans {
		take(p.Effect, p.Name)
	}
	return most, by
}

func (r deviceRow) misses() (misses []string) {
	if !slices.Contains(r.loop.class, r.rep.Verdict.Class) {
		misses = append(misses, fmt.Sprintf("the verdict is %s, want one of %v", r.rep.Verdict.Class, r.loop.class))
	}
	if most, by := r.promised(); most > (1+promiseOver)*max(r.headroom(), 1) {
		misses = append(misses, fmt.Sprintf("%s promises %.2f times the rate, data for free brings %.2f", by, most, r.headroom()))
	}
	stall, bound := r.said.Verdict.Step.Stall, stallAttached
	if r.how == "launched" {
		bound = stallLaunched
	}
	switch {
	case (stall == nil || stall.Center == nil) && r.loop.open:
	case stall == nil || stall.Center == nil:
		misses = append(misses, "the data stall is absent")
	case *stall.Center < r.worst().Starved-bound || *stall.Center > r.worst().Starved+r.worst().Unfed+bound:
		misses = append(misses, fmt.Sprintf("the data stall is said to be %.3f, and is %.3f", *stall.Center, r.worst().Starved))
	}
	return misses
}

func (r deviceRow) String() string { return deviceTable([]deviceRow{r}) }

// deviceTable is a line for each watch: truth against what was said.
func deviceTable(rows []deviceRow) string {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LOOP\tHOW\tWANT\tVERDICT\tBUSY\tSTALL\tWAIT\tRATE\tFREE\tHEADROOM\tSAID STALL\tSAID HEADROOM\tPROMISED\tBY\tSAID WAIT\tOTHERS\tMISSED")
	for _, r := range rows {
		w := r.worst()
		most, by := r.promised()
		want := make([]string, len(r.loop.class))
		for i, c := range r.loop.class {
			want[i] = string(c)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s %s\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t%.2f\t%s\t%s\t%.2f\t%s\t%s\t%.2f\t%s\n", r.loop.name, r.how, strings.Join(want, "|"),
			r.rep.Verdict.Class, r.rep.Verdict.Confidence, w.Busy+w.Comm, w.Starved, w.Waited, w.Rate, r.free, r.headroom(), r.said.Verdict.Step.Stall, r.said.headroom(),
			most, by, ratio(r.rep.Verdict.Step.InputWaitRatio), r.others, strings.Join(r.misses(), "; "))
	}
	table.Flush()
	return out.String()
}
