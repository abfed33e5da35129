package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/launch"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/internal/tune"
	"github.com/pipetune/pipetune/internal/watch"
	"github.com/pipetune/pipetune/pkg/report"
)

// launchDuration is for how long a launched job is watched at most where nothing else was asked for.
const launchDuration = 10 * time.Minute

const (
	thenRun       = "run"
	thenTerminate = "terminate"
)

// launched is one launched job and the diagnosis of it. While the job runs, its streams are its own: what pipetune
// has to say waits in held.
type launched struct {
	*launch.Job
	env    Env // its Stderr is held
	stderr io.Writer
	held   bytes.Buffer
	o      *diagnoseOptions
	meter  *meter
	hook   hook.State     // as of the end of the watch
	tuning *report.Tuning // nil: no settings were to be measured
	fix    launch.Fix
	waited string // says that the report is of a watch that went on because nothing was seen to begin
}

// runLaunch starts a command, watches it once it trains, reports when it has ended, and leaves with its status.
func runLaunch(ctx context.Context, env Env, o *diagnoseOptions, command []string) error {
	o.launch = true
	err := o.ready(false)
	if err != nil {
		return err
	}
	l := &launched{o: o, stderr: env.Stderr, env: env}
	l.env.Stderr = &l.held
	if l.meter, err = o.metrics.open(l.env); err != nil {
		return err
	}
	defer l.meter.close()
	signals, stop := env.JobSignals()
	defer stop()
	switch {
	case o.tune != nil:
		note(env.Stderr, spoiled)
	case o.headroom:
		note(env.Stderr, invalid)
	}
	l.Job, err = launch.Start(command, launch.Config{Redaction: redaction(env, o.redact), SyncPoints: o.sync,
		Acts: o.headroom, Signals: signals})
	if err != nil {
		return launchFailure(err)
	}
	defer l.Close()
	return l.run(ctx)
}

// invalid is said before a job is started that is going to be acted on.
const invalid = "--headroom: after the watch the job is handed its last batches again for some seconds, and then " +
	"ended with SIGTERM. What it trains from then on is not valid, nor is a checkpoint that it writes then or as it " +
	"ends"

func launchFailure(err error) error {
	var e *launch.Error
	if !errors.As(err, &e) {
		return err
	}
	return fail(e.Status, e.Hint, "%w", err)
}

