package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

var loaderFewerShardsThanWorkers = diagnose.Rule{
	ID:       "loader/fewer-shards-than-workers",
	Title:    "The dataset has fewer shards than workers",
	Resource: report.Workers,
	Needs:    []metric.Desc{metric.NumWorkers, metric.InputWait, metric.WithData},
	Limits:   limits(gainLimit),
	Applies:  mayLackShards,
	// Whatever keeps them idle, the trainer waits meanwhile.
	Explains: []string{"loader/slow-sample-blocks", "loader/prefetch-shallow"},
	Eval: func(p *diagnose.Pass) {
		workers, fed := p.Get(metric.NumWorkers), p.Get(metric.WithData)
		switch {
		case fed < 1 || fed >= workers:
		case callOf(p).Shards == nil:
			idleWorkers(p, workers, fed)
		default:
			f := report.Finding{
				Summary: fmt.Sprintf("%s of %s get no data: the dataset has %s for them", whole(workers-fed),
					count(workers, "worker"), count(fed, "shard")),
				Evidence: seen(p, metric.NumWorkers, metric.WithData, metric.InputWait, metric.WorkerIdle,
					metric.WorkerCPUBatch),
				Unhelpful: against("more workers: they would get no data either", moreWorkers),
			}
			if loader, ok := p.Loader(); ok {
				even := loader.Unsharded()
				f.Score = min(even.SteadyGain(int(workers)), p.Stall())
				f.Recommendations = []report.Recommendation{shardsFor(p, workers, fed, even.WithWorkers(int(workers)))}
			}
			if f.Score < p.Limit(gainLimit) {
				f.Score, f.Recommendations = 0, []report.Recommendation{{Setting: "num_workers",
					From: new(whole(workers)), To: whole(fed),
					Why: "the others take memory and time to start, and read nothing"}}
			}
			p.Report(f)
		}
	},
}

// idleWorkers reports workers that were seen to get nothing. They may have read shorter shards to the end, so what more
// shards bring lies between nothing and the idle workers' part, and no other rule is silenced.
func idleWorkers(p *diagnose.Pass, workers, fed float64) {
	saved := min(p.Stall(), 1-fed/workers)
	if saved/2 < p.Limit(gainLimit) {
		return
	}
	p.Report(report.Finding{
		Severity: cautious(saved / 2), Score: saved / 2,
		Summary: fmt.Sprintf("%s of %s are idle all the time while the others make the batches: they have no shard "+
			"to read", whole(workers-fed), count(workers, "worker")),
		Evidence: seen(p, metric.NumWorkers, metric.WithData, metric.InputWait, metric.WorkerIdle,
			metric.WorkerCPUBatch),
		Recommendations: []report.Recommendation{shardsFor(p, workers, fed,
			speedup(p, 0, saved, "the step without waiting"))},
	})
}

func shardsFor(p *diagnose.Pass, workers, fed float64, effect *report.Effect) report.Recommendation {
	return report.Recommendation{Setting: "shards of the dataset", From: new(whole(fed)), To: "a multiple of " +
		whole(workers), Why: "each worker then reads its own" + inEachTrainer(p), Effect: effect}
}

// mayLackShards leaves out what has no shards: fewer than two workers, and map-style datasets.
func mayLackShards(p *diagnose.Pass) bool {
	h := p.Facts.Hook
	return mayReach(p, metric.NumWorkers, 2) && p.Facts.Fed == nil && (h == nil || h.Loader.Iterable)
}

// lacksShards reports whether the hook reported fewer shards than workers.
func lacksShards(p *diagnose.Pass) bool {
	workers, ok := p.Maybe(metric.NumWorkers)
	shards := callOf(p).Shards
	return ok && shards != nil && float64(*shards) < workers
}
