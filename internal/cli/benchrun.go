package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pipetune/pipetune/internal/benchrun"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/footprint"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/probe"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// bench is one benchmark under way.
type bench struct {
	*benchrun.Run
	env    Env
	o      *benchOptions
	signal atomic.Pointer[os.Signal] // the first that came, nil for none
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
	options := benchrun.Options{Path: path, Dataset: o.dataset, ItemShape: o.shape, BlockBytes: o.block,
		Follow: o.follow, Step: o.step, Transform: o.transform, Tool: ofTool(),
		Redact: redaction(env, &diagnoseOptions{noRedact: o.noRedact})}
	options.Options = probe.Options{Budget: o.budget, Seed: o.seed, MaxWorkers: o.workers, BatchSize: o.batchSize,
		NoCold: o.noCold, Try: o.try, Scratch: o.scratch, Other: o.other}
	runner := newRunner(false)
	defer runner.Close()
	b := &bench{Run: benchrun.New(options, runner), env: env, o: o}
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
	if err := b.prepare(ctx); err != nil {
		return err
	}
	if o.list {
		if _, err := fmt.Fprint(env.Stdout, benchPlan(b.Title(), b.Plan(), o.budget)); err != nil {
			return fail(exitUsage, "", "writing: %w", err)
		}
		return nil
	}
	progress := newProgress(env, o.quiet, o.budget, benchProgress())
	following := progress.follow()
	r, err := b.Measure(ctx, func(s probe.Step, elapsed time.Duration) { progress.step(s.What, elapsed) })
	following()
	progress.done()
	if err != nil {
		return b.nothingMeasured(ctx, err)
	}
	return o.show(env, r, nil, format, outs)
}

// prepare does all that comes before measuring: what is wrong here ends the command at once.
func (b *bench) prepare(ctx context.Context) (err error) {
	for _, f := range []struct{ flag, path string }{{"--scratch", b.o.scratch}, {"--compare-path", b.o.other}} {
		if f.path == "" {
			continue
		}
		full, err := filepath.Abs(f.path)
		if err != nil {
			return fail(exitUsage, "give an absolute path", "%s %s: %w", f.flag, f.path, err)
		}
		if err := b.Folder(ctx, full); err != nil {
			return fail(exitUsage, "name a folder you may write to", "%s %s: %w", f.flag, f.path, err)
		}
	}
	progress := newProgress(b.env, b.o.quiet, b.SurveyLimit(), surveyProgress())
	following := progress.follow()
	err = b.Survey(ctx)
	following()
	progress.done()
	if err != nil {
		return b.surveyFailure(err)
	}
	if err := b.Describe(ctx); err != nil {
		return fail(exitNotMeasured, "mount /proc", "%w", err)
	}
	if b.Python, err = benchrun.Interpreter(ctx, b.o.python); err != nil {
		return fail(exitUsage, "give the interpreter your training uses, or --python none", "--python %s: %w",
			b.o.python, err)
	}
	if b.Python == nil && b.o.python == "auto" && !b.o.quiet && ctx.Err() == nil {
		note(b.env.Stderr, "no python3 here has Pillow, OpenCV, torchvision or h5py: only pipetune's own readers are "+
			"timed (--python PATH names another)")
	}
	return nil
}

// nothingMeasured is the failure of a run without a single figure.
func (b *bench) nothingMeasured(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return b.interrupted()
	}
	return fail(exitNotMeasured, "pipetune doctor says what can be seen here", "%s: %s", untrusted.Path(b.o.path,
		b.Redact), strings.ReplaceAll(err.Error(), "\n", ": "))
}

// interrupted is the failure of a run that was ended before it had anything to report.
func (b *bench) interrupted() error {
	if sig := b.signal.Load(); sig != nil {
		return unmeasured(*sig)
	}
	return unmeasured(os.Interrupt)
}

// surveyFailure says why the dataset cannot be measured.
func (b *bench) surveyFailure(err error) error {
	name := untrusted.Path(b.o.path, b.Redact)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fail(exitUsage, "", "%s: no such file or folder", name)
	case errors.Is(err, os.ErrPermission):
		return fail(exitNotMeasured, "run pipetune as a user who may read it", "%s: permission denied", name)
	case errors.As(err, new(*isolate.TimeoutError)), errors.As(err, new(*isolate.StuckError)):
		return fail(exitNotMeasured, "check that the server behind the mount "+untrusted.Path(b.Key, b.Redact)+
			" is reachable", "%s: the file system does not answer", name)
	case errors.As(err, new(*isolate.DeathError)):
		return fail(exitNotMeasured, "the file may be damaged: h5ls or h5dump may say more",
			"looking at %s ended the process that looked: %w", name, err)
	case errors.Is(err, context.Canceled):
		return b.interrupted()
	case errors.Is(err, dataset.ErrNoDataset) && b.o.dataset != "":
		return fail(exitUsage, "", "%s: --dataset %s: %w", name, b.o.dataset, err)
	case errors.Is(err, dataset.ErrItemShape):
		return fail(exitUsage, "", "%s: %w", name, err)
	case errors.Is(err, dataset.ErrOutside):
		return fail(exitNotMeasured, "add --follow to read what the file names outside of itself", "%s: %w", name, err)
	}
	return fail(exitNotMeasured, "", "%s: %w", name, err)
}
