package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/benchrun"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/footprint"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/probe"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// leastBudget is the shortest run that leaves each probe a few rounds.
const leastBudget = 2 * time.Second

// longestTime bounds a step and an item's transforms: what is longer is a slip of the unit.
const longestTime = time.Hour

type benchOptions struct {
	presentation
	benchrun.Options // its path as it was given
	itemShape        string
	python           string
	list             bool
}

func newBench(env Env) *cobra.Command {
	o := &benchOptions{}
	c := &cobra.Command{
		Use:   "bench-io PATH",
		Short: "measure how fast a dataset can be opened, read and decoded here, and why not faster",
		Long: `bench-io measures what opening, reading and decoding one item of a dataset costs
here: cold and warm, in sequence and at random, in one worker process and in
several; what the storage could give at best; and what in the files' layout is
in the way. PATH is an HDF5 file or a folder of them, a folder of pictures, a
.npy file, WebDataset .tar files, or any other file, which is read as raw bytes.

It only reads. Files are opened in child processes with limits, so that a broken
file or a dead mount costs one child. Cold reads drop the sampled files from the
page cache, need no root, and are called cold only where that was verified.
--try rewrites a sample of at most 256 MiB in --scratch to measure what another
layout would bring, and removes it again.

The figures are those of this machine with what else runs on it: measure on the
node of the training, under the same CPU and memory limits. A ~ marks a figure
whose 95 % interval is wider than ±5 %; a larger --budget narrows it. --list
shows the plan and measures nothing.`,
		Example: `  pipetune bench-io /data/train.h5
  pipetune bench-io /data/train.h5 --try --budget 2m -o bench.md -o bench.json
  pipetune bench-io /data/imagenet/train --batch-size 64 -o bench.md
  pipetune bench-io /data/train.h5 --step-time 30ms --transform-time 2ms
  pipetune bench-io /data/train.h5 --compare-path /dev/shm
  pipetune bench-io /data/train.h5 --list`,
		Args: expect(func(args []string) bool { return len(args) == 1 && args[0] != "" },
			"give the file or folder that the training reads: pipetune bench-io PATH", "bench-io takes one path"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Path = args[0]
			if !c.Flags().Changed("seed") {
				o.Seed = uint64(rand.Uint32()) // short enough to be typed again
			}
			return runBench(c.Context(), env, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Look.Dataset, "dataset", "", "HDF5: `NAME` of the dataset to read, as /x, or as /*/x of those "+
		"that are an item each (default: the one training most likely reads)")
	f.StringVar(&o.itemShape, "item-shape", "", "HDF5: read patches of this `SHAPE`, such as 1x224x224x3 (default: "+
		"one index of the first axis)")
	f.Int64Var(&o.Look.BlockBytes, "block-bytes", dataset.DefaultBlockBytes, "raw bytes: size of what is read at once")
	f.DurationVar(&o.Budget, "budget", probe.DefaultBudget, "how long to measure, at the most")
	f.Uint64Var(&o.Seed, "seed", 0, "of the random order and the sample (default: drawn, and said in the report)")
	f.IntVar(&o.MaxWorkers, "workers", 0, "measure up to this many worker processes (0: by the usable CPUs)")
	f.IntVar(&o.BatchSize, "batch-size", 0, "also measure gathering a whole batch of this many items, and predict a "+
		"DataLoader with it (default there: 32)")
	f.DurationVar(&o.Step, "step-time", 0, "how long the training's step takes with its data at hand, such as 30ms: "+
		"for the predicted DataLoader")
	f.DurationVar(&o.Transform, "transform-time", 0, "CPU time of the training's own transforms per item, such as "+
		"2ms: for the predicted DataLoader")
	f.StringVar(&o.python, "python", "auto", "`INTERPRETER` whose libraries are timed on the same files; auto: that "+
		"of a running job, else python3; none")
	f.BoolVar(&o.Try, "try", false, "rewrite a sample into other layouts and measure each")
	f.StringVar(&o.Scratch, "scratch", "", "`FOLDER` for --try (default: TMPDIR or /tmp)")
	f.StringVar(&o.Other, "compare-path", "", "copy the sample to this `FOLDER` (tmpfs, NVMe, NFS) and measure it "+
		"there as well")
	f.BoolVar(&o.Look.Follow, "follow", false, "HDF5: follow external links, external storage and virtual datasets")
	f.BoolVar(&o.NoCold, "no-cold", false, "leave the page cache alone: no cold reads")
	f.BoolVar(&o.list, "list", false, "show what would be measured, and do not measure")
	f.BoolVar(&o.Redact.Off, "no-redact", false, "keep user name, host name and folders as they are")
	o.addFlags(c)
	return c
}

func (o *benchOptions) check() error {
	switch {
	case o.Budget < leastBudget:
		return fail(exitUsage, "the default is 60s", "--budget %s: at least %s is needed", o.Budget, leastBudget)
	case o.MaxWorkers < 0:
		return fail(exitUsage, "", "--workers %d: must not be negative", o.MaxWorkers)
	case o.MaxWorkers > 256:
		return fail(exitUsage, "", "--workers %d: at most 256", o.MaxWorkers)
	case o.BatchSize < 0:
		return fail(exitUsage, "", "--batch-size %d: must not be negative", o.BatchSize)
	case o.Step < 0 || o.Step > longestTime:
		return fail(exitUsage, "give the time of one step: --step-time 30ms",
			"--step-time %s: must be between 0s and %s", o.Step, longestTime)
	case o.Transform < 0 || o.Transform > longestTime:
		return fail(exitUsage, "give the time for one item: --transform-time 2ms",
			"--transform-time %s: must be between 0s and %s", o.Transform, longestTime)
	case o.Look.BlockBytes < 512 || o.Look.BlockBytes > 256<<20:
		return fail(exitUsage, "", "--block-bytes %d: must be between 512 and 268435456", o.Look.BlockBytes)
	case o.Scratch != "" && !o.Try:
		return fail(exitUsage, "add --try", "--scratch %s: nothing is written without --try", o.Scratch)
	}
	var err error
	o.Look.ItemShape, err = parseShape(o.itemShape)
	return err
}

// parseShape reads a shape such as 1x224x224x3; "" is none.
func parseShape(text string) ([]int64, error) {
	if text == "" {
		return nil, nil
	}
	var shape []int64
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == 'x' || r == ',' }) {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n < 1 {
			return nil, fail(exitUsage, "write the length of each axis: 1x224x224x3",
				"--item-shape %q: %q is no length", text, part)
		}
		shape = append(shape, n)
	}
	if len(shape) == 0 || len(shape) > 32 { // 32 axes is HDF5's own limit, H5S_MAX_RANK
		return nil, fail(exitUsage, "write the length of each axis: 1x224x224x3",
			"--item-shape %q: between 1 and 32 axes", text)
	}
	return shape, nil
}

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
	if err := o.presentation.check(); err != nil {
		return err
	}
	for _, out := range o.outs {
		if out.recording {
			return fail(exitUsage, "write the report: -o bench.json; pipetune report shows it again",
				"-o %s: bench-io makes no recording", out.path)
		}
	}
	isolate.RaiseOOMScore()
	if err := roomFor("bench-io", footprint.BenchRoom); err != nil {
		return err
	}
	options := o.Options
	options.Tool, options.Redact = ofTool(), redaction(env, o.Redact)
	var err error
	if options.Path, err = filepath.Abs(o.Path); err != nil {
		return fail(exitUsage, "give an absolute path", "%s: %w", o.Path, err)
	}
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
		if _, err := fmt.Fprint(env.Stdout, benchPlan(b.Title(), b.Plan(), o.Budget)); err != nil {
			return fail(exitUsage, "", "writing: %w", err)
		}
		return nil
	}
	progress := newProgress(env, o.quiet, o.Budget, benchProgress())
	done := progress.follow()
	r, err := b.Measure(ctx, func(s probe.Step, elapsed time.Duration) { progress.step(s.What, elapsed) })
	done()
	if err != nil {
		return b.nothingMeasured(ctx, err)
	}
	return o.show(env, r, nil)
}

