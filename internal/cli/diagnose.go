package cli

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/recording"
)

// Bounds of what can be asked for: the shortest watch that leaves the six windows of a second a 95 % interval of a median needs, and a
// tick that is not a burden.
const (
	minDuration = 6 * time.Second
	minSteady   = 5 * time.Second // of it after the warm-up
	minInterval = 20 * time.Millisecond
	maxInterval = 5 * time.Second
)

type diagnoseOptions struct {
	presentation
	pid       int
	duration  time.Duration
	warmup    time.Duration
	interval  time.Duration
	batchSize int
	noRedact  bool
	noArgs    bool
	ownChild  bool // the job was started by this very process, as the demo's is
}

func newDiagnose(env Env) *cobra.Command { return newDiagnoseWith(env, &diagnoseOptions{}) }

func newDiagnoseWith(env Env, o *diagnoseOptions) *cobra.Command {
	c := &cobra.Command{
		Use:   "diagnose",
		Short: "watch a running training job and tell what holds it back",
		Long: `diagnose watches a running training job from outside: no code change, no root, no
tracing, no signal, no port. It looks at the trainer, its loader workers, the
GPUs, the CPUs, memory and the disks that hold the dataset, then reports what
holds the job back, how sure that is, and what to change to which value.

Without --pid it takes your own job that uses a GPU, else one that looks like a
training job; where there are several, it asks, or lists them and ends with 3.`,
		Example: `  pipetune diagnose
  pipetune diagnose --pid 41207 --duration 60s -o before.json
  pipetune diagnose --batch-size 64 -o run.jsonl -o report.md`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fail(exitUsage, "start the job yourself, then: pipetune diagnose --pid PID", "unexpected argument %q: diagnose watches a job that runs already", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := fromEnvironment(c.Flags(), env.Getenv); err != nil {
				return err
			}
			if !c.Flags().Changed("warmup") {
				o.warmup = defaultWarmup(o.duration)
			}
			return runDiagnose(c.Context(), env, o, c.Flags().Changed("pid"))
		},
	}
	f := c.Flags()
	f.IntVar(&o.pid, "pid", 0, "process to watch: the trainer, one of its workers, or what launched it")
	f.DurationVar(&o.duration, "duration", 30*time.Second, "how long to watch, warm-up included")
	f.DurationVar(&o.warmup, "warmup", 5*time.Second, "what to drop at the start; a sixth of --duration where that is less")
	f.DurationVar(&o.interval, "interval", 100*time.Millisecond, "time between two ticks")
	f.IntVar(&o.batchSize, "batch-size", 0, "samples per batch, to report samples/s (0: not known)")
	f.BoolVar(&o.noRedact, "no-redact", false, "keep user name, host name, folders and command line as they are")
	f.BoolVar(&o.noArgs, "no-arguments", false, "keep no arguments of command lines at all")
	o.addFlags(c)
	return c
}

// defaultWarmup is 5 s, or less where a short watch would lose too much by it.
func defaultWarmup(duration time.Duration) time.Duration { return min(5*time.Second, duration/6) }

func (o *diagnoseOptions) check(pidGiven bool) error {
	switch {
	case pidGiven && o.pid <= 0:
		return fail(exitUsage, "give the number of the trainer, as ps shows it", "--pid %d: not a process number", o.pid)
	case o.duration < minDuration:
		return fail(exitUsage, "", "--duration %s: at least %s is needed, for six windows of a second", o.duration, minDuration)
	case o.warmup < 0:
		return fail(exitUsage, "", "--warmup %s: must not be negative", o.warmup)
	case o.warmup > o.duration-minSteady:
		return fail(exitUsage, "", "--warmup %s: must leave at least %s of --duration %s", o.warmup, minSteady, o.duration)
	case o.interval < minInterval || o.interval > maxInterval:
		return fail(exitUsage, "", "--interval %s: must be between %s and %s", o.interval, minInterval, maxInterval)
	case o.batchSize < 0:
		return fail(exitUsage, "", "--batch-size %d: must not be negative", o.batchSize)
	}
	return nil
}

// runDiagnose is the whole command: check, find, watch, judge, show.
func runDiagnose(ctx context.Context, env Env, o *diagnoseOptions, pidGiven bool) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if err := o.check(pidGiven); err != nil {
		return err
	}
	format, outs, err := o.presentation.check()
	if err != nil {
		return err
	}
	for _, out := range outs {
		if err := out.check(); err != nil {
			return err
		}
	}
	signals, stop := env.Signals()
	defer stop()
	rec, recErr := record(ctx, env, o, outs, signals)
	if rec == nil {
		return recErr
	}
	r, err := judge(rec)
	if err != nil {
		return fail(exitNotMeasured, "watch longer, or while the job is in its training loop", "%w", err)
	}
	if err := o.show(env, r, format, outs); err != nil {
		complain(env.Stderr, recErr)
		return err
	}
	return recErr
}

// record finds the job and watches it. A recording comes back even where writing it to its file failed; then the error says so.
func record(ctx context.Context, env Env, o *diagnoseOptions, outs []output, signals <-chan os.Signal) (*recording.Recording, error) {
	s, err := newSession(ctx, env, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if interruptedAlready(signals) {
		return nil, fail(exitInterrupted, "", "interrupted before anything was measured")
	}
	var file *recordingFile
	var writer *recording.Writer
	for _, out := range outs {
		if out.recording {
			if file, err = createRecording(out.path); err != nil {
				return nil, err
			}
			writer = recording.NewWriter(file)
		}
	}
	rec, err := s.watch(ctx, o, writer, signals)
	if file == nil {
		return rec, err
	}
	if rec == nil {
		if dropErr := file.drop(); dropErr != nil {
			note(env.Stderr, "removing the empty recording: "+dropErr.Error())
		}
		return nil, err
	}
	return rec, file.finish()
}

func interruptedAlready(signals <-chan os.Signal) bool {
	select {
	case <-signals:
		return true
	default:
		return false
	}
}
