package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// launchDuration is for how long a launched job is watched at most where nothing else was asked for.
const launchDuration = 10 * time.Minute

// The two values of --then.
const (
	thenRun       = "run"
	thenTerminate = "terminate"
)

// endAgain ends a watch that was begun before the training was seen to, because it has begun now.
const endAgain = "again"

// launch is one launched job and the diagnosis of it. While the job runs, its streams are its own: what pipetune has to say waits in held.
type launch struct {
	env    Env // its Stderr is held
	stderr io.Writer
	held   bytes.Buffer
	o      *diagnoseOptions
	format render.Format
	outs   []output
	fs     procfs.FS
	uid    int
	redact untrusted.Redaction
	kin    *kinship

	receiver *hook.Receiver // nil where it could not be made; noHook says why
	noHook   string
	quiet    reason     // why the hook tells nothing, as seen while the training was waited for
	folder   string     // of the hook, first on the job's PYTHONPATH
	socket   string     // of the receiver
	told     hook.State // as of the end of the watch
	fix      fix        // what it comes to as a patch

	shows   bool // the training has begun, as seen from outside, and the hook tells of no batch
	waited  bool // the report is of a watch that went on for patience, because nothing was seen to begin
	chosen  int  // trainer that is watched of several trainings; 0: there is one training
	child   *launched
	below   trainings // of a job that was told to end
	started time.Time
	over    chan struct{} // closed by the first signal that asks the job to end
	hurry   chan struct{} // closed by the second
}

// runLaunch starts a command, watches it once it trains, reports when it has ended, and leaves with its status.
func runLaunch(ctx context.Context, env Env, o *diagnoseOptions, command []string) error {
	if ctx == nil {
		ctx = context.Background()
	}
	o.launch = true
	format, outs, err := o.ready(false)
	if err != nil {
		return err
	}
	l := &launch{
		o: o, format: format, outs: outs, stderr: env.Stderr, uid: os.Geteuid(), redact: redaction(env, o),
		kin: &kinship{known: map[procfs.ID]bool{}}, over: make(chan struct{}), hurry: make(chan struct{}),
	}
	l.env = env
	l.env.Stderr = &l.held
	signals, stop := env.JobSignals()
	defer stop()
	l.prepareHook()
	defer l.closeHook()
	if l.child, err = startJob(command, l.environ()); err != nil {
		return err
	}
	isolate.FirstVictim() // not before: the job would inherit it
	l.kin.root(l.child.process.Pid)
	l.started = time.Now()
	done := make(chan struct{})
	defer close(done)
	go relay(signals, controllingTerminal(), l.child.signal, l.over, l.hurry, done)
	return l.run(ctx)
}

// prepareHook makes the receiver. Without it the job is watched from outside.
func (l *launch) prepareHook() {
	folder, err := os.Getwd()
	if err == nil {
		l.receiver, err = hook.New(hook.Config{Identify: l.kin.identify, Redaction: l.redact, Folder: folder, SyncPoints: l.o.sync})
	}
	if err != nil {
		l.noHook = "the hook could not be prepared: " + err.Error()
	}
}

func (l *launch) environ() []string {
	env := os.Environ()
	if l.receiver == nil {
		return env
	}
	env = l.receiver.Environ(env)
	for _, variable := range env {
		switch name, value, _ := strings.Cut(variable, "="); name {
		case hook.EnvSocket:
			l.socket = value
		case "PYTHONPATH":
			l.folder, _, _ = strings.Cut(value, ":")
		}
	}
	return env
}

func (l *launch) closeHook() {
	if l.receiver != nil {
		l.receiver.Close()
	}
}

// run watches the job, waits for its end and reports: at the end, or with the watch where its length was asked for.
func (l *launch) run(ctx context.Context) error {
	rec, err := l.measure(ctx)
	if l.receiver != nil {
		l.told = l.receiver.State()
	}
	var out outcome
	said := false
	early := rec != nil && (rec.End.Reason == endSteps || rec.End.Reason == endDuration) && !l.child.ended()
	if early {
		l.closeHook() // from here on the hook in the job has nobody to tell, and passes everything through
		if l.o.then == thenTerminate {
			l.terminate(ctx)
		}
		out = l.conclude(ctx, rec, err)
		if l.o.then == thenRun && (l.o.explicit || rec.End.Reason == endSteps) {
			l.say(out)
			said = true
		}
	}
	status, waitErr := l.child.collect()
	if waitErr != nil {
		return waitErr
	}
	if l.child.terminated {
		status = l.endTrainings(status)
	}
	l.closeHook()
	if l.hurried() && !early {
		if missing := l.unwritten(); !l.o.quiet || missing != "" {
			note(l.stderr, "no report"+missing+": a second signal asked pipetune to end without one")
		}
		return leave(status, nil, l.stderr)
	}
	if !early {
		out = l.conclude(ctx, rec, err)
	}
	if !said {
		l.say(out)
	}
	return leave(status, out.err, l.stderr)
}

func (l *launch) hurried() bool { return closed(l.hurry) }

// interrupted says whether a signal has asked the job to end.
func (l *launch) interrupted() bool { return closed(l.over) }