// run watches the job, waits for its end and reports: at the end, or with the watch where its length was asked for.
func (l *launched) run(ctx context.Context) error {
	rec, err := l.measure(ctx)
	l.hook = l.Hook()
	var out outcome
	said := false
	early := rec != nil && (rec.End.Reason == recording.EndSteps || rec.End.Reason == recording.EndDuration) &&
		!l.Ended()
	if l.o.tune != nil && rec != nil {
		l.tuning = l.tuned(rec)
	}
	if early {
		l.LetEnd()
		l.CloseHook()
		if l.o.then == thenTerminate {
			l.Terminate(ctx)
		}
		out = l.conclude(ctx, rec, err)
		if l.o.then == thenRun && (l.o.explicit || rec.End.Reason == recording.EndSteps) {
			l.say(out)
			said = true
		}
	}
	status, notes, waitErr := l.Collect()
	if waitErr != nil {
		return launchFailure(waitErr)
	}
	l.minor(notes.Minor...)
	for _, text := range notes.Warnings {
		note(l.env.Stderr, text)
	}
	l.CloseHook()
	if l.Hurried() && !early {
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

// measure watches the training. It returns no recording where the job ended, or was asked to end, before anything was
// measured; the error then is nil. A watch that was begun without a first batch is restarted with it.
func (l *launched) measure(ctx context.Context) (*recording.Recording, error) {
	var last *recording.Recording // of a trainer that ended without a batch
	for l.Await(ctx) {
		rec, err := l.watch(ctx)
		if rec == nil {
			if l.Ended() && !l.Interrupted() {
				return last, nil // it went while it was being looked at
			}
			return last, err
		}
		switch {
		case rec.End.Reason == launch.Again:
		case rec.End.Reason == recording.EndJobEnded && !l.Trains() && !l.Ended():
			last = rec
		default:
			return rec, err
		}
	}
	return last, nil
}

func (l *launched) watch(ctx context.Context) (*recording.Recording, error) {
	j, err := l.Attach(ctx)
	if err != nil {
		return nil, attachFailure(err)
	}
	s := &session{Session: watch.New(j, redaction(l.env, l.o.redact), newRunner), env: l.env, meter: l.meter}
	defer s.Close()
	o := *l.o
	limits := launch.Limits{Duration: o.Duration, Warmup: o.Warmup, Steps: o.steps, Least: watch.LeastSteady,
		Headroom: o.headroom}
	s.launched = l.Watch(limits, s.Target, s.Paths)
	o.Duration, o.Over = s.launched.Duration, l.Over()
	rec, err := s.record(ctx, &o)
	if rec != nil {
		l.waited = s.launched.Waited(rec.End)
	}
	return rec, err
}

type outcome struct {
	report *report.Report     // nil: nothing was measured
	shown  render.Subject     // the same, to be shown
	change *report.Comparison // with the report of --baseline; nil without
	err    error              // a gate that failed, a file that could not be written
}

// conclude judges what was recorded and writes the files.
func (l *launched) conclude(ctx context.Context, rec *recording.Recording, err error) outcome {
	if rec == nil {
		l.nothing(err, err != nil && !l.Interrupted())
		return outcome{err: l.o.gateOnNothing()}
	}
	r, judgeErr := rules.Judge(rec)
	if judgeErr != nil {
		l.nothing(judgeErr, false)
		return outcome{err: l.o.gateOnNothing()}
	}
	l.meter.end(r)
	if l.tuning != nil {
		r.Tuning = l.tuning
		tune.Decide(r)
	}
	l.fix = l.Fix(ctx, r, l.hook.Trainers)
	nameKept(r, l.o.outs)
	l.o.hold(r)
	out := outcome{report: r, shown: l.o.subject(r, rec), err: err}
	if err := errors.Join(l.o.writeAll(l.env, out.shown), l.writePatch()); err != nil {
		out.err = err
	}
	if out.err == nil {
		out.err = l.o.gate(r)
	}
	change, err := l.o.earlier.against(r)
	if out.change = change; change != nil {
		err = l.o.earlier.exit(change)
	}
	if out.err == nil {
		out.err = err
	} else {
		complain(l.env.Stderr, err)
	}
	return out
}

// writePatch writes the patch to the outputs that take one. Where there is none it says why; that is no failure.
func (l *launched) writePatch() error {
	var failed error
	for _, o := range l.o.outs {
		switch {
		case !o.patch:
		case l.fix.Diff == "":
			note(l.env.Stderr, fmt.Sprintf("-o %s: no patch was written: %s", o.path, l.fix.Why))
		default:
			err := o.fill(func(d *saved.Draft) error { _, err := d.WriteString(l.fix.Diff); return err })
			if err != nil {
				complain(l.env.Stderr, err)
				failed = errors.Join(failed, quietExit(exitCode(err)))
			} else if l.fix.Lacks != "" {
				note(l.env.Stderr, fmt.Sprintf("-o %s: %s", o.path, l.fix.Lacks))
			}
		}
	}
	return failed
}

// say lets out what was held back, and the report after it.
func (l *launched) say(out outcome) {
	if err := l.Hook().Err; err != nil {
		l.minor(err.Error())
	}
	if out.report != nil {
		l.notes()
	}
	if l.env.StderrTerminal && (l.held.Len() > 0 || out.report != nil) {
		fmt.Fprintln(l.stderr)
	}
	// Where stderr is gone there is nobody left to tell.
	_, _ = l.stderr.Write(l.held.Bytes())
	if out.report != nil {
		complain(l.stderr, l.o.printTo(l.stderr, l.env.StderrTerminal, l.env, out.shown))
	}
	if out.change != nil {
		complain(l.stderr, l.o.printComparison(l.stderr, l.env.StderrTerminal, l.env, out.change))
	}
}

// notes says what was asked for and could not be had. Why the hook reported nothing is among the report's warnings.
func (l *launched) notes() {
	if pid := l.Chosen(); pid != 0 {
		l.minor(fmt.Sprintf("the command runs several trainings; the one of process %d was watched", pid))
	}
	if l.waited != "" {
		l.minor(l.waited)
	}
	if l.o.steps > 0 && !l.Trains() {
		l.minor("--steps: without the hook no steps are counted; the watch went on for its duration, or to the job's " +
			"end")
	}
}

// minor are notes that -q keeps back.
func (l *launched) minor(texts ...string) {
	for _, text := range texts {
		if !l.o.quiet {
			note(l.env.Stderr, text)
		}
	}
}

// nothing says why there is no report. The job is none the worse for it, so this is no error; that it could not be
// looked at is one. A file that was asked for and is not written is no note that -q keeps back: an older one of that
// name would be taken for this job's.
func (l *launched) nothing(err error, failed bool) {
	missing := l.unwritten()
	if l.o.quiet && !failed && missing == "" {
		return
	}
	ended := fmt.Sprintf("ended after %s", l.Age().Round(100*time.Millisecond))
	if end, failed := l.Failure(); failed {
		ended = end.String()
	}
	text := fmt.Sprintf("no report%s: the job %s, and ", missing, ended)
	switch taken := l.Steps(); {
	case err != nil:
		text += err.Error()
	case taken > 0:
		text += fmt.Sprintf("its %d batches were over before they could be watched", taken)
	default:
		text += "nothing in it took a batch or looked like training"
		if why := l.WhySilent(); why != "" {
			text += "; the hook reported nothing: " + why
		}
	}
	note(l.env.Stderr, text)
}

// unwritten names the files that a report was asked for in, as the rest of "no report"; "" where there are none.
func (l *launched) unwritten() string {
	var names []string
	for _, out := range l.o.outs {
		if !out.recording && !out.patch {
			names = append(names, "-o "+out.path)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// leave makes the status that pipetune ends with: the job's own; where that is 0, what the diagnosis came to.
func leave(status int, diagnosis error, stderr io.Writer) error {
	if status == 0 {
		return diagnosis
	}
	complain(stderr, diagnosis)
	return quietExit(status)
}

// gateOnNothing applies the gates where nothing was measured: that is less than inconclusive, and every signal is
// missing.
func (o *diagnoseOptions) gateOnNothing() error {
	switch {
	case len(o.require) > 0:
		return fail(exitMissing, "watch a job that trains for longer",
			"nothing was measured, so required signals are missing")
	case o.strict, len(o.held) > 0:
		return fail(exitNotMeasured, "watch a job that trains for longer", "nothing was measured")
	}
	return nil
}
