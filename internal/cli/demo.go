package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/demo"
	"github.com/pipetune/pipetune/internal/watch"
)

type demoOptions struct {
	diagnoseOptions
	python string
}

func newDemo(env Env) *cobra.Command {
	o := &demoOptions{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "a small real training job with a planted fault, diagnosed",
		Long: `demo makes a small HDF5 dataset in a temporary folder, starts a real PyTorch job
on it that opens the file anew for every item, watches that job, reports, and
cleans up. It needs a Python with torch and h5py, no GPU.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return runDemo(c.Context(), env, o) },
	}
	c.Flags().DurationVar(&o.Duration, "duration", 15*time.Second, "how long to watch")
	c.Flags().StringVar(&o.python, "python", "", "the interpreter to use (default: the first of "+
		strings.Join(demo.Interpreters, ", ")+" that has torch and h5py)")
	o.Interval = 100 * time.Millisecond
	o.addFlags(c, ofRecording)
	return c
}

func runDemo(ctx context.Context, env Env, o *demoOptions) (err error) {
	o.Warmup = watch.DefaultWarmup(o.Duration)
	if err := o.ready(false); err != nil { // before a job is started for it
		return err
	}
	python, err := demo.FindPython(o.python)
	if err != nil {
		return fail(exitNotMeasured, "on Debian or Ubuntu: sudo apt-get install python3-torch python3-h5py; else: "+
			"pip install torch h5py", "%w", err)
	}
	folder, err := os.MkdirTemp("", "pipetune-demo-")
	if err != nil {
		return fail(exitNotMeasured, "set TMPDIR to a folder you may write to", "making a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	note(env.Stderr, "starting "+python+" train.py: 1 worker, an HDF5 file reopened for every item")
	job, err := demo.Start(python, folder)
	if err != nil {
		return fail(exitNotMeasured, "", "%w", err)
	}
	defer job.End()
	o.pid, o.ownChild = job.PID(), true
	return runDiagnose(ctx, env, &o.diagnoseOptions, true)
}
