package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var loaderWorkersPinned = diagnose.Rule{
	ID:       "loader/workers-pinned",
	Title:    "Workers are tied to fewer cores than the trainer",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.WorkersOneCPUSet, metric.NumWorkers, metric.UsableCPUs},
	Limits:   limits(queueLimit),
	Applies: func(p *diagnose.Pass) bool {
		// the signal is there only where workers have fewer cores: its absence is the healthy case
		_, bound := p.Maybe(metric.WorkersOneCPUSet)
		return bound && withWorkers(p)
	},
	Explains: []string{"cpu/saturated", "cpu/decode-bound", "loader/workers-too-few"},
	Eval: func(p *diagnose.Pass) {
		cores, workers, usable := p.Get(metric.WorkersOneCPUSet), p.Get(metric.NumWorkers), p.Get(metric.UsableCPUs)
		could := min(workers, usable)
		if delay, ok := p.Maybe(metric.WorkerRunDelay); cores >= could || ok && delay < p.Limit(queueLimit) {
			return // or each has cores of its own
		}
		score := p.Stall() * (1 - cores/could)
		p.Report(report.Finding{
			Score: score,
			Summary: fmt.Sprintf("%s may run on %s only, although the job may use %s", count(workers, "worker"),
				count(cores, "core"), unit.Number(usable)),
			Evidence: seen(p, metric.WorkersOneCPUSet, metric.NumWorkers, metric.UsableCPUs, metric.WorkerRunDelay),
			Recommendations: []report.Recommendation{{Setting: "CPU affinity of the workers",
				From: new(count(cores, "core")), To: count(usable, "core"),
				Why: "os.sched_setaffinity in worker_init_fn; or unset OMP_PROC_BIND, GOMP_CPU_AFFINITY, " +
					"KMP_AFFINITY",
				Effect: speedup(p, score/2, score, "the usable CPUs")}},
			Unhelpful: against("more workers: they would share the same cores", moreWorkers),
		})
	},
}
