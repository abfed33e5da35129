package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var jobOneProcessFeedsAll = diagnose.Rule{
	ID:       "job/one-process-feeds-all",
	Title:    "One rank makes the batches of all",
	Resource: report.Workers,
	Needs:    []metric.Desc{metric.Ranks, metric.FeedingRanks, metric.InputWait, metric.NumWorkers},
	Limits:   limits(gainLimit),
	Applies:  severalTrainers,
	Explains: []string{"loader/workers-too-few", "loader/workers-zero", "job/straggler"},
	Eval: func(p *diagnose.Pass) {
		ranks, workers, wait := p.Get(metric.Ranks), p.Get(metric.NumWorkers), p.Stall()
		if whole(p.Get(metric.FeedingRanks)) != "1" || wait < diagnose.Moderate.Value {
			return
		}
		saved := wait * (1 - 1/ranks)
		effect := speedup(p, 0, saved, "the step without waiting")
		if loader, ok := p.Loader(); ok && workers >= 1 {
			saved, effect = min(loader.SteadyGain(int(workers*ranks)), wait), loader.WithWorkers(int(workers*ranks))
		}
		if saved < p.Limit(gainLimit) {
			return
		}
		severity, whom := diagnose.Grade(saved), "for all of them"
		if !diagnose.Hooked(p.Evidence) {
			severity, whom = cautious(saved), "for all of them or in an evaluation of its own"
		}
		p.Report(report.Finding{
			Severity: severity, Score: saved,
			Summary: fmt.Sprintf("Of %s ranks %s alone makes batches, %s, and waits for its loader %s of the time",
				whole(ranks), worstRank(p), whom, unit.Percent(wait)),
			Evidence: seen(p, metric.Ranks, metric.FeedingRanks, metric.NumWorkers, metric.InputWait,
				metric.WorkerBusy),
			Recommendations: []report.Recommendation{{
				Setting: "who makes the batches", From: new("one rank"), To: "each rank its own",
				Why: fmt.Sprintf("%s loaders then make what one makes now; with Accelerate: "+
					"DataLoaderConfiguration(dispatch_batches=False), and a dataset divided among the ranks",
					whole(ranks)),
				Caveat: "an IterableDataset that is not divided gives every rank the same samples", Effect: effect,
			}},
		})
	},
}
