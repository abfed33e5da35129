package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/launch"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/internal/watch"
)

type session struct {
	*watch.Session
	env      Env
	meter    *meter        // offers what is seen to others
	launched *launch.Watch // of a job that pipetune started; nil when attached
}

// newSession finds the job to watch, unless it is asked to end meanwhile.
func newSession(ctx context.Context, env Env, o *diagnoseOptions, asked <-chan os.Signal) (*session, error) {
	opts := job.Options{UID: os.Geteuid(), Self: os.Getpid(), Slurm: job.SlurmKey(env.Getenv),
		Redaction: redaction(env, o.redact)}
	if o.ownChild {
		opts.Self = 0
	}
	pid := o.pid
	if pid == 0 {
		var err error
		if pid, err = choose(ctx, env, opts, asked); err != nil {
			return nil, err
		}
	}
	j, err := job.Attach(ctx, pid, opts)
	if err != nil {
		return nil, attachFailure(err)
	}
	for _, w := range j.Warnings() {
		if !o.quiet {
			note(env.Stderr, w)
		}
	}
	return &session{Session: watch.New(j, opts.Redaction, newRunner), env: env}, nil
}

// redaction hides what does not belong into a public report, as far as flags have it hidden.
func redaction(env Env, r untrusted.Redaction) untrusted.Redaction {
	r.Home, r.User = env.Getenv("HOME"), cmp.Or(env.Getenv("USER"), env.Getenv("LOGNAME"))
	if host, err := os.Hostname(); err == nil {
		r.Host = host
	}
	return r
}

func attachFailure(err error) error {
	var e *job.Error
	if !errors.As(err, &e) {
		return fail(exitNotMeasured, "", "%w", err)
	}
	hint := e.Hint
	if len(e.Candidates) > 0 {
		hint = "choose one: " + strings.Join(choices(e.Candidates), "; ")
	}
	return fail(exitNotMeasured, hint, "%w", err)
}

func choices(list []job.Candidate) []string {
	return names(list, func(c job.Candidate) string { return fmt.Sprintf("--pid %d  %s", c.Trainer.PID, c.Describe()) })
}

// choose finds the job when no --pid was given. Where several qualify it asks on a terminal, else it lists them and
// fails.
func choose(ctx context.Context, env Env, opts job.Options, asked <-chan os.Signal) (int, error) {
	found, err := job.Find(ctx, opts)
	if err != nil {
		return 0, fail(exitNotMeasured, "", "%w", err)
	}
	best := job.Best(found)
	switch {
	case len(best) == 0:
		return 0, fail(exitNotMeasured, "start the training first, or name it: pipetune diagnose --pid PID; pipetune "+
			"demo shows a job of its own",
			"no training job found: no process of yours uses a GPU or looks like training")
	case len(best) == 1:
		return best[0].Trainer.PID, nil
	case !env.StdinTerminal || !env.StderrTerminal:
		for _, line := range choices(best) {
			note(env.Stderr, line)
		}
		return 0, fail(exitNotMeasured, "choose one with --pid", "%d jobs qualify", len(best))
	}
	return ask(env, best, asked)
}

func ask(env Env, list []job.Candidate, asked <-chan os.Signal) (int, error) {
	for i, c := range list {
		note(env.Stderr, fmt.Sprintf("%d) pid %d  %s", i+1, c.Trainer.PID, c.Describe()))
	}
	if _, err := fmt.Fprintf(env.Stderr, "which one? [1-%d] ", len(list)); err != nil {
		return 0, fail(exitNotMeasured, "choose one with --pid", "asking for the job: %w", err)
	}
	var line string
	var err error
	answered := make(chan struct{})
	go func() { // a read of the terminal cannot be called off
		line, err = bufio.NewReader(env.Stdin).ReadString('\n')
		close(answered)
	}()
	select {
	case <-answered:
	case sig := <-asked:
		return 0, unmeasured(sig)
	}
	if err != nil {
		return 0, fail(exitNotMeasured, "choose one with --pid", "no answer: %w", err)
	}
	line = strings.TrimSpace(line)
	n, err := strconv.Atoi(line)
	if err != nil || n < 1 || n > len(list) {
		return 0, fail(exitUsage, "choose one with --pid", "%q is not a number between 1 and %d", line, len(list))
	}
	return list[n-1].Trainer.PID, nil
}

// watch records the job for as long as was asked for, or until one of the bounds is met.
func (s *session) watch(ctx context.Context, o *diagnoseOptions, out *recording.Writer) (*recording.Recording, error) {
	attached := s.launched == nil
	header := s.Job.Header()
	// The streams of a launched job are its own.
	progress := newProgress(s.env, o.quiet || !attached, o.Duration, watchProgress(header.PID))
	w := o.Options
	w.Tool, w.Launched, w.FitWarmup = tool(), s.launched, !o.ownWarmup && o.steps == 0
	w.Tick, w.Warn = progress.tick, func(text string) { note(s.env.Stderr, text) }
	if progress.steps {
		w.Words = progress.step
	}
	if w.Frame == nil && s.meter.asked {
		w.Frame, w.Judge = s.meter.frame, func(g watch.Interim) { s.meter.Judge(g.Report) }
	}
	s.meter.begin(header)
	rec, err := s.Run(ctx, w, out)
	progress.done()
	if errors.As(err, new(watch.HostError)) {
		return nil, fail(exitNotMeasured, "the job may have ended", "%w", err)
	}
	if rec != nil && rec.End.Reason == recording.EndClear && !o.quiet {
		note(s.env.Stderr, fmt.Sprintf("ended after %.0f s: more would not change the verdict; --duration %s watches "+
			"on", rec.End.At.Seconds(), o.Duration))
	}
	return rec, err
}

// cutShort is the end of a watch that was interrupted before enough was seen to conclude anything: nothing is
// reported, and a file that was asked for stays as it was. It is nil where there is something to report.
func (s *session) cutShort(rec *recording.Recording) error {
	if rec == nil || rec.End.Reason != recording.EndInterrupted || watch.SawEnough(rec) {
		return nil
	}
	code := exitNotMeasured // of a launched job: its status is the one to end with
	if s.launched == nil {
		code = requestCode(s.By)
	}
	return fail(code, "", "the watch was interrupted after %s: too little to conclude anything from, which takes %s "+
		"after the warm-up; no file was written", rec.End.At.Round(100*time.Millisecond), watch.LeastSteady)
}
