package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var manyThreads = diagnose.Limit{Name: "cores used by one worker", Value: 1.2, Unit: metric.Cores,
	Source: "derived: a worker is one thread by torch's own setting (torch.set_num_threads(1)); a fifth more than " +
		"one core is another library's threads"}

var loaderThreadsOversubscribed = diagnose.Rule{
	ID:       "loader/threads-oversubscribed",
	Title:    "Workers run several threads each on cores that are full",
	Resource: report.CPU,
	Needs: []metric.Desc{metric.NumWorkers, metric.WorkerCPU, metric.WorkerRunDelay, metric.WorkerBusy,
		metric.UsableBusy},
	Limits:   limits(manyThreads, fullLimit, queueLimit),
	Applies:  withWorkers,
	Explains: []string{"cpu/saturated", "cpu/decode-bound"},
	Eval: func(p *diagnose.Pass) {
		cores, delay := p.Get(metric.WorkerCPU), queued(p)
		if cores < p.Limit(manyThreads) || p.Get(metric.UsableBusy) < p.Limit(fullLimit) ||
			delay < p.Limit(queueLimit) {
			return
		}
		score := p.Stall() * max(delay, 1-1/cores) * ownPart(p)
		from := new(unit.Number(cores) + " cores per worker")
		if n, ok := p.Maybe(metric.WorkerThreads); ok {
			from = new(whole(n))
		}
		p.Report(report.Finding{
			Score: score,
			Summary: fmt.Sprintf("Each worker uses %s cores' worth of threads while the cores are %s full and "+
				"workers queue for them", unit.Number(cores), unit.Percent(share(p.Get(metric.UsableBusy)))),
			Evidence: seen(p, metric.WorkerCPU, metric.WorkerThreads, metric.NumWorkers, metric.WorkerRunDelay,
				metric.UsableBusy),
			Recommendations: []report.Recommendation{{Setting: "threads per worker", From: from, To: "1",
				Why:    "cv2.setNumThreads(0) in worker_init_fn; OMP_NUM_THREADS=1, MKL_NUM_THREADS=1",
				Effect: speedup(p, 0, min(delay, score), "the usable CPUs")}},
			Unhelpful: against("more workers: the cores are full", moreWorkers),
		})
	},
}
