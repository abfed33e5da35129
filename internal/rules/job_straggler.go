package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var jobStraggler = diagnose.Rule{
	ID:    "job/straggler",
	Title: "One trainer lacks data and all others wait for it",
	Doc: `
## What it means
Trainers that work together step together: at the end of each step gradients are exchanged, and all wait for the slowest. One of them lacks data, the others do
not. Their GPUs look busy meanwhile, because a kernel that waits for the exchange counts as running: a starved trainer among eight looks like eight busy GPUs.

## How it is detected
The data stall of each trainer is that of its own GPU. The largest is at least 5 points above the median of the others'.

## How to mend it
See to that trainer's share of the data and its machine first: uneven shards, a slower disk, fewer CPUs, a neighbour. What the report says of the loader is of
this trainer.

## When it is wrong
Which GPU belongs to which trainer is known where NVML lists their processes; in containers that hide process numbers all GPUs are taken together.
`,
	Needs:   []metric.Desc{metric.RankStallSpread, metric.Ranks},
	Applies: severalTrainers,
	Eval: func(p *diagnose.Pass) error {
		spread := share(p.Get(metric.RankStallSpread))
		if spread < diagnose.Moderate.Value || p.Stall() < diagnose.Moderate.Value {
			return nil
		}
		who := "one of them"
		if ranks := p.Evidence.Ranks; len(ranks) > 0 {
			who = "rank " + ranks[0].Name
		}
		summary := fmt.Sprintf("Of %s trainers %s lacks data %s of the time, %.0f points more than the others, which wait for it at each exchange",
			whole(p.Get(metric.Ranks)), who, unit.Percent(p.Stall()), 100*spread)
		if busy, ok := p.Maybe(metric.RestBusy); ok && busy >= diagnose.BusyDevice {
			summary += fmt.Sprintf("; their GPUs look busy (%s), as they do in a collective", unit.Percent(share(busy)))
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(spread), Summary: summary, // the score stays 0: what makes that trainer slow is another finding's
			Evidence:  seen(p, metric.RankStallSpread, metric.DataStall, metric.RestBusy, metric.GPUBusy, metric.Ranks),
			Unhelpful: against("a faster GPU: all wait for the data of one trainer", report.Unhelpful{Setting: "GPU", Direction: report.Any}),
		})
		return nil
	},
}
