package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/footprint"
	"github.com/pipetune/pipetune/internal/host"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/probe"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// bench is one benchmark under way.
type bench struct {
	env    Env
	o      *benchOptions
	fs     procfs.FS
	runner *isolate.Runner
	redact untrusted.Redaction

	signal atomic.Pointer[os.Signal] // the first that came, nil for none

	path    string // absolute, as given: never opened in this process
	key     string // its mount, what children may get stuck on
	machine recording.Host
	storage *recording.Storage
	found   dataset.SurveyResult
	digest  string // of its items; "": not known
}

// runBench is the whole command: check, look, plan, measure, judge, show.
func runBench(ctx context.Context, env Env, o *benchOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	format, outs, err := o.presentation.check()
	if err != nil {
		return err
	}
	for _, out := range outs {
		if out.recording {
			return fail(exitUsage, "write the report: -o bench.json; pipetune report shows it again",
				"-o %s: bench-io makes no recording", out.path)
		}
		if err := out.check(); err != nil {
			return err
		}
	}
	isolate.RaiseOOMScore()
	if err := roomFor("bench-io", footprint.BenchRoom); err != nil {
		return err
	}
	path, err := filepath.Abs(o.path)
	if err != nil {
		return fail(exitUsage, "give an absolute path", "%s: %w", o.path, err)
	}
	b := &bench{env: env, o: o, runner: newRunner(false), path: path,
		redact: redaction(env, &diagnoseOptions{noRedact: o.noRedact})}
	defer b.runner.Close()
	asked, stop := handleRequests(env)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case sig := <-asked:
			b.signal.Store(&sig)
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := b.folders(ctx); err != nil {
		return err
	}
	if err := b.inspect(ctx); err != nil {
		return err
	}
	options, err := b.options(ctx)
	if err != nil {
		return err
	}
	if o.list {
		return b.list(options)
	}
	before := footprint.Used(b.runner)
	began := time.Now()
	progress := newProgress(env, o.quiet, o.budget, benchProgress())
	result, err := b.measure(ctx, options, progress)
	progress.done()
	if err != nil {
		return b.nothingMeasured(ctx, err)
	}
	if sample := b.found.Sample; sample.Kind == dataset.HDF5 && b.found.Files == 1 && len(sample.Files) == 1 {
		b.digest = dataset.DigestAt(ctx, b.runner, b.key, string(sample.Files[0].Path),
			dataset.DigestRequest{Dataset: sample.Dataset})
	} else if b.found.Files > 1 {
		b.digest = dataset.DigestAt(ctx, b.runner, b.key, b.path, dataset.DigestRequest{})
	}
	r := b.report(options, result)
	used := footprint.Used(b.runner)
	r.Tool.Overhead = overheadOf(used, before, time.Since(began))
	e := evidence.FromBenchmark(r, result.Rows)
	diagnose.Bench(r, e, rules.All())
	diagnose.Forecast(r, e, diagnose.TrainingAhead{BatchSize: o.batchSize, Step: o.step, Transform: o.transform})
	for i, command := range r.Next {
		r.Next[i] = expandable(command)
	}
	return o.show(env, r, nil, format, outs)
}

// inspect surveys the dataset and the machine.
func (b *bench) inspect(ctx context.Context) error {
	if mounts, err := b.fs.Mounts(); err == nil {
		if s, err := b.fs.StorageOf(mounts, b.path); err == nil {
			b.key = s.Mount.Point
		}
	}
	paths := b.runner.PathsWithin(answerLimit)
	defer paths.Close()
	found, err := b.surveyWithProgress(ctx, paths)
	if err != nil {
		return b.surveyFailure(err)
	}
	b.found = found
	self, err := b.fs.Open(os.Getpid())
	if err != nil {
		return fail(exitNotMeasured, "mount /proc", "describing the machine: %w", err)
	}
	defer self.Close()
	about := host.Options{FS: b.fs, Target: self.ID, Paths: paths, Redaction: b.redact}
	if b.machine, _, err = host.Describe(ctx, about); err != nil {
		return fail(exitNotMeasured, "", "%w", err)
	}
	if s, _, err := host.Storage(ctx, about, b.real()); err == nil {
		b.storage = &s
	}
	return nil
}

