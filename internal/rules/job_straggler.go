package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var jobStraggler = diagnose.Rule{
	ID:      "job/straggler",
	Title:   "One trainer lacks data and all others wait for it",
	Needs:   []metric.Desc{metric.RankStallSpread, metric.Ranks},
	Applies: severalTrainers,
	Eval: func(p *diagnose.Pass) {
		spread, ok := diagnose.Straggler(p.Evidence)
		if !ok {
			return
		}
		summary := fmt.Sprintf("Of %s trainers %s lacks data %s of the time, %.0f points more than the others, which "+
			"wait for it at each exchange",
			whole(p.Get(metric.Ranks)), worstRank(p), unit.Percent(p.Stall()), 100*spread)
		if busy, ok := p.Maybe(metric.RestBusy); ok && busy >= diagnose.BusyDevice.Value {
			summary += fmt.Sprintf("; their GPUs look busy (%s), as they do in a collective", unit.Percent(share(busy)))
		}
		p.Report(report.Finding{
			// the score stays 0: what makes that trainer slow is another finding's
			Severity: diagnose.Grade(min(spread, p.Stall())), Summary: summary,
			Evidence: seen(p, metric.RankStallSpread, metric.DataStall, metric.RestBusy, metric.GPUBusy, metric.Ranks),
			Unhelpful: against("a faster GPU: all wait for the data of one trainer", report.Unhelpful{Setting: "GPU",
				Direction: report.Any}),
		})
	},
}
