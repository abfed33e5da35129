// Package sampler watches passively: each sampler turns readings of one source into named signals, tick by tick.
//
// A sampler promises to be cheap, never to block the tick, to record counters raw, and to say what it could not read
// and why. It refuses to judge, to compute percentages, and to report 0 for "unknown".
package sampler

import (
	"context"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// Sampler reads one source. Sample is called from one goroutine, about every Every(); a sampler that needs its own pace
// (samples of threads, NVML) runs a goroutine that Start began and that ends with ctx, and hands over in Sample what it
// has gathered.
type Sampler interface {
	// Name is the sampler's name, one word: "cpu", "disk", ….
	Name() string
	// Every is the time between two calls of Sample.
	Every() time.Duration
	// Start prepares the sampler. What cannot be read is reported to sink with its cure; an error means the sampler is
	// of no use here and will not be asked again.
	Start(ctx context.Context, sink recording.Sink) error
	// Sample records what is there now.
	Sample(ctx context.Context, sink recording.Sink)
	// Close gives back descriptors and ends goroutines. It waits for nothing that may hang.
	Close()
}

// steady is the name of a sampler and its pace, where that does not change.
type steady struct {
	name  string
	every time.Duration
}

// Name implements Sampler.
func (s steady) Name() string { return s.name }

// Every implements Sampler.
func (s steady) Every() time.Duration { return s.every }

// Start implements Sampler for those that find out with each process what cannot be read.
func (s steady) Start(context.Context, recording.Sink) error { return nil }

func addKnown[T int64 | float64](sink recording.Sink, d metric.Desc, entity string, v procfs.Optional[T]) {
	if x, ok := v.Get(); ok {
		sink.Add(d, entity, float64(x))
	}
}

// ofProcess reads something of this very process, never of one that took over its number.
func ofProcess[T any](fs procfs.FS, id procfs.ID, read func(*procfs.Process) (T, error)) (value T, err error) {
	p, err := fs.OpenID(id)
	if err != nil {
		return value, err
	}
	defer p.Close()
	return read(p)
}
