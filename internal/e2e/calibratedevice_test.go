//go:build e2e && calibrate

package e2e

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// devicePrefix begins the names of workloads on the stand-in GPU; their class follows, and how the trainer waits.
const devicePrefix = "gpu-"

// deviceWorkload is a loop of testdata/jobs/device/train.py. The classes say what limits once the loader does not.
type deviceWorkload struct {
	name  string
	ranks int
	epoch int    // steps; 0: it never ends
	conf  string // settings of device.conf
	args  string
}

// shortQueue lets a trainer that never waits for its device run ahead of it by four steps of 16 kernels, as steps of
// hundreds of kernels do with the driver's queue of a thousand.
const shortQueue = "queue=64"

var deviceWorkloads = []deviceWorkload{
	{name: "loader-spin", epoch: 40, args: "--loader-ms=70 --launch-ms=4 --device-ms=12 --sync=spin"},
	{
		name: "loader-async", conf: shortQueue,
		args: "--load=cpu --loader-ms=28 --launch-ms=3 --device-ms=12 --kernels=16 --sync-every=0",
	},
	{name: "device-spin", args: "--loader-ms=50 --launch-ms=3 --device-ms=30 --sync=spin"},
	{
		name: "device-async", epoch: 40, conf: shortQueue,
		args: "--load=cpu --loader-ms=40 --launch-ms=6 --device-ms=30 --kernels=16 --sync-every=0",
	},
	{name: "host-block", epoch: 40, args: "--loader-ms=55 --launch-ms=22 --device-ms=10 --sync=block"},
	{
		name: "host-async", conf: shortQueue,
		args: "--loader-ms=45 --launch-ms=24 --device-ms=14 --kernels=16 --sync-every=0",
	},
	{
		name: "copy-spin", epoch: 40, conf: "gpm=1 generation=3 link-gb=12",
		args: "--pin --copy=beside --copy-mb=180 --loader-ms=60 --launch-ms=4 --device-ms=15 --sync=spin",
	},
	{
		name: "copy-async", conf: "gpm=1 generation=3 link-gb=12",
		args: "--pin --copy=beside --copy-mb=240 --loader-ms=60 --launch-ms=5 --device-ms=22 --sync=block " +
			"--sync-every=10",
	},
	{
		name: "ranks-block", ranks: 2, epoch: 40, conf: "devices=2",
		args: "--loader-ms=60 --launch-ms=4 --device-ms=20 --collective-ms=2 --sync=block",
	},
	{
		name: "ranks-async", ranks: 2, conf: "devices=2 " + shortQueue,
		args: "--loader-ms=55 --launch-ms=6 --device-ms=24 --collective-ms=2 --kernels=16 --sync-every=0",
	},
}

func onDevice(workload string) bool { return strings.HasPrefix(workload, devicePrefix) }

func deviceWorkloadNames() (names []string) {
	for _, w := range deviceWorkloads {
		names = append(names, devicePrefix+w.name)
	}
	return names
}

// deviceOf is the workload of a name.
func deviceOf(workload string) deviceWorkload {
	return deviceWorkloads[slices.IndexFunc(deviceWorkloads, func(w deviceWorkload) bool {
		return devicePrefix+w.name == workload
	})]
}

// never reports whether the trainer goes on without waiting for its device after each step.
func (w deviceWorkload) never() bool { return strings.HasSuffix(w.name, "async") }

// deviceGrid draws five settings of a workload: none or one worker, then two to four, and one of these again. All
// workers are forked: how new programs start does not depend on the device, and takes long.
func deviceGrid(workload string, dice *rand.Rand) (part []grid) {
	for part == nil || slices.ContainsFunc(part, func(g grid) bool { return g == g.base() }) || twice(part) {
		workers := append(shuffled(dice, 0, 1)[:1], 2, 3, 4, 2+dice.IntN(3))
		prefetch := shuffled(dice, 1, 2, 4, 8, 2)
		kept := shuffled(dice, true, true, true, false, false)
		part = nil
		for i, n := range workers {
			g := grid{Workload: workload, Start: "fork"}
			if n > 0 {
				g.Workers, g.Prefetch, g.Persistent = n, prefetch[i], kept[i]
			}
			part = append(part, g)
		}
	}
	return part
}

// Seconds that a loop trains for: with nobody watching, launched, and watched from outside, with the time until it
// flows.
const (
	loopSeconds, launchedSeconds, attachedSeconds = "12", "15", "21"
	attachedFor                                   = 15 * time.Second
)

// deviceCalibration runs the configurations of a workload on the stand-in GPU.
type deviceCalibration struct {
	deviceStand
	workload deviceWorkload
}

