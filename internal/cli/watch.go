package cli

import (
	"context"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/sampler"
)

// watch is one stretch of looking at a job.
type watch struct {
	job      *job.Job
	samplers []sampler.Sampler
	runner   *isolate.Runner
	recorder *recording.Recorder
	sink     recording.Sink // the recorder, as samplers see it
	duration time.Duration
	interval time.Duration
	progress *progress
	warn     func(string)
	bounds
	by os.Signal // the request that ended it; nil: none did
	// amend completes the recording with what became known while watching, before it is closed.
	amend func(context.Context, *recording.Recorder)
}

// bounds is what may end a watch beside its duration and the end of the job's trainers. The zero value: nothing.
type bounds struct {
	asked <-chan os.Signal // a request to end the watch
	over  <-chan struct{}  // once it is closed, enough gives a reason
	// enough is asked at each tick: the reason to end the watch now, "" to go on. at is the time since its start.
	enough func(at time.Duration, tree *job.Tree, rec *recording.Recorder) string
}

// first asks several whether a watch is to end, and takes the first reason; nil ones are not asked.
func first(list ...func(time.Duration, *job.Tree, *recording.Recorder) string) func(time.Duration, *job.Tree,
	*recording.Recorder) string {
	return func(at time.Duration, tree *job.Tree, rec *recording.Recorder) string {
		for _, enough := range list {
			if enough == nil {
				continue
			}
			if reason := enough(at, tree, rec); reason != "" {
				return reason
			}
		}
		return ""
	}
}

// run samples until the time is up, the job has ended, or it is asked to stop.
func (w *watch) run(ctx context.Context, start time.Time) (*recording.Recording, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	small := shrink()
	defer small.undo()
	before := usage(w.runner)
	due := make([]time.Duration, len(w.samplers))
	w.recorder.Tick(time.Since(start))
	live := w.start(ctx)
	defer func() {
		for _, s := range w.samplers {
			s.Close()
		}
	}()
	ticker := time.NewTicker(w.interval)
	defer ticker.Stop()
	reason := "" // to end
	last := time.Since(start)
	for at := last; ; {
		w.recorder.Tick(at)
		if pause := at - last; pause > max(time.Second, 5*w.interval) {
			w.recorder.Event(recording.EventGap, "", map[string]string{"lasted_s": strconv.FormatFloat(pause.Seconds(),
				'f', 3, 64)})
		}
		last = at
		w.job.Refresh(ctx, at, w.recorder)
		for i, s := range w.samplers {
			if live[i] && at >= due[i] {
				s.Sample(ctx, w.sink)
				due[i] = at + s.Every() - w.interval/2
			}
		}
		if err := w.recorder.Flush(); err != nil {
			w.warn("the recording ends here: " + err.Error())
		}
		small.keep(at)
		w.progress.tick(at)
		if w.job.Tree().Ended {
			reason = recording.EndJobEnded
		}
		if reason == "" && w.enough != nil {
			reason = w.enough(at, w.job.Tree(), w.recorder)
		}
		if reason == "" && at >= w.duration {
			reason = recording.EndDuration
		}
		if reason != "" {
			break
		}
		select {
		case <-ticker.C:
		case <-w.over:
		case w.by = <-w.asked:
			reason = recording.EndInterrupted
		}
		at = time.Since(start)
	}
	w.progress.done()
	at := time.Since(start)
	w.recorder.Tick(at)
	used := usage(w.runner)
	overhead := recording.Overhead{CPUSeconds: used.cpu - before.cpu, MaxRSS: used.peak}
	if at > 0 {
		overhead.CPURatio = overhead.CPUSeconds / at.Seconds()
	}
	w.amend(ctx, w.recorder)
	return w.recorder.Finish(recording.End{At: at, Reason: reason, Overhead: overhead})
}

// start starts the samplers; one that cannot run is recorded as unseen and not asked again.
func (w *watch) start(ctx context.Context) []bool {
	live := make([]bool, len(w.samplers))
	for i, s := range w.samplers {
		if err := s.Start(ctx, w.sink); err != nil {
			w.recorder.Unseen(s.Name()+"_*", "", err.Error(), "")
			continue
		}
		live[i] = true
	}
	return live
}

// spent is what pipetune and its children have used so far.
type spent struct {
	cpu  float64 // seconds
	peak int64   // bytes, peaks added
}

// monotonicNow is CLOCK_MONOTONIC, which other programs on this machine read too.
func monotonicNow() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
