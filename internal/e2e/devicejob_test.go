//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// deviceStand is where a loop's stand-in GPU is: a folder of this loop alone with its libraries and the scripts, and
// the timeline they share. Both are removed with the test.
type deviceStand struct {
	machine
	loop     deviceLoop
	dir      string
	timeline string
}

func newDeviceStand(t *testing.T, m machine, loop deviceLoop) deviceStand {
	t.Helper()
	dir := workFolder(t, "")
	s := deviceStand{machine: m, loop: loop, dir: dir, timeline: filepath.Join("/dev/shm", filepath.Base(dir))}
	for _, name := range []string{"jobs/device/train.py", "jobs/device/work.py", "device/device.py", "device/cuda.py"} {
		copyFile(t, filepath.Join("../../testdata", name), filepath.Join(dir, filepath.Base(name)))
	}
	buildGPU(t, dir, s.timeline, strings.Fields(loop.conf)...)
	return s
}

// again begins a new timeline.
func (s deviceStand) again(t *testing.T) { must.Do(t, os.RemoveAll(s.timeline)) }

// environment lets a process find the libraries: the job its libcuda, pipetune its libnvidia-ml.
func (s deviceStand) environment(more ...string) []string {
	own := []string{"LD_LIBRARY_PATH=" + s.dir, "PYTHONDONTWRITEBYTECODE=1", "OMP_NUM_THREADS=1"}
	return slices.Concat(os.Environ(), own, more)
}

func (s deviceStand) command(seconds, args string) []string {
	script, data := filepath.Join(s.dir, "train.py"), filepath.Join(s.dir, "data")
	argv := []string{s.python, script, "--data", data, "--seconds", seconds}
	return append(argv, strings.Fields(args)...)
}

// jobArgs are what the loop's own job is reported, beside what is the same for all.
func (l deviceLoop) jobArgs() string {
	if l.ranks == 0 {
		return l.args
	}
	return fmt.Sprintf("--ranks=%d %s", l.ranks, l.args)
}

// shown is what the loop's environment says of the GPUs that it may use.
func (s deviceStand) shown() []string {
	if s.loop.visible == "" {
		return nil
	}
	return []string{"CUDA_VISIBLE_DEVICES=" + s.loop.visible}
}

// start starts a job. The caller stops it.
func (s deviceStand) start(t *testing.T, args string, environment ...string) *job {
	t.Helper()
	argv := s.command(jobSeconds, args)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = s.dir, s.environment(environment...)
	return s.startJob(t, cmd, s.dir)
}

// flowing starts a job with its neighbour and waits until it flows. stop ends both, and begins a new timeline.
func (s deviceStand) flowing(t *testing.T, args string, environment ...string) (j *job, stop func()) {
	t.Helper()
	stopNeighbour := s.withNeighbour(t)
	j = s.start(t, args, append(s.shown(), environment...)...)
	stop = sync.OnceFunc(func() {
		must.Do(t, j.stop())
		s.again(t)
		stopNeighbour()
	})
	t.Cleanup(stop)
	s.await(t, j, s.flows)
	return j, stop
}

// neighbourRank is what the neighbour of a loop calls itself on the timeline.
const neighbourRank = 9

// withNeighbour starts what else computes on the loop's GPU, and waits until it does.
func (s deviceStand) withNeighbour(t *testing.T) (stop func()) {
	t.Helper()
	if s.loop.neighbour == "" {
		return func() {}
	}
	j := s.start(t, "--same-gpu "+s.loop.neighbour, fmt.Sprintf("RANK=%d", neighbourRank))
	stop = sync.OnceFunc(func() { must.Do(t, j.stop()) })
	t.Cleanup(stop)
	s.await(t, j, func(b deviceBins) bool { return len(b.Ranks) > 0 && b.Ranks[0].stepsSince(0) >= 5 })
	return stop
}

// deviceBins is what device.py reports a timeline, in bins of a tenth of a second.
type deviceBins struct {
	BinS  float64         `json:"bin_s"`
	Began float64         `json:"began"` // CLOCK_MONOTONIC
	Wall  float64         `json:"wall"`  // the same moment since 1970
	Ranks []deviceRankLog `json:"ranks"`
}

// deviceRankLog holds what one rank did in each bin.
type deviceRankLog struct {
	deviceRank
	deviceParts[[]float64]           // seconds
	Steps                  []float64 `json:"steps"` // how many
}

