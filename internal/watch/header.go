package watch

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/host"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/sampler"
)

// header describes the machine and the job at the start. What could not be read comes as notes for the recording.
func (w *watch) header(ctx context.Context) (recording.Header, []host.Note, error) {
	machine, notes, err := host.Describe(ctx, host.Options{FS: w.fs, Target: w.Target(), Paths: w.Paths,
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
		StartMonotonic: monotonicNow() - time.Since(w.start), Mode: mode, Interval: w.Interval,
		SampleInterval: sampler.SampleInterval, Warmup: w.Warmup, BatchSize: w.BatchSize, Redacted: !w.redact.Off,
		Host: machine, Job: w.Job.Header(),
	}, notes, nil
}

// monotonicNow is CLOCK_MONOTONIC, which other programs on this machine read too.
func monotonicNow() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
