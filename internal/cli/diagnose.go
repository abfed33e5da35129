package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/footprint"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/launch"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/internal/watch"
	"github.com/pipetune/pipetune/pkg/report"
)

// Bounds of a tick that is not a burden.
const (
	minInterval = 20 * time.Millisecond
	maxInterval = 5 * time.Second
)

type diagnoseOptions struct {
	presentation
	watch.Options
	earlier  baseline
	pid      int
	redact   untrusted.Redaction // as far as flags say
	ownChild bool                // the job was started by this very process, as the demo's is
	metrics  metricsOptions

	// Of a command after --.
	steps     int
	then      string
	sync      bool         // time the methods of Tensor that wait for the GPU
	tune      *tuneOptions // measure settings too; nil: no
	headroom  bool         // hand out the last batches again after the watch, and end the job
	explicit  bool         // the duration was chosen by the person
	ownWarmup bool         // the warm-up was
}

func newDiagnose(env Env, o *diagnoseOptions) *cobra.Command {
	c := &cobra.Command{
		Use:   "diagnose [flags] [-- COMMAND [ARGS]...]",
		Short: "watch a training job, running or started here, and say what holds it back",
		Long: `diagnose watches a running training job from outside: no code change, no root,
no tracing, no signal, no port. It looks at the trainer, its loader workers, the
GPUs, the CPUs, memory and the disks that hold the dataset, then reports what
holds the job back, how sure that is, and what to change to which value.

On a terminal it shows what it takes to be the cause from the tenth second on. A
watch whose length you did not choose ends after 15 s where the verdict is
certain by then, unless -o keeps what it saw. In names of -o %j is the job's id,
%n the rank of the node, %h the host, %p pipetune's process, for one command on
all nodes; pipetune merge joins what they wrote.

Without --pid it takes your own job that uses a GPU, else one that looks like a
training job; where there are several, it asks, or lists them and ends with 3.

With a command after -- it starts the job itself, with a hook on its PYTHONPATH
that tells the times of each step, what an item costs, and the line of your
source that makes the loader; again without a code change. Stdin, stdout,
stderr, signals and exit status are the job's own; the report goes to stderr
when the job has ended. The watch begins with the first batch and lasts to the
job's end, at most 10 minutes; where --duration or --steps says less, the report
comes then, and the job runs on, or is ended with --then terminate. A job that
the hook cannot enter, or one with a loader that is none of torch.utils.data, is
watched from outside. If pipetune is killed the job
runs on. See: pipetune help exit-codes`,
		Example: `  pipetune diagnose
  pipetune diagnose --pid 41207 --duration 60s -o before.json
  pipetune diagnose --batch-size 64 -o run.jsonl -o report.md
  pipetune diagnose -- python train.py --epochs 3
  pipetune diagnose --baseline before.json --gate 5% -- python train.py
  pipetune diagnose --steps 500 --then terminate -- torchrun train.py`,
		Args: o.arguments,
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if o.outputs, err = nodeNames(env, o.outputs); err != nil {
				return err
			}
			o.explicit, o.ownWarmup = c.Flags().Changed("duration"), c.Flags().Changed("warmup")
			if len(args) > 0 && !o.explicit && !o.headroom {
				o.Duration = launchDuration
			}
			if o.headroom && !c.Flags().Changed("then") {
				o.then = thenTerminate
			}
			if !o.ownWarmup {
				o.Warmup = watch.DefaultWarmup(o.Duration)
			}
			if len(args) > 0 {
				return runLaunch(c.Context(), env, o, args)
			}
			return runDiagnose(c.Context(), env, o, c.Flags().Changed("pid"))
		},
	}
	f := c.Flags()
	o.addJobFlags(c)
	f.DurationVar(&o.Duration, "duration", 30*time.Second, "how long to watch, warm-up included; of a command: to "+
		"its end, at most "+launchDuration.String())
	f.DurationVar(&o.Warmup, "warmup", 5*time.Second, "what to drop at the start; a sixth of --duration where that "+
		"is less, and of a short one what leaves "+watch.LeastSteady.String())
	f.DurationVar(&o.Interval, "interval", 100*time.Millisecond, "time between two ticks")
	f.IntVar(&o.steps, "steps", 0, "of a command: watch this many batches after the warm-up, for at least "+
		watch.LeastSteady.String()+" (0: as long as --duration says)")
	f.StringVar(&o.then, "then", thenRun, "of a command, once the watch is over: run lets it run on, terminate ends "+
		"it with SIGTERM")
	f.BoolVar(&o.sync, "sync-points", false, "of a command: time item(), cpu(), tolist() and the like of CUDA "+
		"tensors as well, and name their lines")
	f.BoolVar(&o.headroom, "headroom", false, "of a command: after the watch hand out the last batches again in "+
		"place of the loader's for some seconds, to measure what data for free brings; then end the job")
	o.addFlags(c, ofRecording, ofPatch)
	o.addThreshold(c)
	o.earlier.addFlags(c)
	f.SetInterspersed(false) // what follows a forgotten -- is the command's, not ours
	complete(c, "then", thenRun, thenTerminate)
	return c
}

