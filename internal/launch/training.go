package launch

import (
	"context"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// How the beginning of the training is waited for.
const (
	beginEvery = 100 * time.Millisecond // the hook is asked: a lock and a copy
	// at the job's processes: Python has started by then, and a job that ends soon is seen once
	firstCheck = 300 * time.Millisecond
	// the job's processes are looked at: some milliseconds, in which torch's import is disturbed by microseconds
	checkEvery = time.Second
	// steadyFor is how long a process has to have a framework loaded before it is taken for a trainer without loader
	// workers: importing torch and making a model takes some seconds.
	steadyFor = 5 * time.Second
	// watchAfter is when a job is watched that neither the hook nor a look says to be training.
	watchAfter = 20 * time.Second
	// patience is for how long a job with the hook in it, but no batch yet, is watched at least before that watch
	// counts: it may be reading an index of its dataset. A first batch, or what begunOutside sees, lets the watch
	// restart.
	patience = 5 * time.Minute
	// gpuBusyFor is for how long the job's GPU has to work without a pause for a training that the hook knows no
	// loader of. Putting a model there, and choosing kernels for it, is done in bursts.
	gpuBusyFor  = 10 * time.Second
	gpuReadings = 5 // in that time, at least
)

// beginning is what is known of the start of the training.
type beginning struct {
	trainer procfs.ID // looks like one, but has no loader workers yet
	since   time.Time
}

// Await waits until the training begins, or until the job has gone on for long enough without. It returns false where
// the watch is over before.
func (j *Job) Await(ctx context.Context) bool {
	ticker := time.NewTicker(beginEvery)
	defer ticker.Stop()
	var b beginning
	next := j.started.Add(firstCheck)
	for {
		select {
		case <-j.process.gone:
			return false
		case <-j.over:
			return false
		case <-ticker.C:
		}
		if j.Trains() || j.shows || time.Since(j.started) >= watchAfter {
			return true
		}
		if state := j.Hook(); (!entered(state) || state.Made == 0) && !time.Now().Before(next) {
			next = time.Now().Add(checkEvery)
			if j.looksLikeTraining(ctx, &b) {
				return true
			}
		}
	}
}

// entered says whether the hook is in the job and will tell of the first batch. One that has switched itself off in a
// process may have been the trainer's: then the job is looked at from outside, as without a hook.
func entered(state hook.State) bool { return state.Loaded > 0 && len(state.Off) == 0 }

// looksLikeTraining looks at the job's processes as attaching to it would: a trainer with loader workers trains, which
// with the hook in it are ones that the hook knows nothing of; one that has had a framework loaded for some seconds is
// taken to, as it may be fed by something else than a DataLoader.
func (j *Job) looksLikeTraining(ctx context.Context, b *beginning) bool {
	found, err := j.Attach(ctx)
	if err != nil {
		return false // it ended, or cannot be looked at: then at least the watch will say so
	}
	defer found.Close()
	tree, state := found.Tree(), j.Hook()
	j.notice(tree)
	if haveWorkers(tree) && (!entered(state) || state.Made == 0) {
		j.shows = j.shows || entered(state)
		return true
	}
	if found.Header().Framework == "" {
		b.since = time.Time{}
		return false
	}
	if id := tree.Trainers()[0].ID; id != b.trainer || b.since.IsZero() {
		b.trainer, b.since = id, time.Now()
	}
	return time.Since(b.since) >= steadyFor
}

// haveWorkers says whether a trainer has loader workers.
func haveWorkers(tree *job.Tree) bool {
	return slices.ContainsFunc(tree.Trainers(), func(p job.Process) bool { return len(tree.Workers(p.ID)) > 0 })
}

// begunOutside says whether a job with the hook in it, which reports no batch, is seen from outside to train: it has
// loader workers though no DataLoader was made that the hook knows of (where one was, the hook says when its first
// batch has come), or its GPU works without a pause.
func begunOutside(state hook.State, tree *job.Tree, rec *recording.Recorder, at time.Duration) bool {
	if state.Made == 0 && haveWorkers(tree) {
		return true
	}
	if at < gpuBusyFor {
		return false
	}
	held := map[string]bool{}
	rec.Since(metric.GPUJobMemory, 0,
		func(gpu string, points []recording.Point) { held[gpu] = points[len(points)-1].Value > 0 })
	busy := false
	rec.Since(metric.GPUUtil, at-gpuBusyFor, func(gpu string, points []recording.Point) {
		idle := slices.ContainsFunc(points, func(p recording.Point) bool { return p.Value <= 0 })
		busy = busy || held[gpu] && !idle && len(points) >= gpuReadings
	})
	return busy
}
