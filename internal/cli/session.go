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

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/launch"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// session is one diagnosis under way: the job, and the children that may be asked on its behalf.
type session struct {
	env    Env
	fs     procfs.FS
	runner *isolate.Runner
	paths  *isolate.Paths
	job    *job.Job
	self   int // pipetune's own process number
	redact untrusted.Redaction

	launched *launch.Watch // of a job that pipetune started; nil when attached
	meter    *meter        // offers what is seen to others; nil: to nobody
	endless  bool          // the watch goes on for as long as somebody looks at it
	by       os.Signal     // the request that ended the watch; nil: none did

	amend func(context.Context, *recording.Header) // completes a header by what is known now; set by watch
}

// newSession finds the job to watch, unless it is asked to end meanwhile.
func newSession(ctx context.Context, env Env, o *diagnoseOptions, asked <-chan os.Signal) (*session, error) {
	s := &session{env: env, self: os.Getpid(), redact: redaction(env, o)}
	opts := job.Options{FS: s.fs, UID: os.Geteuid(), Self: s.self, Slurm: job.SlurmKey(env.Getenv), Redaction: s.redact}
	if o.ownChild {
		opts.Self = 0
	}
	pid := o.pid
	if pid == 0 {
		chosen, err := choose(ctx, env, opts, asked)
		if err != nil {
			return nil, err
		}
		pid = chosen
	}
	j, err := job.Attach(ctx, pid, opts)
	if err != nil {
		return nil, attachFailure(err)
	}
	s.take(j)
	for _, w := range j.Warnings() {
		if !o.quiet {
			note(env.Stderr, w)
		}
	}
	return s, nil
}

// take makes j the job of the session, and starts the account of children for it.
func (s *session) take(j *job.Job) {
	s.job = j
	s.runner = newRunner(s.foreign())
	s.paths = s.runner.Paths()
}

func (s *session) close() {
	s.paths.Close()
	s.runner.Close()
	s.job.Close()
}

// foreign says whether the job belongs to another user than pipetune runs as.
func (s *session) foreign() bool {
	p, err := s.fs.OpenID(s.target())
	if err != nil {
		return true // unknown: the safer of the two
	}
	defer p.Close()
	st, err := p.Status()
	return err != nil || st.UID.Or(-1) != os.Geteuid()
}

// target is the process whose limits, mounts and cgroup stand for the job's.
func (s *session) target() procfs.ID {
	if trainers := s.job.Tree().Trainers(); len(trainers) > 0 {
		return trainers[0].ID
	}
	h := s.job.Header()
	return procfs.ID{PID: h.PID, Start: h.StartTicks}
}

// redaction hides what does not belong into a public report.
func redaction(env Env, o *diagnoseOptions) untrusted.Redaction {
	r := untrusted.Redaction{Off: o.noRedact, Home: env.Getenv("HOME"), User: cmp.Or(env.Getenv("USER"),
		env.Getenv("LOGNAME")), NoArguments: o.noArgs}
	if host, err := os.Hostname(); err == nil {
		r.Host = host
	}
	return r
}

// attachFailure gives an error of package job its exit code and hint.
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

func choices(list []job.Candidate) (lines []string) {
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("--pid %d  %s", c.Trainer.PID, c.Describe()))
	}
	return lines
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
	type reply struct {
		line string
		err  error
	}
	replies := make(chan reply, 1)
	go func() { // a read of the terminal cannot be called off
		line, err := bufio.NewReader(env.Stdin).ReadString('\n')
		replies <- reply{line, err}
	}()
	var line string
	select {
	case r := <-replies:
		if r.err != nil {
			return 0, fail(exitNotMeasured, "choose one with --pid", "no answer: %w", r.err)
		}
		line = r.line
	case sig := <-asked:
		return 0, unmeasured(sig)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || n < 1 || n > len(list) {
		return 0, fail(exitUsage, "choose one with --pid", "%q is not a number between 1 and %d",
			strings.TrimSpace(line), len(list))
	}
	return list[n-1].Trainer.PID, nil
}

// watch records the job for as long as was asked for, or until one of the bounds is met.
func (s *session) watch(ctx context.Context, o *diagnoseOptions, out *recording.Writer, b bounds) (*recording.Recording,
	error) {
	start := time.Now()
	header, notes, err := s.header(ctx, o, start)
	if err != nil {
		return nil, err
	}
	recorder, err := recording.NewRecorder(header, out)
	if err != nil {
		return nil, fail(exitUsage, "", "%w", err)
	}
	for _, n := range notes {
		forUser(recorder, os.Geteuid()).Unseen(n.Signal, n.Entity, n.Reason, n.Cure)
	}
	set, amend := s.samplers()
	s.amend = amend
	w := &watch{
		job: s.job, samplers: set, runner: s.runner, recorder: recorder, sink: forUser(recorder, os.Geteuid()),
		duration: o.duration, interval: o.interval, bounds: b,
		// The streams of a launched job are its own.
		progress: newProgress(s.env, o.quiet || s.launched != nil, o.duration, watchProgress(header.Job.PID)),
		warn:     func(text string) { note(s.env.Stderr, text) },
		amend: func(ctx context.Context, r *recording.Recorder) {
			amend(ctx, r.Header())
			if s.launched == nil {
				return
			}
			if !o.ownWarmup && o.steps == 0 { // nobody could know before how long the watch would be
				r.Header().Warmup = min(o.warmup, defaultWarmup(time.Since(start)))
			}
			s.launched.Finish(r)
		},
	}
	if s.launched != nil {
		s.launched.Align(header.StartMonotonic)
	}
	s.meter.begin(header.Job)
	if mayEnd := s.launched == nil && !o.explicit && len(o.outputs) == 0 && !o.ownChild; !s.endless &&
		(mayEnd || s.meter != nil || s.launched == nil && !o.quiet) {
		p := &provisional{mayEnd: mayEnd, next: firstInterim, show: func(words string) {
			w.progress.step(words,
				time.Since(start))
		},
			onInterim: func(g interim) { s.meter.judge(g.Report) }, amend: func(h *recording.Header) { amend(ctx, h) }}
		w.enough = first(b.enough, s.meter.tick, p.enough)
	}
	rec, err := w.run(ctx, start)
	s.by = w.by
	if rec != nil && rec.End.Reason == recording.EndClear && !o.quiet {
		note(s.env.Stderr, fmt.Sprintf("ended after %.0f s: more would not change the verdict; --duration %s watches "+
			"on", rec.End.At.Seconds(), o.duration))
	}
	return rec, err
}