// addJobFlags gives a command the flags of a job that it finds and watches.
func (o *diagnoseOptions) addJobFlags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&o.pid, "pid", 0, "process to watch: the trainer, one of its workers, or what launched it")
	f.IntVar(&o.BatchSize, "batch-size", 0, "samples per batch, to report samples/s (0: not known)")
	o.addRedaction(c)
	o.metrics.addFlags(c)
	// The training jobs that run are offered. It cannot fail for a flag that was just defined.
	_ = c.RegisterFlagCompletionFunc("pid", func(c *cobra.Command, _ []string, _ string) ([]string,
		cobra.ShellCompDirective) {
		// a shell has nowhere to say why there is none
		found, _ := job.Find(c.Context(), job.Options{UID: os.Geteuid(), Self: os.Getpid()})
		var pids []string
		for _, each := range found {
			pids = append(pids, fmt.Sprintf("%d\t%s", each.Trainer.PID, each.Describe()))
		}
		return pids, cobra.ShellCompDirectiveNoFileComp
	})
}

// addRedaction gives a command the flags of what is not to be told of the job.
func (o *diagnoseOptions) addRedaction(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&o.redact.Off, "no-redact", false, "keep user name, host name, folders and command line as they are")
	f.BoolVar(&o.redact.NoArguments, "no-arguments", false, "keep no arguments of command lines at all")
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 31)
	return err == nil
}

// arguments checks what is not a flag: nothing, or -- and a command.
func (o *diagnoseOptions) arguments(c *cobra.Command, args []string) error {
	const hint = "put -- before the command: pipetune diagnose [flags] -- "
	dash, pid := c.ArgsLenAtDash(), c.Flags().Changed("pid")
	switch {
	case dash < 0 && len(args) == 1 && isNumber(args[0]):
		return fail(exitUsage, "pipetune diagnose --pid "+args[0],
			"unexpected argument %q: a running job is named by --pid", args[0])
	case dash > 0 || dash < 0 && len(args) > 0:
		return fail(exitUsage, hint+strings.Join(slices.DeleteFunc(slices.Clone(args[:min(len(args), 3)]),
			func(s string) bool { return s == "--" }), " ")+" …",
			"unexpected argument %q: diagnose watches a job that runs already, or starts the command after --", args[0])
	case dash == 0 && len(args) == 0:
		return fail(exitUsage, "for example: pipetune diagnose -- python train.py", "there is no command after --")
	case dash == 0 && args[0] == "":
		return fail(exitUsage, "for example: pipetune diagnose -- python train.py", "the command after -- has no name")
	case dash == 0 && pid:
		return fail(exitUsage, "leave out one of them", "--pid watches a job that runs already, and a command after "+
			"-- starts one")
	case dash < 0 && (c.Flags().Changed("steps") || c.Flags().Changed("then") || c.Flags().Changed("sync-points") ||
		c.Flags().Changed("headroom")):
		return fail(exitUsage, "start the job with pipetune: pipetune diagnose --steps 500 -- python train.py",
			"--steps, --then, --sync-points and --headroom need a command after --")
	}
	return nil
}

// watchLonger is the hint where a watch was too short for what was asked of it.
var watchLonger = fmt.Sprintf("watch longer: --duration %.0fs", evidence.AdvisedWatch)

func (o *diagnoseOptions) check(pidGiven bool) error {
	switch {
	case pidGiven && o.pid <= 0:
		return fail(exitUsage, "give the number of the trainer, as ps shows it", "--pid %d: not a process number",
			o.pid)
	case o.Duration < watch.Least:
		return fail(exitUsage, watchLonger, "--duration %s: at least %s is needed, %s of it after the warm-up",
			o.Duration, watch.Least, watch.LeastSteady)
	case o.Warmup < 0:
		return fail(exitUsage, "", "--warmup %s: must not be negative", o.Warmup)
	case o.Warmup > o.Duration-watch.LeastSteady:
		return fail(exitUsage, "", "--warmup %s: must leave at least %s of --duration %s", o.Warmup, watch.LeastSteady,
			o.Duration)
	case o.Interval < minInterval || o.Interval > maxInterval:
		return fail(exitUsage, "", "--interval %s: must be between %s and %s", o.Interval, minInterval, maxInterval)
	case o.steps < 0:
		return fail(exitUsage, "", "--steps %d: must not be negative", o.steps)
	case o.then != "" && o.then != thenRun && o.then != thenTerminate:
		return fail(exitUsage, "", "--then %q: must be one of %s, %s", o.then, thenRun, thenTerminate)
	case o.headroom && o.then != thenTerminate:
		return fail(exitUsage, "leave out --then", "--headroom ends the job: it has trained on the same batches "+
			"again and again, so it cannot go on as --then %s asks", o.then)
	case o.BatchSize < 0:
		return fail(exitUsage, "", "--batch-size %d: must not be negative", o.BatchSize)
	}
	return nil
}

