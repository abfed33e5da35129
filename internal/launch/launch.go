// Package launch starts a person's training with pipetune's hook in it, and knows until its end what becomes of it:
// when it trains, what the hook has reported or why it has not, which signals it is passed, and how it is ended.
//
// The job is an ordinary child. Its streams and its status stay its own, and it runs on if pipetune is killed. Nothing
// is printed here: what there is to say comes back as text.
package launch

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Config is what a job is launched with.
type Config struct {
	Redaction  untrusted.Redaction
	SyncPoints bool             // time the methods of Tensor that wait for the GPU
	Acts       bool             // the person has asked for the hook to act on the job: see Limits.Headroom
	Signals    <-chan os.Signal // of Signals: those that are passed on to the job
}

// Job is one launched job. Close it when it has ended.
type Job struct {
	fs      procfs.FS
	uid     int
	redact  untrusted.Redaction
	started time.Time
	process *process
	kin     *jobProcesses
	below   trainings // of a job that was told to end

	receiver *hook.Receiver // nil where it could not be made; noHook says why
	noHook   string
	quiet    reason // why the hook reports nothing, as seen while the training was waited for
	folder   string // of the hook, first on the job's PYTHONPATH
	socket   string // of the receiver
	reads    job.Guard

	shows  bool // the training has begun, as seen from outside, and the hook reports no batch
	acted  bool // trainers have taken orders
	chosen int  // trainer that is watched of several trainings; 0: there is one training

	over  chan struct{} // closed by the first signal that asks the job to end
	hurry chan struct{} // closed by the second
	done  chan struct{} // closed by Close
}

// Start starts a command with the hook in it, and begins to pass signals on. Where the hook cannot be prepared the
// job runs without it. An error is an *Error.
func Start(command []string, c Config) (*Job, error) {
	j := &Job{
		uid: os.Geteuid(), redact: c.Redaction, kin: &jobProcesses{known: map[procfs.ID]bool{}},
		over: make(chan struct{}), hurry: make(chan struct{}), done: make(chan struct{}),
	}
	folder, err := os.Getwd()
	if err == nil {
		j.receiver, err = hook.New(hook.Config{Identify: j.kin.identify, Redaction: c.Redaction, Folder: folder,
			SyncPoints: c.SyncPoints, Acts: c.Acts})
	}
	if err != nil {
		j.noHook = "the hook could not be prepared: " + err.Error()
	}
	env := os.Environ()
	if j.receiver != nil {
		env = j.receiver.Environ(env)
		j.folder, j.socket = j.receiver.Python(), j.receiver.Socket()
	}
	if j.process, err = start(command, env); err != nil {
		j.CloseHook()
		return nil, err
	}
	isolate.RaiseOOMScore() // not before: the job would inherit it
	j.kin.root(j.process.Pid)
	j.started = time.Now()
	go relay(c.Signals, controllingTerminal(), j.process.signal, j.over, j.hurry, j.done)
	return j, nil
}

// CloseHook ends the receiver: a hook in the job has nobody to report to from here on, and passes everything through.
func (j *Job) CloseHook() {
	if j.receiver != nil {
		j.receiver.Close()
	}
}

// Close ends the receiver and the passing on of signals. The job is not ended by it.
func (j *Job) Close() {
	close(j.done)
	j.CloseHook()
}

// Age is the time since the job was started.
func (j *Job) Age() time.Duration { return time.Since(j.started) }

// Chosen is the trainer that is watched where the job runs several trainings; 0 where it runs one.
func (j *Job) Chosen() int { return j.chosen }

// Ended reports whether the job's first process has ended.
func (j *Job) Ended() bool { return closed(j.process.gone) }

// Failure is how the job ended where it failed by itself; false where it runs, ended well, or was told to end.
func (j *Job) Failure() (recording.JobEnd, bool) {
	if j.process == nil || !j.Ended() || j.Interrupted() || j.process.terminated || j.process.end.Status == 0 {
		return recording.JobEnd{}, false
	}
	return j.process.end, true
}

// Interrupted reports whether a signal has asked the job to end.
func (j *Job) Interrupted() bool { return closed(j.over) }

// Over is closed by the signal that Interrupted reports.
func (j *Job) Over() <-chan struct{} { return j.over }

// Hurried reports whether a second signal has asked for it.
func (j *Job) Hurried() bool { return closed(j.hurry) }

// closed reports whether a channel that nothing is sent on is closed; one that is nil never is.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Hook is what the hook has reported; the zero State where there is no receiver.
func (j *Job) Hook() hook.State {
	if j.receiver == nil {
		return hook.State{}
	}
	return j.receiver.State()
}

// Steps is how many batches the trainer that took the most has taken, as the hook reports.
func (j *Job) Steps() int64 {
	var most int64
	for _, t := range j.Hook().Trainers {
		most = max(most, t.Steps)
	}
	return most
}

// Trains reports whether a trainer has taken its first batch, as the hook reports.
func (j *Job) Trains() bool { return j.Steps() > 0 }

// trainers names the processes that have taken batches, as the hook reports.
func (j *Job) trainers() (entities []string) {
	for _, t := range j.Hook().Trainers {
		if t.Steps > 0 {
			entities = append(entities, t.Entity)
		}
	}
	return entities
}

// Attach takes hold of the processes below the first one: where several trainings run there, of one that the hook
// says takes batches, else of the oldest.
func (j *Job) Attach(ctx context.Context) (*job.Job, error) {
	opts := job.Options{FS: j.fs, UID: j.uid, Redaction: j.redact, Launched: true, BatchTakers: j.trainers}
	found, err := job.Attach(ctx, j.process.Pid, opts)
	var several *job.Error
	if !errors.As(err, &several) || len(several.Candidates) == 0 {
		return found, err
	}
	pid := several.Candidates[0].Trainer.PID
	for _, t := range j.Hook().Trainers {
		if t.Steps > 0 {
			pid = t.PID
			break
		}
	}
	j.chosen = pid
	return job.Attach(ctx, pid, opts)
}

// WhySilent says why the hook reported no batch, as far as that is known.
func (j *Job) WhySilent() string {
	state := j.Hook()
	switch {
	case len(state.Off) > 0:
		return switchedOff + state.Off[0].Reason
	case state.Loaded > 0:
		if _, failed := j.Failure(); failed {
			return unmade(state)
		}
		return loaded(state)
	}
	return cmp.Or(j.noHook, j.quiet.text)
}
