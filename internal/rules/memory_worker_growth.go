package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	growthSeen = threshold("growth of a worker seen in the window", 64<<20, metric.Bytes,
		"derived: allocators ask for memory in arenas of up to 64 MiB (glibc HEAP_MAX_SIZE), so less may be one arena")
	growthTime = threshold("time until memory is full", 24*3600, metric.Seconds,
		"a choice: a training run often lasts a day")
)

var memoryWorkerGrowth = diagnose.Rule{
	ID:    "memory/worker-growth",
	Title: "The workers' memory grows",
	Needs: []metric.Desc{metric.WorkerGrowth, metric.NumWorkers, metric.Available, metric.WindowTime,
		metric.BatchesPerS},
	Limits:  []diagnose.Limit{growthSeen, growthTime, shmStake},
	Applies: withWorkers,
	Eval: func(p *diagnose.Pass) {
		if p.OrZero(metric.Restarts) >= 1 || p.Get(metric.BatchesPerS) <= 0 {
			return // workers that end give their memory back, and workers that deliver nothing yet are still loading
		}
		each := p.Get(metric.WorkerGrowth)
		all := each * p.Get(metric.NumWorkers) * loaders(p)
		if all <= 0 || each*p.Get(metric.WindowTime) < p.Limit(growthSeen) {
			return
		}
		left := p.Get(metric.Available) / all
		if left > p.Limit(growthTime) {
			return
		}
		p.Report(report.Finding{
			Severity: report.Warning,
			Score:    p.Limit(shmStake) * share(1-left/p.Limit(growthTime)),
			Summary: fmt.Sprintf("The workers' memory grows by %s together; at that rate memory is full in %s",
				unit.Format(all, string(metric.BytesPerS)), unit.Seconds(left)),
			Evidence: seen(p, metric.WorkerGrowth, metric.NumWorkers, metric.WorkerRSS, metric.Available),
			Recommendations: []report.Recommendation{{Setting: "what the Dataset holds", From: nil,
				To: "one numpy array or tensor instead of lists of Python objects; caches with a bound",
				Why: "reading a Python object writes its reference count, which copies its page into each forked " +
					"worker"}},
			Unhelpful: against("more workers: each grows alike", moreWorkers),
		})
	},
}