func (m machine) startDeviceCalibration(t *testing.T, workload string) runner {
	t.Helper()
	w := deviceOf(workload)
	return &deviceCalibration{newDeviceStand(t, m, deviceLoop{name: w.name, conf: w.conf, ranks: w.ranks}), w}
}

// group is none: a job has ended when its run has.
func (d *deviceCalibration) group() int { return 0 }

// jobArgs are those of a configuration.
func (d *deviceCalibration) jobArgs(g grid) string {
	args := []string{"--vary", d.workload.args, "--workers=" + strconv.Itoa(g.Workers)}
	if g.Workers > 0 {
		args = append(args, "--prefetch="+strconv.Itoa(g.Prefetch))
	}
	if !g.Persistent {
		args = append(args, "--restart")
	}
	if d.workload.epoch > 0 {
		args = append(args, "--epoch-steps="+strconv.Itoa(d.workload.epoch))
	}
	if d.workload.ranks > 1 {
		args = append(args, "--ranks="+strconv.Itoa(d.workload.ranks))
	}
	return strings.Join(args, " ")
}

// begin starts a job that ends by itself.
func (d *deviceCalibration) begin(t *testing.T, g grid, seconds string) *job {
	t.Helper()
	return d.start(t, d.jobArgs(g)+" --seconds="+seconds)
}

func (d *deviceCalibration) run(t *testing.T, g grid, how way) (a answer, rec []byte) {
	t.Helper()
	switch how {
	case unwatched:
		return d.ending(t, d.begin(t, g, loopSeconds)), nil
	case byLaunch:
		d.pipetune(t, string(how), append([]string{"--"}, d.command(launchedSeconds, d.jobArgs(g))...)...)
		a = d.answer(t)
	case byPID:
		a = d.attach(t, g)
	}
	return a, must.Get(os.ReadFile(filepath.Join(d.dir, string(how)+".jsonl")))(t)
}

// ending waits until a job has ended by itself, so that what all its processes computed is known to be the job's.
func (d *deviceCalibration) ending(t *testing.T, j *job) answer {
	t.Helper()
	j.ends(t, answerWithin)
	return d.answer(t)
}

// answer reads the timeline, and begins a new one.
func (d *deviceCalibration) answer(t *testing.T) (a answer) {
	t.Helper()
	b := must.Get(d.bins())(t)
	d.again(t)
	if len(b.Ranks) != max(d.workload.ranks, 1) {
		t.Fatalf("the timeline has %d ranks", len(b.Ranks))
	}
	slowest := math.Inf(1)
	for _, r := range b.Ranks {
		steps, seconds := r.stretch(b.BinS, d.workload.epoch)
		if seconds <= 0 {
			t.Fatalf("rank %d made too few steps", r.Rank)
		}
		if steps/seconds < slowest {
			slowest = steps / seconds
			a.Steps, a.Seconds = steps, seconds
		}
	}
	words := strings.Fields(d.versions)
	if i := slices.Index(words, "Python"); i >= 0 && i+1 < len(words) {
		a.Python = words[i+1]
	}
	if i := slices.Index(words, "torch"); i >= 0 && i+1 < len(words) {
		a.Torch = strings.TrimSuffix(words[i+1], ",")
	}
	return a
}

// settling is how much of a loop without epochs is left out, in seconds since its first step.
const settling = 2.5

// stretch is how many steps the device did in how many seconds: of whole epochs after the first, or since it has
// settled.
func (l deviceRankLog) stretch(bin float64, epoch int) (steps, seconds float64) {
	at := []float64{} // at[k] is when step k+1 was done
	for i, n := range l.Steps {
		for k := 1.0; k <= n; k++ {
			at = append(at, (float64(i)+k/n)*bin)
		}
	}
	if len(at) == 0 {
		return 0, 0
	}
	first, last := epoch-1, len(at)-1
	if epoch > 0 {
		last = len(at)/epoch*epoch - 1
	} else {
		first = slices.IndexFunc(at, func(x float64) bool { return x >= at[0]+settling })
	}
	if first < 0 || last <= first {
		return 0, 0
	}
	return float64(last - first), at[last] - at[first]
}

// attach watches a running job from outside.
func (d *deviceCalibration) attach(t *testing.T, g grid) answer {
	t.Helper()
	j := d.begin(t, g, attachedSeconds)
	defer func() {
		if t.Failed() {
			t.Log(j.stop())
		}
	}()
	d.await(t, j, d.flows)
	d.pipetune(t, string(byPID), "--pid", strconv.Itoa(j.pid), "--duration", attachedFor.String())
	return d.ending(t, j)
}