// closed says whether a channel that nothing is sent on is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// measure watches the training. It returns no recording where the job ended, or was asked to end, before anything was measured; the error then
// is nil. A watch that was begun without a first batch is begun anew with it.
func (l *launch) measure(ctx context.Context) (*recording.Recording, error) {
	var last *recording.Recording // of a trainer that ended without a batch
	for l.await(ctx) {
		rec, err := l.watch(ctx)
		if rec == nil {
			if l.child.ended() {
				return last, nil // it went while it was being looked at
			}
			return last, err
		}
		switch {
		case rec.End.Reason == endAgain:
		case rec.End.Reason == endJobEnded && !l.trains() && !l.child.ended():
			last = rec
		default:
			return rec, err
		}
	}
	return last, nil
}

// watch records the job once.
func (l *launch) watch(ctx context.Context) (*recording.Recording, error) {
	j, err := l.attach(ctx)
	if err != nil {
		return nil, attachFailure(err)
	}
	s := &session{env: l.env, fs: l.fs, self: os.Getpid(), redact: l.redact}
	s.take(j)
	defer s.close()
	o := *l.o
	quiet := &silence{fs: l.fs, socket: l.socket, folder: l.folder, paths: s.paths, state: l.state}
	s.hook = &hookSampler{receiver: l.receiver, taking: l.trains(), trainer: s.target, explain: quiet.tell, why: l.noHook, own: o.ownWarmup}
	waiting := !s.hook.taking && !l.shows && l.receiver != nil
	if waiting { // the hook may yet come: importing torch takes long where it is read over a network
		o.duration = max(o.duration, patience)
	}
	rec, err := s.record(ctx, &o, l.outs, bounds{over: l.over, enough: l.enough(s.hook.taking, waiting)})
	l.waited = waiting && rec != nil && rec.End.Reason == endDuration && rec.End.At > l.o.duration && rec.End.At >= o.duration
	if !s.hook.taking {
		l.noHook = s.hook.why
	}
	return rec, err
}

// enough says when a watch is over. taking: a first batch was taken before it began. waiting: nothing was seen to begin before it did.
func (l *launch) enough(taking, waiting bool) func(time.Duration, *watch) string {
	from := int64(-1) // batches taken at the end of the warm-up
	return func(at time.Duration, w *watch) string {
		steps := l.steps()
		if from < 0 && at >= l.o.warmup {
			from = steps
		}
		select {
		case <-l.over:
			return endInterrupted
		default:
		}
		switch {
		case l.child.ended():
			return endJobEnded
		case !taking && steps > 0:
			return endAgain
		case waiting && at >= l.o.duration && !entered(l.state()):
			return endDuration
		case waiting && entered(l.state()) && begunOutside(l.state(), w.job.Tree(), w.recorder, at):
			l.shows = true
			return endAgain
		case from >= 0 && l.o.enoughSteps(steps-from, at):
			return endSteps
		}
		return ""
	}
}

// enoughSteps says whether the batches of --steps were taken, and whether that took long enough to judge by. taken: since the warm-up.
func (o *diagnoseOptions) enoughSteps(taken int64, at time.Duration) bool {
	return o.steps > 0 && taken >= int64(o.steps) && at >= o.warmup+minSteady
}

// outcome is what the diagnosis came to.
type outcome struct {
	report *report.Report // nil: nothing was measured
	err    error          // a gate that failed, a file that could not be written
}

// conclude judges what was recorded and writes the files.
func (l *launch) conclude(ctx context.Context, rec *recording.Recording, err error) outcome {
	if rec == nil {
		l.nothing(err, err != nil)
		return outcome{err: l.o.gateOnNothing()}
	}
	r, judgeErr := judge(rec)
	if judgeErr != nil {
		l.nothing(judgeErr, false)
		return outcome{err: l.o.gateOnNothing()}
	}
	l.amendReport(ctx, r)
	out := outcome{report: r, err: err}
	if err := errors.Join(l.o.write(l.env, r, l.outs), l.writePatch()); err != nil {
		out.err = err
	}
	if out.err == nil {
		out.err = l.o.gate(l.env, r)
	}
	return out
}

// say lets out what was held back, and the report after it.
func (l *launch) say(out outcome) {
	l.notes(out)
	if l.env.StderrTerminal && (l.held.Len() > 0 || out.report != nil) {
		fmt.Fprintln(l.stderr)
	}
	// Where stderr is gone there is nobody left to tell.
	_, _ = l.stderr.Write(l.held.Bytes())
	if out.report != nil {
		if err := l.o.print(l.stderr, l.env.StderrTerminal, l.env, out.report, l.format); err != nil {
			complain(l.stderr, err)
		}
	}
}

// notes says what was asked for and could not be had. Why the hook told nothing is among the report's warnings.
func (l *launch) notes(out outcome) {
	if err := l.state().Err; err != nil && !l.o.quiet {
		note(l.env.Stderr, err.Error())
	}
	if !l.o.quiet && out.report != nil && l.chosen != 0 {
		note(l.env.Stderr, fmt.Sprintf("the command runs several trainings; the one of process %d was watched", l.chosen))
	}
	if !l.o.quiet && out.report != nil && l.waited {
		note(l.env.Stderr, fmt.Sprintf("--duration %s counts from where training is seen to begin, by a batch from a DataLoader of torch, by loader workers or by %s of work on the job's GPU; "+
			"none was, so the job was watched for %s", l.o.duration, gpuBusyFor, patience))
	}
	if !l.o.quiet && out.report != nil && l.o.steps > 0 && !l.trains() {
		note(l.env.Stderr, "--steps: without the hook no steps are counted; the watch went on for its duration, or to the job's end")
	}
}
