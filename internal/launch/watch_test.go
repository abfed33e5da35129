package launch

import (
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestStepsGoOnUntilTheyCanBeJudged: fewer than 5 s after the warm-up make no verdict, however many batches they held.
func TestStepsGoOnUntilTheyCanBeJudged(t *testing.T) {
	for _, c := range []struct {
		steps int
		taken int64
		at    time.Duration
		want  bool
	}{
		{0, 1000, time.Hour, false},
		{20, 20, 9 * time.Second, false},
		{20, 20, 10 * time.Second, true},
		{20, 19, time.Minute, false},
	} {
		l := Limits{Steps: c.steps, Warmup: 5 * time.Second, Least: 5 * time.Second}
		if got := l.enough(c.taken, c.at); got != c.want {
			t.Errorf("--steps %d, %d taken, after %s: %v", c.steps, c.taken, c.at, got)
		}
	}
}

// TestBegunOutside: with the hook in the job, what begins the watch of a training that it tells no batch of.
func TestBegunOutside(t *testing.T) {
	trainer, worker := procfs.ID{PID: 10, Start: 1}, procfs.ID{PID: 11, Start: 2}
	alone := &job.Tree{Processes: []job.Process{{ID: trainer, Role: job.Trainer}}}
	loading := &job.Tree{Processes: []job.Process{{ID: trainer, Role: job.Trainer}, {ID: worker, Role: job.Worker,
		Trainer: trainer}}}
	busy := func(held float64, use ...float64) func(*recording.Recorder) {
		return func(r *recording.Recorder) {
			for i, share := range use {
				r.Tick(time.Duration(i) * time.Second)
				r.Add(metric.GPUJobMemory, "gpu/0", held)
				r.Add(metric.GPUUtil, "gpu/0", share)
				r.Add(metric.GPUUtil, "gpu/1", 1) // somebody else's
			}
		}
	}
	for _, c := range []struct {
		name   string
		made   int
		tree   *job.Tree
		record func(*recording.Recorder)
		want   bool
	}{
		{name: "nothing is seen", tree: alone},
		{name: "loader workers of a loader that the hook does not know", tree: loading, want: true},
		{name: "loader workers of a DataLoader, whose first batch is yet to come", made: 1, tree: loading},
		{name: "the GPU works", tree: alone, record: busy(1e9, .1, .3, .2, .1, .3, .2, .1, .3, .2, .1, .4, .5),
			want: true},
		{name: "the GPU works, though a DataLoader was made", made: 1, tree: alone, record: busy(1e9, .1, .3, .2, .1,
			.3, .2, .1, .3, .2, .1, .4, .5), want: true},
		{name: "the GPU works in bursts", tree: alone, record: busy(1e9, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0)},
		{name: "the GPU was hardly read", tree: alone, record: busy(1e9, 1)},
		{name: "the GPU works for somebody else", tree: alone, record: busy(0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)},
	} {
		r := must.Get(recording.NewRecorder(recording.Header{}, nil))(t)
		if c.record != nil {
			c.record(r)
		}
		if got := begunOutside(hook.State{Loaded: 1, Made: c.made}, c.tree, r, 11*time.Second); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
