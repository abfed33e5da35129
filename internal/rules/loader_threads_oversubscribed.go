package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	manyThreads = threshold("CPUs on which one worker computes at once", 1.2, metric.Cores,
		"derived: a worker is one thread by torch's own setting (torch.set_num_threads(1)); a fifth more than one "+
			"CPU is another library's threads")
	ownThreads = threshold("threads of a worker that compute nothing together", 3, metric.Count,
		"torch/utils/data/_utils/worker.py, multiprocessing: its main thread, one that sends batches, one that "+
			"passes their descriptors; a worker that sends 29 MiB a batch was seen to use 1.7 CPUs by these alone "+
			"(PyTorch 2.15)")
)

var loaderThreadsOversubscribed = diagnose.Rule{
	ID:       "loader/threads-oversubscribed",
	Title:    "Workers run several threads each on CPUs that are full",
	Resource: report.CPU,
	Needs: []metric.Desc{metric.NumWorkers, metric.WorkerParallel, metric.WorkerThreads, metric.WorkerRunDelay,
		metric.WorkerBusy, metric.UsableBusy},
	Limits:   limits(manyThreads, ownThreads, fullLimit, queueLimit),
	Applies:  withWorkers,
	Explains: []string{"cpu/saturated", "cpu/decode-bound"},
	Eval: func(p *diagnose.Pass) {
		at, threads, delay := p.Get(metric.WorkerParallel), p.Get(metric.WorkerThreads), queued(p)
		if at < p.Limit(manyThreads) || threads <= p.Limit(ownThreads) ||
			p.Get(metric.UsableBusy) < p.Limit(fullLimit) || delay < p.Limit(queueLimit) {
			return
		}
		// What the main thread computes has to be done in any case: at the most all that the others do is waiting for
		// each other, at the least nothing.
		most := p.Stall() * (1 - 1/at) * ownPart(p)
		effect := saving(p, 0, 1-1/at, false)
		if effect == nil {
			effect = speedup(p, 0, most, "the usable CPUs")
		}
		p.Report(report.Finding{
			Score: most / 2,
			Summary: fmt.Sprintf("Each worker computes on %s CPUs at once, in %s threads, while the usable CPUs are "+
				"%s full and workers queue for them", unit.Number(at), whole(threads),
				unit.Percent(share(p.Get(metric.UsableBusy)))),
			Evidence: seen(p, metric.WorkerParallel, metric.WorkerThreads, metric.NumWorkers, metric.WorkerCPU,
				metric.WorkerRunDelay, metric.UsableBusy),
			Recommendations: []report.Recommendation{{Setting: "threads per worker", From: new(whole(threads)), To: "1",
				Why: "cv2.setNumThreads(0) and torch.set_num_threads(1) in worker_init_fn; OMP_NUM_THREADS=1, " +
					"OPENBLAS_NUM_THREADS=1, MKL_NUM_THREADS=1; at the most all that a worker's other threads " +
					"compute is saved, at the least nothing",
				Effect: effect}},
			Unhelpful: against("more workers: the CPUs are full", moreWorkers),
		})
	},
}