// prepare does all that comes before measuring: what is wrong here ends the command at once.
func (b *bench) prepare(ctx context.Context) (err error) {
	for _, f := range []struct{ flag, path string }{{"--scratch", b.o.Scratch}, {"--compare-path", b.o.Other}} {
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
	done := newProgress(b.env, b.o.quiet, b.SurveyLimit(), surveyProgress()).follow()
	err = b.Survey(ctx)
	done()
	if err != nil {
		return b.surveyFailure(err)
	}
	if err := b.Describe(ctx); err != nil {
		return fail(exitNotMeasured, "mount /proc", "%w", err)
	}
	b.Python, err = benchrun.Interpreter(ctx, b.o.python)
	if ctx.Err() != nil {
		return b.interrupted()
	}
	if err != nil {
		return fail(exitUsage, "give the interpreter your training uses, or --python none", "--python %s: %w",
			b.o.python, err)
	}
	if b.Python == nil && b.o.python == "auto" && !b.o.quiet {
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
	return fail(exitNotMeasured, "pipetune doctor says what can be seen here", "%s: %s", untrusted.Path(b.o.Path,
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
	name := untrusted.Path(b.o.Path, b.Redact)
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
	case errors.Is(err, dataset.ErrNoDataset) && b.o.Look.Dataset != "":
		return fail(exitUsage, "", "%s: --dataset %s: %w", name, b.o.Look.Dataset, err)
	case errors.Is(err, dataset.ErrItemShape):
		return fail(exitUsage, "", "%s: %w", name, err)
	case errors.Is(err, dataset.ErrOutside):
		return fail(exitNotMeasured, "add --follow to read what the file names outside of itself", "%s: %w", name, err)
	}
	return fail(exitNotMeasured, "", "%s: %w", name, err)
}

// benchPlan is the text of --list: the dataset, then what would be measured, in order, each with its share of the
// budget. A probe's name stands where its first step does.
func benchPlan(title string, steps []probe.Step, budget time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nup to %s would be measured, in this order:\n", untrusted.Sanitize(title), seconds(budget))
	names := 0
	for _, s := range steps {
		names = max(names, len(s.Probe))
	}
	last := ""
	for _, s := range steps {
		name := s.Probe
		if name == last {
			name = ""
		}
		last = s.Probe
		fmt.Fprintf(&b, "  %6s  %-*s  %s\n", seconds(s.Budget), names, untrusted.Sanitize(name),
			untrusted.Sanitize(s.What))
	}
	if len(steps) == 0 {
		b.WriteString("  nothing\n")
	}
	return b.String()
}

// seconds writes a share of the budget: tenths where it is short, so that no share comes out as nothing.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
