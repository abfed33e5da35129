package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var queueMemory = diagnose.Limit{Name: "queue over available memory", Value: 0.5, Unit: metric.Ratio,
	Source: "TensorFlow root_dataset: tf.data's autotuner gives its buffers half of the available RAM"}

var loaderPrefetchMemory = diagnose.Rule{
	ID:    "loader/prefetch-memory",
	Title: "The queue of finished batches takes much memory",
	Doc: `
## What it means
Up to num_workers times prefetch_factor finished batches, and one being made per worker, lie in shared memory, for each trainer. They are as large as the
report says and count against the job's memory limit.

## How it is detected
That product, with the batch size seen in /dev/shm, is more than half of the memory that can still be used. From outside prefetch_factor shows only once the queue is
full; a launched job tells it.

## How to mend it
Lower prefetch_factor to PyTorch's default of 2. A deeper queue smooths variance and does not raise the mean rate.

## When it is wrong
Batches that differ in size: the median batch was taken.
`,
	Needs:   []metric.Desc{metric.NumWorkers, metric.BatchBytes, metric.Available},
	Limits:  []diagnose.Limit{queueMemory},
	Applies: withWorkers,
	Eval: func(p *diagnose.Pass) error {
		f := p.Evidence.Facts.Prefetch
		const deepest = 16 // deeper ones are not seen in the field; where even that fits, the factor need not be known
		if p.Get(metric.NumWorkers)*trainers(p)*(deepest+1)*p.Get(metric.BatchBytes) < p.Limit(queueMemory.Name)*p.Get(metric.Available) {
			return nil
		}
		if f == nil {
			p.Abstain("prefetch_factor was not observed: the loader was never far enough ahead to fill its queue", "watch longer, or once the job is no longer input-bound")
			return nil
		}
		workers, batch, room := p.Get(metric.NumWorkers), p.Get(metric.BatchBytes), p.Get(metric.Available)
		queue := workers * trainers(p) * float64(*f+1) * batch
		const usual = 2 // PyTorch's default
		if room <= 0 || queue < p.Limit(queueMemory.Name)*room || *f <= usual {
			return nil
		}
		p.Report(report.Finding{
			Severity: report.Warning,
			Score:    shmStake.Value * share(queue/room) / 2, // as memory/shm-too-small: it costs the job, not time
			Summary: fmt.Sprintf("%s with prefetch_factor %d%s may hold %s of finished batches; %s of memory can still be used",
				count(workers, "worker"), *f, inEachTrainer(p), unit.Bytes(queue), unit.Bytes(room)),
			Evidence: seen(p, metric.NumWorkers, metric.BatchBytes, metric.Available, metric.QueueCapacity),
			Recommendations: []report.Recommendation{{Setting: "prefetch_factor", From: fromFact(f), To: "2",
				Why: fmt.Sprintf("the queue then takes at most %s", unit.Bytes(workers*trainers(p)*(usual+1)*batch))}},
		})
		return nil
	},
}
