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
	Doc: `
## What it means
One rank goes over the loader and sends each of the others its part. It has to make as many batches in a step as there are ranks, with its own workers
alone. The workers of the other ranks, where they have any, wait for work. Accelerate does so with dispatch_batches=True, its default for an
IterableDataset.

## How it is detected
Several trainers have a RANK. One takes batches; the others take none, or less than a tenth as many, and have no workers or ones that are idle 95 % of
the time. The one waits for data. Attached, that is a warning at most. With as many loaders as ranks its part of a step's batches is made by as many
times the workers; what that brings is the model of the loader's.

## How to mend it
Let each rank load its own part. Accelerate: DataLoaderConfiguration(dispatch_batches=False), and a dataset that each rank has a part of:
datasets.distributed.split_dataset_by_node, or your own division by rank and worker (torch.utils.data.get_worker_info); a map-style dataset needs
nothing more.

## When it is wrong
Of tensor or pipeline parallel ranks, one may have to load for its group. An evaluation that one rank makes alone while the others wait looks the same
in a watch that sees nothing else: watch again, for longer. Where all ranks are on one machine whose CPUs are full, as many more workers bring less.
Ranks without a RANK of their own are not judged. Attached, batches that a rank loads without workers are not counted: where none has workers nothing
is said, and beside one that has, a rank without is taken to load nothing.
`,
	Needs:    []metric.Desc{metric.Ranks, metric.FeedingRanks, metric.InputWait, metric.NumWorkers},
	Limits:   limits(gainLimit),
	Applies:  severalTrainers,
	Explains: []string{"loader/workers-too-few", "loader/workers-zero", "job/straggler"},
	Eval: func(p *diagnose.Pass) error {
		ranks, workers, wait := p.Get(metric.Ranks), p.Get(metric.NumWorkers), p.Stall()
		if whole(p.Get(metric.FeedingRanks)) != "1" || wait < diagnose.Moderate.Value {
			return nil
		}
		saved := wait * (1 - 1/ranks)
		effect := speedup(p, 0, saved, "the step without waiting")
		if loader, ok := p.Loader(); ok && workers >= 1 {
			saved, effect = min(loader.SteadyGain(int(workers*ranks)), wait), loader.WithWorkers(int(workers*ranks))
		}
		if saved < p.Limit(gainLimit.Name) {
			return nil
		}
		who := "one of them"
		if all := p.Evidence.Ranks; len(all) > 0 {
			who = "rank " + all[0].Name
		}
		severity, whom := diagnose.Grade(saved), "for all of them"
		if !diagnose.Hooked(p.Evidence) {
			severity, whom = cautious(saved), "for all of them or in an evaluation of its own"
		}
		p.Report(report.Finding{
			Severity: severity, Score: saved,
			Summary: fmt.Sprintf("Of %s ranks %s alone makes batches, %s, and waits for its loader %s of the time",
				whole(ranks), who, whom, unit.Percent(wait)),
			Evidence: seen(p, metric.Ranks, metric.FeedingRanks, metric.NumWorkers, metric.InputWait, metric.WorkerBusy),
			Recommendations: []report.Recommendation{{
				Setting: "who makes the batches", From: text("one rank"), To: "each rank its own",
				Why: fmt.Sprintf("%s loaders then make what one makes now; with Accelerate: DataLoaderConfiguration(dispatch_batches=False), "+
					"and a dataset divided among the ranks", whole(ranks)),
				Caveat: "an IterableDataset that is not divided gives every rank the same samples", Effect: effect,
			}},
		})
		return nil
	},
}