// answerLimit is how long the dataset's file system may take for one simple question. A server under load takes a
// second; the person should hear of one that is gone within 5 s, of which ending the child that hangs takes another.
const answerLimit = 3 * time.Second

// answers asks the file system of the dataset each kind of question once: looking at it takes many of them, and its
// limit is for all together. Only that there is no answer counts: what else is wrong the survey says better.
func (b *bench) answers(ctx context.Context, paths *isolate.Paths) error {
	_, err := paths.Statfs(ctx, b.key, b.path)
	if unanswered(err) {
		return err
	}
	info, err := paths.Stat(ctx, b.key, b.path)
	if err == nil {
		switch info.Mode & syscall.S_IFMT {
		case syscall.S_IFDIR:
			_, err = paths.ReadDir(ctx, b.key, b.path, 1)
		case syscall.S_IFREG:
			_, err = paths.Head(ctx, b.key, b.path, 1)
		}
	}
	if unanswered(err) {
		return err
	}
	return ctx.Err()
}

// unanswered says whether an error is that a file system does not answer.
func unanswered(err error) bool {
	late := new(isolate.TimeoutError)
	return errors.As(err, &late) && !late.Starting || errors.As(err, new(*isolate.StuckError))
}

// options turns flags into what the probes need.
func (b *bench) options(ctx context.Context) (probe.Options, error) {
	python, err := b.o.interpreter(ctx, b.env)
	if err != nil {
		return probe.Options{}, err
	}
	o := probe.Options{Budget: b.o.budget, Seed: b.o.seed, CPUs: b.machine.CPUsUsable, MaxWorkers: b.o.workers,
		BatchSize: b.o.batchSize, Python: python, NoCold: b.o.noCold, Try: b.o.try, Scratch: b.o.scratch,
		Other: b.o.other, Key: b.key, Spare: footprint.SpareFor(b.fs, os.Getpid())}
	if b.found.Access != nil {
		o.Layout = b.found.Access
	}
	return o, nil
}

func (b *bench) list(o probe.Options) error {
	if _, err := fmt.Fprint(b.env.Stdout, benchPlan(b.title(), probe.Plan(b.found.Sample, o), b.o.budget)); err != nil {
		return fail(exitUsage, "", "writing: %w", err)
	}
	return nil
}

// measure runs the probes, telling how far they are.
func (b *bench) measure(ctx context.Context, o probe.Options, p *progress) (probe.Result, error) {
	defer p.follow()()
	got, err := probe.Run(ctx, b.runner, b.found.Sample, o, func(s probe.Step, elapsed time.Duration) {
		p.step(s.What,
			elapsed)
	})
	for i, c := range got.Rows.Tried {
		got.Rows.Tried[i].Command = expandable(untrusted.Path(c.Command, b.redact))
	}
	return got, err
}

// nothingMeasured is the failure of a run without a single figure.
func (b *bench) nothingMeasured(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return b.interrupted()
	}
	return fail(exitNotMeasured, "pipetune doctor says what can be seen here", "%s: %s", untrusted.Path(b.o.path,
		b.redact), strings.ReplaceAll(err.Error(), "\n", ": "))
}

// interrupted is the failure of a run that was ended before it had anything to report.
func (b *bench) interrupted() error {
	if sig := b.signal.Load(); sig != nil {
		return unmeasured(*sig)
	}
	return unmeasured(os.Interrupt)
}

// folders checks, before anything is measured, that the folders to write into are there. They are asked for in a child:
// a mount may hang.
func (b *bench) folders(ctx context.Context) error {
	paths := b.runner.Paths()
	defer paths.Close()
	for _, f := range []struct{ flag, path string }{{"--scratch", b.o.scratch}, {"--compare-path", b.o.other}} {
		if f.path == "" {
			continue
		}
		full, err := filepath.Abs(f.path)
		if err != nil {
			return fail(exitUsage, "give an absolute path", "%s %s: %w", f.flag, f.path, err)
		}
		switch info, err := paths.Stat(ctx, full, full); {
		case err != nil:
			return fail(exitUsage, "name a folder you may write to", "%s %s: %w", f.flag, f.path, err)
		case info.Mode&syscall.S_IFMT != syscall.S_IFDIR:
			return fail(exitUsage, "name a folder you may write to", "%s %s: it is no folder", f.flag, f.path)
		}
	}
	return nil
}
