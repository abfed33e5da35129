package cli

import (
	"context"
	"errors"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
)

// How the beginning of the training is waited for.
const (
	beginEvery = 100 * time.Millisecond // the hook is asked: a lock and a copy
	firstLook  = 300 * time.Millisecond // at the job's processes: Python has started by then, and a job that ends soon is seen once
	lookEvery  = time.Second            // the job's processes are looked at: some milliseconds, in which torch's import is disturbed by microseconds
	// steadyFor is how long a process has to have a framework loaded before it is taken for a trainer without loader workers: importing torch and
	// making a model takes some seconds.
	steadyFor = 5 * time.Second
	// watchAfter is when a job is watched that neither the hook nor a look says to be training.
	watchAfter = 20 * time.Second
	// patience is for how long a job with the hook in it, but no batch yet, is watched at least before that watch counts: it may be reading an
	// index of its dataset, and a first batch lets the watch begin anew.
	patience = 5 * time.Minute
)

// beginning is what is known of the start of the training.
type beginning struct {
	trainer procfs.ID // looks like one, but has no loader workers yet
	since   time.Time
}

// await waits until the training begins, or until the job has gone on for long enough without. It returns false where the watch is over before.
func (l *launch) await(ctx context.Context) bool {
	ticker := time.NewTicker(beginEvery)
	defer ticker.Stop()
	var b beginning
	look := l.started.Add(firstLook)
	for {
		select {
		case <-l.child.gone:
			return false
		case <-l.over:
			return false
		case <-ticker.C:
		}
		if l.trains() || time.Since(l.started) >= watchAfter {
			return true
		}
		if !entered(l.state()) && !time.Now().Before(look) {
			look = time.Now().Add(lookEvery)
			if l.looksLikeTraining(ctx, &b) {
				return true
			}
		}
	}
}

// trains says whether a trainer has taken its first batch, as the hook tells.
func (l *launch) trains() bool { return l.steps() > 0 }

// entered says whether the hook is in the job and will tell of the first batch. One that has switched itself off in a process may have been the
// trainer's: then the job is looked at from outside, as without a hook.
func entered(told hook.State) bool { return told.Loaded > 0 && len(told.Off) == 0 }

// steps is how many batches the trainer that took the most has taken.
func (l *launch) steps() int64 {
	var most int64
	if l.receiver != nil {
		for _, t := range l.receiver.State().Trainers {
			most = max(most, t.Steps)
		}
	}
	return most
}

// trainers names the processes that have taken batches, as the hook tells.
func (l *launch) trainers() (entities []string) {
	if l.receiver != nil {
		for _, t := range l.receiver.State().Trainers {
			if t.Steps > 0 {
				entities = append(entities, t.Entity)
			}
		}
	}
	return entities
}

// looksLikeTraining looks at the job's processes as attaching to it would: a trainer with loader workers trains; one that has had a framework
// loaded for some seconds is taken to.
func (l *launch) looksLikeTraining(ctx context.Context, b *beginning) bool {
	j, err := l.attach(ctx)
	if err != nil {
		return false // it ended, or cannot be looked at: then at least the watch will say so
	}
	defer j.Close()
	tree := j.Tree()
	l.notice(tree)
	for _, p := range tree.Trainers() {
		if len(tree.Workers(p.ID)) > 0 {
			return true
		}
	}
	if j.Header().Framework == "" {
		b.since = time.Time{}
		return false
	}
	if id := tree.Trainers()[0].ID; id != b.trainer || b.since.IsZero() {
		b.trainer, b.since = id, time.Now()
	}
	return time.Since(b.since) >= steadyFor
}

// attach takes hold of the job below the launched process: where several trainings run there, of one that the hook says takes batches, else of the
// oldest; chosen then is its process number.
func (l *launch) attach(ctx context.Context) (*job.Job, error) {
	opts := job.Options{FS: l.fs, UID: l.uid, Redaction: l.redact, Launched: true, Told: l.trainers}
	j, err := job.Attach(ctx, l.child.process.Pid, opts)
	var several *job.Error
	if !errors.As(err, &several) || len(several.Candidates) == 0 {
		return j, err
	}
	pid := several.Candidates[0].Trainer.PID
	if l.receiver != nil {
		for _, t := range l.receiver.State().Trainers {
			if t.Steps > 0 {
				pid = t.PID
				break
			}
		}
	}
	l.chosen = pid
	return job.Attach(ctx, pid, opts)
}
