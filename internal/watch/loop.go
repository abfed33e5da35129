package watch

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/footprint"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/sampler"
)

// watch is one stretch of looking at a job.
type watch struct {
	*Session
	Options
	start    time.Time
	samplers []sampler.Sampler
	recorder *recording.Recorder
	sink     recording.Sink // the recorder, as samplers see it
	tracker  live.Tracker
	judged   *provisional            // nil: nobody wants to know before the end
	amend    func(*recording.Header) // completes the header by what is known now
}

// run samples until the time is up, the job has ended, or it is asked to stop.
func (w *watch) run(ctx context.Context) (*recording.Recording, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	small := footprint.Shrink()
	defer small.Undo()
	before := footprint.Used(w.runner)
	due := make([]time.Duration, len(w.samplers))
	w.recorder.Tick(time.Since(w.start))
	working := w.begin(ctx)
	defer func() {
		for _, s := range w.samplers {
			s.Close()
		}
	}()
	ticker := time.NewTicker(w.Interval)
	defer ticker.Stop()
	reason := "" // to end
	last := time.Since(w.start)
	for at := last; ; {
		w.recorder.Tick(at)
		if pause := at - last; pause > max(time.Second, 5*w.Interval) {
			w.recorder.Event(recording.EventGap, "", map[string]string{"lasted_s": strconv.FormatFloat(pause.Seconds(),
				'f', 3, 64)})
		}
		last = at
		w.Job.Refresh(ctx, at, w.recorder)
		for i, s := range w.samplers {
			if working[i] && at >= due[i] {
				s.Sample(ctx, w.sink)
				due[i] = at + s.Every() - w.Interval/2
			}
		}
		if err := w.recorder.Flush(); err != nil {
			w.Warn("the recording ends here: " + err.Error())
		}
		small.Keep(at)
		if w.Tick != nil {
			w.Tick(at)
		}
		if w.Frame != nil && w.tracker.Due(at) {
			w.Frame(w.tracker.Update(w.recorder, members(w.Job.Tree()), at))
		}
		if reason == "" || w.Job.Tree().Ended {
			reason = w.over(at)
		}
		if reason != "" {
			break
		}
		select {
		case <-ticker.C:
		case <-w.Over:
		case w.By = <-w.Asked:
			reason = recording.EndInterrupted
		}
		at = time.Since(w.start)
	}
	at := time.Since(w.start)
	w.recorder.Tick(at)
	used := footprint.Used(w.runner)
	overhead := recording.Overhead{CPUSeconds: used.CPU - before.CPU, MaxRSS: used.Peak}
	if at > 0 {
		overhead.CPURatio = overhead.CPUSeconds / at.Seconds()
	}
	w.amend(w.recorder.Header())
	if w.Launched != nil {
		if w.FitWarmup { // nobody could know before how long the watch would be
			w.recorder.Header().Warmup = min(w.Warmup, DefaultWarmup(time.Since(w.start)))
		}
		w.Launched.Finish(w.recorder)
	}
	return w.recorder.Finish(recording.End{At: at, Reason: reason, Overhead: overhead})
}

// begin starts the samplers; one that cannot run is recorded as unseen and not asked again.
func (w *watch) begin(ctx context.Context) []bool {
	working := make([]bool, len(w.samplers))
	for i, s := range w.samplers {
		if err := s.Start(ctx, w.sink); err != nil {
			w.recorder.Unseen(s.Name()+"_*", "", err.Error(), "")
			continue
		}
		working[i] = true
	}
	return working
}

// over is the reason to end the watch now, "" to go on.
func (w *watch) over(at time.Duration) (reason string) {
	tree := w.Job.Tree()
	if tree.Ended {
		return recording.EndJobEnded
	}
	if w.Launched != nil {
		reason = w.Launched.Over(at, tree, w.recorder)
	}
	if reason == "" && w.judged != nil {
		reason = w.judged.enough(at, w.recorder)
	}
	if reason == "" && at >= w.Duration {
		reason = recording.EndDuration
	}
	return reason
}

// members are the processes of a job as package live has them.
func members(tree *job.Tree) (list []live.Member) {
	for _, p := range tree.Processes {
		m := live.Member{ID: strings.TrimPrefix(job.Entity(p.ID), "process/"), PID: p.PID,
			Trains: p.Role == job.Trainer}
		if p.Role == job.Trainer || p.Role == job.Worker {
			m.Rank = strconv.Itoa(p.Rank)
		}
		if p.Role == job.Worker {
			m.Trainer = strings.TrimPrefix(job.Entity(p.Trainer), "process/")
		}
		list = append(list, m)
	}
	return list
}
