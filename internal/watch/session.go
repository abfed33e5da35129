// Package watch watches one job: it finds out about the machine, has each sampler record what it sees at its pace, and
// judges on the side what was seen so far, until the time is up, the job has ended or somebody asks.
//
// It promises to stay a small neighbour of the job. It says nothing to a person: what there is to say it hands to
// functions of its caller.
package watch

import (
	"context"
	"math"
	"os"
	"time"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/host"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/launch"
	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/sampler"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Session is a job to be watched, with the children that may be asked on its behalf.
type Session struct {
	Job   *job.Job
	Paths *isolate.Paths
	By    os.Signal // the request that ended the last watch; nil: none did

	fs     procfs.FS
	runner *isolate.Runner
	redact untrusted.Redaction
}

// New begins the account of children for a job, by a runner that is told whether the job belongs to another user.
func New(j *job.Job, redact untrusted.Redaction, runner func(foreign bool) *isolate.Runner) *Session {
	s := &Session{Job: j, redact: redact}
	s.runner = runner(s.foreign())
	s.Paths = s.runner.Paths()
	return s
}

// Close ends the children, and lets go of the job.
func (s *Session) Close() {
	s.Paths.Close()
	s.runner.Close()
	s.Job.Close()
}

// foreign says whether the job belongs to another user than pipetune runs as.
func (s *Session) foreign() bool {
	p, err := s.fs.OpenID(s.Target())
	if err != nil {
		return true // unknown: the safer of the two
	}
	defer p.Close()
	st, err := p.Status()
	return err != nil || st.UID.Or(-1) != os.Geteuid()
}

// Target is the process whose limits, mounts and cgroup stand for the job's.
func (s *Session) Target() procfs.ID { return s.targets()[0] }

// targets are the job's trainers or, before there are any, the process that the job began with.
func (s *Session) targets() (list []procfs.ID) {
	for _, t := range s.Job.Tree().Trainers() {
		list = append(list, t.ID)
	}
	if len(list) == 0 {
		h := s.Job.Header()
		list = append(list, procfs.ID{PID: h.PID, Start: h.StartTicks})
	}
	return list
}

// Endless is the duration of a watch that goes on for as long as somebody looks at it: only its last stretch is kept
// and judged.
const Endless = time.Duration(math.MaxInt64)

// Options say how a job is watched, and who is told meanwhile. A nil function is not called.
type Options struct {
	Tool      recording.Tool
	Duration  time.Duration // at the most
	Warmup    time.Duration
	FitWarmup bool          // nobody chose the warm-up: it gives way where a launched job ended soon
	Interval  time.Duration // between two ticks
	BatchSize int           // samples; 0: not known
	MayEnd    bool          // nobody chose the duration: the watch ends where the verdict is clear

	Launched *launch.Watch    // of a job that pipetune started; nil when attached
	Asked    <-chan os.Signal // a request to end the watch
	Over     <-chan struct{}  // once it is closed, Launched gives a reason

	Tick  func(at time.Duration)               // at each tick; at is the time since the start
	Frame func(*live.Frame)                    // the state of the job, about once a second
	Judge func(Interim)                        // each interim report
	Now   func() bool                          // whether an interim report is wanted before it is due
	Words func(words string, at time.Duration) // what is known so far
	Warn  func(text string)
}

// HostError says why the machine could not be described.
type HostError struct{ error }

// Unwrap implements what errors.Is asks for.
func (e HostError) Unwrap() error { return e.error }

// Run records the job for as long as was asked for, or until one of the bounds is met. out may be nil. Its error is a
// HostError, or that of writing to out; in the latter case a recording may come back all the same.
func (s *Session) Run(ctx context.Context, o Options, out *recording.Writer) (*recording.Recording, error) {
	w := &watch{Session: s, Options: o, start: time.Now()}
	header, notes, err := w.header(ctx)
	if err != nil {
		return nil, HostError{err}
	}
	if w.recorder, err = recording.NewRecorder(header, out); err != nil {
		return nil, err
	}
	w.sink = forUser(w.recorder, os.Geteuid())
	for _, n := range notes {
		w.sink.Unseen(n.Signal, n.Entity, n.Reason, n.Cure)
	}
	w.samplers, w.amend = w.table()
	if o.Launched != nil {
		o.Launched.Align(header.StartMonotonic)
	}
	switch {
	case o.Judge != nil:
		w.judged = &provisional{Options: o, next: firstInterim, amend: w.amend}
	case o.MayEnd:
		w.judged = &provisional{Options: o, next: soonEnough, amend: w.amend}
	case o.Words != nil: // once in a minute: a report costs as much as looking for ten seconds
		w.judged = &provisional{Options: o, next: max(soonEnough, min(o.Duration, LastStretch)/2), amend: w.amend}
	}
	return w.run(ctx)
}

// How short a watch may be.
const (
	// Least is the shortest that anything can be concluded from, LeastSteady of it after the warm-up.
	Least       = evidence.LeastWatch * time.Second
	LeastSteady = evidence.LeastSteady * time.Second
	// edges is what a watch loses at its beginning and its end: a tick each, and what finding the job's processes and
	// the first readings take.
	edges = 500 * time.Millisecond
)

// DefaultWarmup is 5 s, or less where a short watch would lose too much by it: the shortest that is allowed must leave
// enough to judge by.
func DefaultWarmup(duration time.Duration) time.Duration {
	return max(min(5*time.Second, duration/6, duration-LeastSteady-edges), 0)
}

// SawEnough reports whether a watch lasted long enough beyond its warm-up for anything to be concluded.
func SawEnough(rec *recording.Recording) bool {
	e, err := evidence.FromRecording(rec)
	return err == nil && (e.Window.End-e.Window.Start).Seconds() >= evidence.LeastSteady
}

// header describes the machine and the job at the start. What could not be read comes as notes for the recording.
func (w *watch) header(ctx context.Context) (recording.Header, []host.Note, error) {
	machine, notes, err := host.Describe(host.Options{FS: w.fs, Target: w.Target(), Trainers: w.targets(),
		Redaction: w.redact})
	if err != nil {
		return recording.Header{}, nil, err
	}
	mode := "attach"
	if w.Launched != nil {
		mode = "launch"
	}
	return recording.Header{
		Tool: w.Tool, StartedAt: w.start.UTC().Round(time.Millisecond),
		StartMonotonic: procfs.Monotonic() - time.Since(w.start), Mode: mode, Interval: w.Interval,
		SampleInterval: sampler.SampleInterval, Warmup: w.Warmup, BatchSize: w.BatchSize, Redacted: !w.redact.Off,
		Host: machine, Job: w.Job.Header(),
	}, notes, nil
}
