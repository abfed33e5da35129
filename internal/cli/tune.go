package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/launch"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/tune"
	"github.com/pipetune/pipetune/internal/watch"
	"github.com/pipetune/pipetune/pkg/report"
)

type tuneOptions struct {
	budget     time.Duration
	batchSizes []int
}

const (
	tuneWatch   = 15 * time.Second // of the loop as it is
	leastTuning = 30 * time.Second
)

func newTune(env Env) *cobra.Command {
	o := &diagnoseOptions{Options: watch.Options{Interval: 100 * time.Millisecond}, headroom: true, then: thenTerminate,
		explicit: true, tune: &tuneOptions{}}
	c := &cobra.Command{
		Use:   "tune [flags] -- COMMAND [ARGS]...",
		Short: "measure settings of the DataLoader in the job itself, and name the smallest that is fast",
		Long: `tune starts a training job and measures, with no change of code: the loop as it
is, the loop with data for free, settings of the DataLoader on their own, each
over the same dataset, sampler, collate_fn and worker_init_fn, and the best two
in the loop. Then the job is ended with SIGTERM: it has trained on the same
batches again and again, and its samplers were used up, so what it has learned
is not valid. Give it an output folder that may be thrown away.

It tries num_workers, persistent_workers, pin_memory and prefetch_factor, keeps
to the usable CPUs, the memory and /dev/shm, and stops at --budget. The choice
is the smallest setting within 3 % of the best; "nothing to gain" is an answer.
With Ctrl-C what was learned so far is reported.`,
		Example: `  pipetune tune -- python train.py
  pipetune tune --budget 5m -o tune.json -o fix.patch -- python train.py
  pipetune tune --batch-sizes 32,64 -- python train.py`,
		Args: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() != 0 || len(args) == 0 || args[0] == "" {
				return fail(exitUsage, "for example: pipetune tune -- python train.py",
					"tune starts the command after --, and there is none")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.Warmup = watch.DefaultWarmup(o.Duration)
			if err := o.tune.check(); err != nil {
				return err
			}
			return runLaunch(c.Context(), env, o, args)
		},
	}
	f := c.Flags()
	f.DurationVar(&o.tune.budget, "budget", 3*time.Minute, "how long to measure settings, from the end of the first "+
		"watch on")
	f.DurationVar(&o.Duration, "duration", tuneWatch, "how long to watch the loop as it is, warm-up included")
	f.IntSliceVar(&o.tune.batchSizes, "batch-sizes", nil, "also measure these batch sizes in the loop; none of them "+
		"is chosen, since they change training")
	o.addRedaction(c)
	o.addFlags(c, ofRecording, ofPatch)
	f.SetInterspersed(false)
	return c
}

func (o *tuneOptions) check() error {
	if o.budget < leastTuning {
		return fail(exitUsage, "", "--budget %s: at least %s is needed", o.budget, leastTuning)
	}
	if slices.ContainsFunc(o.batchSizes, func(n int) bool { return n < 1 }) {
		return fail(exitUsage, "", "--batch-sizes: must be above 0")
	}
	return nil
}

// spoiled is said before a job is started that is going to be tuned.
const spoiled = "tune hands the job other batches than it asks for, and ends it with SIGTERM: what it trains is not " +
	"valid, nor is a checkpoint that it writes meanwhile or as it ends. Give it an output folder that may be thrown " +
	"away"

// tuned measures settings in the job that was watched, and says what came of it.
func (l *launched) tuned(rec *recording.Recording) *report.Tuning {
	begun := time.Now()
	out := &report.Tuning{Outcome: report.TuningNone, Rows: []report.TuningRow{}, BudgetS: l.o.tune.budget.Seconds()}
	e, err := evidence.FromRecording(rec)
	if err == nil && !l.Interrupted() {
		var bench *launch.Bench
		if bench, err = l.Bench(); err == nil {
			err = tune.Measure(e, bench, tune.Job{Now: bench.Now(), Epoch: bench.Loader.Batches,
				Batches: l.o.tune.batchSizes, Left: func() time.Duration {
					return l.o.tune.budget - time.Since(begun)
				}}, bench.Gone, out)
		}
	}
	switch {
	case l.Interrupted() && len(out.Rows) == 0:
		out.Statement = "It was interrupted before a setting was measured."
	case err != nil:
		out.Statement = "No setting was measured: " + err.Error() + "."
	}
	out.SpentS = time.Since(begun).Seconds()
	return out
}