type deviceRank struct {
	Rank   int `json:"rank"`
	PID    int `json:"pid"`
	Device int `json:"device"`
}

// deviceParts are what a rank and its device do at a time, in any unit.
type deviceParts[T any] struct {
	Busy     T `json:"busy"`      // its own kernels, collectives apart
	Comm     T `json:"comm"`      // collectives that transfer
	Spin     T `json:"spin"`      // collectives that wait for other ranks
	Others   T `json:"others"`    // another process's kernels
	IdleCopy T `json:"idle_copy"` // no kernel, a copy of its own
	Starved  T `json:"starved"`   // the data stall: nothing on the device, and the rank waits for a batch
	Idle     T `json:"idle"`      // nothing on the device for other reasons
	Waited   T `json:"waited"`    // the rank waits for a batch, whatever the device does
	Copied   T `json:"copied"`    // its copies, whatever else goes on
	Unfed    T `json:"unfed"`     // of others: the rank waits for a batch meanwhile
	Outside  T `json:"outside"`   // evaluation
}

func (l deviceRankLog) stepsSince(bin int) float64 { return sumOf(l.Steps, bin, len(l.Steps)) }

func sumOf(values []float64, from, to int) (sum float64) {
	for _, v := range values[max(from, 0):min(to, len(values))] {
		sum += v
	}
	return sum
}

// bins reads the timeline.
func (s deviceStand) bins() (b deviceBins, err error) {
	text, err := exec.Command(s.python, filepath.Join(s.dir, "device.py"), "bins", s.dir).Output()
	if err != nil {
		return b, fmt.Errorf("reading the timeline: %w", err)
	}
	return b, json.Unmarshal(text, &b)
}

// await looks at the timeline until done says so.
func (s deviceStand) await(t *testing.T, j *job, done func(deviceBins) bool) {
	t.Helper()
	j.until(t, "steps", 500*time.Millisecond, func() bool {
		b, err := s.bins()
		return err == nil && done(b)
	})
}

// flows says whether all ranks have trained for some seconds.
func (s deviceStand) flows(b deviceBins) bool {
	const seconds, steps = 3, 5
	ranks := 0
	for _, r := range b.Ranks {
		first := 0
		for first < len(r.Steps) && r.Steps[first] == 0 {
			first++
		}
		if r.Rank != neighbourRank && float64(len(r.Steps)-first)*b.BinS >= seconds && r.stepsSince(first) >= steps {
			ranks++
		}
	}
	return ranks == max(s.loop.ranks, 1)
}

// deviceTruth is what one rank did over a stretch of time, as shares of it.
type deviceTruth struct {
	deviceRank
	Rate float64 `json:"steps_per_s"`
	deviceParts[float64]
}

// over sums the bins up from one moment of CLOCK_MONOTONIC to another.
func (b deviceBins) over(from, to float64) (ranks []deviceTruth) {
	first, last := int((from-b.Began)/b.BinS+0.5), int((to-b.Began)/b.BinS+0.5)
	for _, r := range b.Ranks {
		if r.Rank == neighbourRank {
			continue
		}
		end := min(last, len(r.Steps))
		took := float64(end-first) * b.BinS
		if took <= 0 {
			continue
		}
		share := func(values []float64) float64 { return sumOf(values, first, end) / took }
		ranks = append(ranks, deviceTruth{r.deviceRank, share(r.Steps), deviceParts[float64]{
			Busy: share(r.Busy), Comm: share(r.Comm), Spin: share(r.Spin), Others: share(r.Others),
			IdleCopy: share(r.IdleCopy), Starved: share(r.Starved), Idle: share(r.Idle),
			Waited: share(r.Waited), Copied: share(r.Copied), Unfed: share(r.Unfed), Outside: share(r.Outside),
		}})
	}
	return ranks
}

// lastStep is the moment of CLOCK_MONOTONIC by which the last step of any rank had ended.
func (b deviceBins) lastStep() float64 {
	last := 0
	for _, r := range b.Ranks {
		for i, n := range r.Steps {
			if n > 0 && r.Rank != neighbourRank {
				last = max(last, i+1)
			}
		}
	}
	return b.Began + float64(last)*b.BinS
}

// last sums the last seconds up.
func (b deviceBins) last(seconds float64) []deviceTruth {
	longest := 0
	for _, r := range b.Ranks {
		longest = max(longest, len(r.Steps))
	}
	end := b.Began + float64(longest)*b.BinS
	return b.over(end-seconds, end)
}
