package launch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// Again is the reason of a watch that was begun before the training was seen to, and is restarted because it has
// begun now. No recording is kept of it.
const Again = "again"

// Limits are how long a launched job is watched.
type Limits struct {
	Duration time.Duration // at the most
	Warmup   time.Duration
	Steps    int           // batches after the warm-up that are enough; 0: Duration decides
	Least    time.Duration // after the warm-up, even where the batches were taken sooner
	Headroom bool          // then hand out the last batches again, and time the steps: needs Config.Acts
}

// enough reports whether the batches of Steps were taken, and whether that took long enough to judge by. taken counts
// from the end of the warm-up, at from the start of the watch.
func (l Limits) enough(taken int64, at time.Duration) bool {
	return l.Steps > 0 && taken >= int64(l.Steps) && at >= l.Warmup+l.Least
}

// Watch is one watch of a launched job: it decides when the watch is over, and is the hook's receiver as one of its
// samplers. It also records why the hook reported nothing. The receiver outlives the watch.
type Watch struct {
	Limits // Duration is longer than asked for where the hook may yet report a first batch

	of        *Job
	asked     time.Duration    // Duration as it was asked for
	taking    bool             // a trainer takes batches: the receiver's totals belong into this recording
	waiting   bool             // nothing was seen to begin before the watch did, though the hook may report it yet
	from      int64            // batches taken at the end of the warm-up; -1 before
	trainer   func() procfs.ID // that the watch is of
	paths     *isolate.Paths
	why       string    // why the hook reports nothing, as far as known
	explained time.Time // when why was looked for
	again     bool      // it is restarted
}

// Watch begins a watch of the training that trainer names. paths are children that may look into the job's root folder.
func (j *Job) Watch(l Limits, trainer func() procfs.ID, paths *isolate.Paths) *Watch {
	w := &Watch{Limits: l, of: j, asked: l.Duration, taking: j.Trains(), from: -1, trainer: trainer, paths: paths,
		why: j.noHook}
	w.waiting = !w.taking && !j.shows && j.receiver != nil
	if w.waiting { // importing torch takes long where it is read over a network
		w.Duration = max(w.Duration, patience)
	}
	return w
}

// Over returns why the watch is over at the time at since its start, "" where it goes on.
func (w *Watch) Over(at time.Duration, tree *job.Tree, rec *recording.Recorder) string {
	steps, state := w.of.Steps(), w.of.Hook()
	if w.from < 0 && at >= w.Warmup {
		w.from = steps
	}
	switch {
	case w.of.Interrupted():
		return recording.EndInterrupted
	case w.of.Ended():
		return recording.EndJobEnded
	case !w.taking && steps > 0:
		w.again = true
		return Again
	case w.waiting && at >= w.asked && !entered(state) && !w.Headroom: // which has to wait for a first batch
		return recording.EndDuration
	case w.waiting && entered(state) && begunOutside(state, tree, rec, at):
		w.of.shows, w.again = true, true
		return Again
	case w.from >= 0 && w.enough(steps-w.from, at):
		return recording.EndSteps
	}
	return ""
}

// Waited says of a watch that ended so that it went on for patience because nothing was seen to begin; "" where it
// did not.
func (w *Watch) Waited(end *recording.End) string {
	if !w.waiting || end.Reason != recording.EndDuration || end.At <= w.asked || end.At < w.Duration {
		return ""
	}
	return fmt.Sprintf("--duration %s counts from where training is seen to begin, by a batch from a DataLoader of "+
		"torch, by loader workers or by %s of work on the job's GPU; none was, so the job was watched for %s", w.asked,
		gpuBusyFor, patience)
}

// Close implements sampler.Sampler, and keeps the reason for a silent hook. The receiver goes on: the job may begin
// to train later.
func (w *Watch) Close() {
	if !w.taking {
		w.of.noHook = w.why
	}
}

// explainEvery is the pace at which the reason for a silent hook is looked for: the job may replace its program by
// another.
const explainEvery = 5 * time.Second

// Name implements sampler.Sampler.
func (w *Watch) Name() string { return "hook" }

// Every implements sampler.Sampler.
func (w *Watch) Every() time.Duration { return 100 * time.Millisecond }

// Start implements sampler.Sampler.
func (w *Watch) Start(context.Context, recording.Sink) error {
	if w.taking {
		w.of.receiver.Begin()
	}
	return nil
}

// Sample implements sampler.Sampler.
func (w *Watch) Sample(_ context.Context, sink recording.Sink) {
	if w.taking {
		w.of.receiver.Sample(sink)
		return
	}
	if w.of.receiver != nil && time.Since(w.explained) >= explainEvery {
		w.explained = time.Now()
		if why := w.of.explain(w.trainer(), w.of.Hook(), w.paths).text; why != "" {
			w.why = why
		}
	}
}

// Align tells the receiver when the recording began, by CLOCK_MONOTONIC.
func (w *Watch) Align(start time.Duration) {
	if w.taking {
		w.of.receiver.Align(start)
	}
}

// Finish records why there is nothing of the hook.
func (w *Watch) Finish(r *recording.Recorder) {
	state := w.of.Hook()
	if state.Refused > 0 {
		r.Event(recording.EventHook, "", recording.Attrs(recording.Hook{State: "refused", Messages: state.Refused}))
	}
	if end, failed := w.of.Failure(); failed {
		r.Event(recording.EventJobEnded, "", recording.Attrs(end))
	}
	if w.Headroom && !w.again {
		w.of.headroom(r, len(state.Trainers))
	}
	if w.taking {
		return
	}
	trainer := w.trainer()
	said := recording.Hook{State: "absent", Reason: w.why}
	switch {
	case len(state.Off) > 0: // in the trainer where it has done so there, else in the first process that it did
		i := slices.IndexFunc(state.Off, func(o hook.Off) bool { return o.PID == trainer.PID })
		said = recording.Hook{State: "off", Reason: state.Off[max(0, i)].Reason}
	case state.Loaded > 0:
		said = recording.Hook{State: "silent", Reason: loaded(state)}
		said.NoLoader = said.Reason == silentLoader
	}
	r.Event(recording.EventHook, job.Entity(trainer), recording.Attrs(said))
}