// ready checks everything before anything is measured.
func (o *diagnoseOptions) ready(pidGiven bool) error {
	if err := o.check(pidGiven); err != nil {
		return err
	}
	if err := o.presentation.check(); err != nil {
		return err
	}
	return o.earlier.check(o.chosen, o.strict)
}

// runDiagnose is the whole command: check, find, watch, judge, show.
func runDiagnose(ctx context.Context, env Env, o *diagnoseOptions, pidGiven bool) error {
	if err := o.ready(pidGiven); err != nil {
		return err
	}
	meter, err := o.metrics.open(env)
	if err != nil {
		return err
	}
	defer meter.close()
	asked, stop := handleRequests(env)
	defer stop()
	rec, recErr := record(ctx, env, o, meter, asked)
	if rec == nil {
		return recErr
	}
	r, err := rules.Judge(rec)
	if err != nil {
		return fail(exitNotMeasured, "watch longer, or while the job is in its training loop", "%w", err)
	}
	meter.end(r)
	if o.ownChild { // its files are gone with the demo
		r.Next = slices.DeleteFunc(r.Next, func(command string) bool {
			return strings.HasPrefix(command, "pipetune bench-io ")
		})
	}
	err = o.show(env, r, rec)
	if compared := o.compared(env, r); compared != nil {
		complain(env.Stderr, err)
		err = compared
	}
	if err != nil {
		complain(env.Stderr, recErr)
		return err
	}
	return recErr
}

// compared prints how the report compares with the baseline, and says which exit code that leads to.
func (o *diagnoseOptions) compared(env Env, r *report.Report) error {
	c, err := o.earlier.against(r)
	if c == nil {
		return err
	}
	if err := o.printComparison(env.Stdout, env.StdoutTerminal, env, c); err != nil {
		return err
	}
	return o.earlier.exit(c)
}

// record finds the job and watches it. A recording comes back even where writing it to its file failed; then the error
// says so.
func record(ctx context.Context, env Env, o *diagnoseOptions, m *meter, asked <-chan os.Signal) (
	*recording.Recording, error) {
	isolate.RaiseOOMScore()
	if err := roomFor("diagnose", footprint.WatchRoom); err != nil {
		return nil, err
	}
	s, err := newSession(ctx, env, o, asked)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	select {
	case sig := <-asked:
		return nil, unmeasured(sig)
	default:
	}
	s.meter = m
	o.Asked, o.MayEnd = asked, !o.explicit && len(o.outputs) == 0 && !o.ownChild
	return s.record(ctx, o)
}

// roomFor refuses where the memory that is left might not do for a command.
func roomFor(command string, need int64) error {
	if err := footprint.RoomFor(procfs.FS{}, os.Getpid(), command, need); err != nil {
		return fail(exitNotMeasured, "run it outside of the job's control group, on the host or in a container of its "+
			"own, or raise the limit", "%w", err)
	}
	return nil
}

// record watches the job, and writes the recording to the output that takes it.
func (s *session) record(ctx context.Context, o *diagnoseOptions) (*recording.Recording, error) {
	var file *saved.Recording
	var writer *recording.Writer
	path := ""
	if i := slices.IndexFunc(o.outs, func(out output) bool { return out.recording }); i >= 0 {
		path = o.outs[i].path
		var err error
		if file, err = saved.CreateRecording(path); err != nil {
			return nil, fail(exitUsage, "choose a folder you may write to", "-o %s: %w", path, err)
		}
		writer = recording.NewWriter(file)
	}
	rec, err := s.watch(ctx, o, writer)
	if cut := s.cutShort(rec); cut != nil {
		rec, err = nil, cut
	}
	if file == nil {
		return rec, err
	}
	if rec == nil || rec.End.Reason == launch.Again {
		if dropErr := file.Drop(); dropErr != nil {
			note(s.env.Stderr, "removing the empty recording: "+dropErr.Error())
		}
		return rec, err
	}
	var kept *saved.KeptError
	switch err := file.Finish(); {
	case errors.As(err, &kept):
		return rec, fail(exitUsage, fmt.Sprintf("what was recorded until then is in %s, and `pipetune report` reads it",
			kept.Kept), "-o %s: %w", path, err)
	case err != nil:
		return rec, fail(exitUsage, "", "-o %s: %w", path, err)
	}
	return rec, nil
}
