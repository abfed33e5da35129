package cli

import (
	"context"
	"time"

	"github.com/pipetune/pipetune/internal/host"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/sampler"
)

// How pipetune came to the job, as recordings name it.
const (
	modeAttach = "attach"
	modeLaunch = "launch"
)

// header describes the machine and the job at the start. What could not be read comes as notes for the recording.
func (s *session) header(ctx context.Context, o *diagnoseOptions, start time.Time) (recording.Header, []host.Note,
	error) {
	machine, notes, err := host.Describe(ctx, host.Options{FS: s.fs, Target: s.target(), Paths: s.paths,
		Redaction: s.redact})
	if err != nil {
		return recording.Header{}, nil, fail(exitNotMeasured, "the job may have ended", "%w", err)
	}
	mode := modeAttach
	if s.launched != nil {
		mode = modeLaunch
	}
	return recording.Header{
		Tool: tool(), StartedAt: start.UTC().Round(time.Millisecond),
		StartMonotonic: monotonicNow() - time.Since(start), Mode: mode, Interval: o.interval,
		SampleInterval: sampler.SampleInterval, Warmup: o.warmup, BatchSize: o.batchSize, Redacted: !o.noRedact,
		Host: machine, Job: s.job.Header(),
	}, notes, nil
}
