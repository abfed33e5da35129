package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var imbalanceLimit = threshold("busiest worker over the median", 2.5, metric.Count,
	"gpuprof insights.py: a child with at least 2.5 times its fair share")

var loaderWorkerImbalance = diagnose.Rule{
	ID:       "loader/worker-imbalance",
	Title:    "One worker does much more than the others",
	Resource: report.Workers,
	Needs:    []metric.Desc{metric.NumWorkers, metric.InputWait, metric.WorkerImbalance},
	Limits:   limits(imbalanceLimit),
	Applies:  func(p *diagnose.Pass) bool { return mayReach(p, metric.NumWorkers, 2) },
	Eval: func(p *diagnose.Pass) {
		ratio, workers, wait := p.Get(metric.WorkerImbalance), p.Get(metric.NumWorkers), p.Stall()
		if workers < 2 || ratio < p.Limit(imbalanceLimit) || wait < diagnose.Moderate.Value || lacksShards(p) {
			return
		}
		even := (ratio + workers - 1) / workers // the busiest worker's load, in medians, once it is shared evenly
		saved := 1 - even/ratio
		score := wait * saved
		p.Report(report.Finding{
			Score: score,
			Summary: fmt.Sprintf("One of %s uses %s times the CPU time of the median worker", count(workers, "worker"),
				unit.Number(ratio)),
			Evidence: seen(p, metric.WorkerImbalance, metric.NumWorkers, metric.WorkerCPU, metric.InputWait),
			Recommendations: []report.Recommendation{{Setting: "share of data per worker",
				From: new(unit.Number(ratio) + " times the median"), To: "equal",
				Why: "split by bytes or by cost, not by number of files", Effect: speedup(p, 0, score,
					"the workers' mean rate")}},
			Unhelpful: against("more workers: the heavy shard stays with one of them", moreWorkers),
		})
	},
}
