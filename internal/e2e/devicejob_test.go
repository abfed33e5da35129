//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// deviceStand is where a loop's stand-in GPU is: a folder with its libraries and the scripts, and the timeline they
// share.
type deviceStand struct {
	machine
	loop     deviceLoop
	dir      string
	timeline string
}

// newDeviceStand builds the libraries into a folder of this loop alone.
func newDeviceStand(m machine, loop deviceLoop) (deviceStand, error) {
	dir, err := os.MkdirTemp("/var/tmp", fmt.Sprintf("%s%d-", workPrefix, os.Getpid()))
	if err != nil {
		return deviceStand{}, fmt.Errorf("making a work folder: %w", err)
	}
	s := deviceStand{machine: m, loop: loop, dir: dir, timeline: filepath.Join("/dev/shm", filepath.Base(dir))}
	for _, name := range []string{"jobs/device/train.py", "jobs/device/work.py", "device/device.py", "device/cuda.py"} {
		if err := copyFile(filepath.Join("../../testdata", name), filepath.Join(dir, filepath.Base(name))); err != nil {
			return s, fmt.Errorf("copying the job: %w", err)
		}
	}
	args := append([]string{dir, "timeline=" + s.timeline}, strings.Fields(loop.conf)...)
	if output, err := exec.Command("../../testdata/device/build.sh", args...).CombinedOutput(); err != nil {
		return s, fmt.Errorf("building the stand-in GPU: %w: %s", err, output)
	}
	return s, nil
}

func (s deviceStand) remove() error {
	return errors.Join(os.RemoveAll(s.dir), os.RemoveAll(s.timeline))
}

// again begins a new timeline.
func (s deviceStand) again() error { return os.RemoveAll(s.timeline) }

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
func (s deviceStand) start(ctx context.Context, args string, environment ...string) (*job, error) {
	argv := s.command(jobSeconds, args)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = s.dir, s.environment(environment...)
	return startJob(ctx, cmd, s.dir)
}

// flowing starts a job with its neighbour and waits until it flows. stop ends both, and begins a new timeline.
func (s deviceStand) flowing(ctx context.Context, args string, environment ...string) (j *job, stop func() error,
	err error) {
	stopNeighbour, err := s.withNeighbour(ctx)
	if err != nil {
		return nil, nil, err
	}
	j, err = s.start(ctx, args, append(s.shown(), environment...)...)
	if err != nil {
		return nil, nil, errors.Join(err, stopNeighbour())
	}
	stop = func() error { return errors.Join(j.stop(), s.again(), stopNeighbour()) }
	if err := s.await(j, s.flows); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return j, stop, nil
}

// neighbourRank is what the neighbour of a loop calls itself on the timeline.
const neighbourRank = 9

// withNeighbour starts what else computes on the loop's GPU, and waits until it does.
func (s deviceStand) withNeighbour(ctx context.Context) (stop func() error, err error) {
	if s.loop.neighbour == "" {
		return func() error { return nil }, nil
	}
	j, err := s.start(ctx, "--same-gpu "+s.loop.neighbour, fmt.Sprintf("RANK=%d", neighbourRank))
	if err != nil {
		return nil, err
	}
	err = s.await(j, func(b deviceBins) bool { return len(b.Ranks) > 0 && b.Ranks[0].stepsSince(0) >= 5 })
	if err != nil {
		return nil, errors.Join(err, j.stop())
	}
	return j.stop, nil
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
func (s deviceStand) bins() (deviceBins, error) {
	var b deviceBins
	output, err := exec.Command(s.python, filepath.Join(s.dir, "device.py"), "bins", s.dir).Output()
	if err != nil {
		return b, fmt.Errorf("reading the timeline: %w", err)
	}
	return b, json.Unmarshal(output, &b)
}

// await looks at the timeline until done says so.
func (s deviceStand) await(j *job, done func(deviceBins) bool) error {
	return j.until("steps", 500*time.Millisecond, func() bool {
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
