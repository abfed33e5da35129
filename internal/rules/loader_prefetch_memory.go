package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var queueMemory = threshold("queue over available memory", diagnose.MemoryShare.Value, metric.Ratio,
	diagnose.MemoryShare.Source)

var loaderPrefetchMemory = diagnose.Rule{
	ID:      "loader/prefetch-memory",
	Title:   "The queue of finished batches takes much memory",
	Needs:   []metric.Desc{metric.NumWorkers, metric.BatchBytes, metric.Available},
	Limits:  []diagnose.Limit{queueMemory},
	Applies: withWorkers,
	Eval: func(p *diagnose.Pass) {
		f, workers, batch, room := p.Facts.Prefetch, p.Get(metric.NumWorkers), p.Get(metric.BatchBytes),
			p.Get(metric.Available)
		const deepest = 16 // deeper ones are not seen in the field; where even that fits, the factor need not be known
		if workers*loaders(p)*(deepest+1)*batch < p.Limit(queueMemory)*room {
			return
		}
		if f == nil {
			p.Abstain("prefetch_factor was not observed: the loader was never far enough ahead to fill its queue",
				"watch longer, or once the job is no longer input-bound")
			return
		}
		queue := workers * loaders(p) * float64(*f+1) * batch
		const usual = predict.DefaultPrefetch
		if room <= 0 || queue < p.Limit(queueMemory)*room || *f <= usual {
			return
		}
		p.Report(report.Finding{
			Severity: report.Warning,
			Score:    shmStake.Value * share(queue/room) / 2, // as memory/shm-too-small: it costs the job, not time
			Summary: fmt.Sprintf("%s with prefetch_factor %d%s may hold %s of finished batches; %s of memory can "+
				"still be used", count(workers, "worker"), *f, inEachTrainer(p), unit.Bytes(queue), unit.Bytes(room)),
			Evidence: seen(p, metric.NumWorkers, metric.BatchBytes, metric.Available, metric.QueueCapacity),
			Recommendations: []report.Recommendation{{Setting: "prefetch_factor", From: fromFact(f), To: whole(usual),
				Why: fmt.Sprintf("the queue then takes at most %s", unit.Bytes(workers*loaders(p)*(usual+1)*batch))}},
		})
	},
}
