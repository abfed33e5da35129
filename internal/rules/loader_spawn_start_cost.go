package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var loaderSpawnStartCost = diagnose.Rule{
	ID:       "loader/spawn-start-cost",
	Title:    "Spawned workers start Python and import torch each time",
	Resource: report.Startup,
	Needs:    []metric.Desc{metric.Restarts, metric.EpochGap},
	Limits:   limits(gainLimit),
	Applies:  func(p *diagnose.Pass) bool { return withWorkers(p) && p.Facts.StartMethod != "fork" },
	Eval: func(p *diagnose.Pass) {
		method, gap := p.Facts.StartMethod, share(p.Get(metric.EpochGap))
		if method == "" {
			p.Abstain("how the workers were started is unknown", "")
			return
		}
		if p.Get(metric.Restarts) < 1 || gap < p.Limit(gainLimit) {
			return
		}
		p.Report(report.Finding{
			Severity: gradeOutside(p, gap), Score: gap,
			Summary: fmt.Sprintf("Workers are restarted by %s with each epoch, which takes %s of the time", method,
				unit.Percent(gap)),
			Evidence: seen(p, metric.Restarts, metric.EpochGap, metric.RestartGap, metric.NumWorkers),
			Recommendations: []report.Recommendation{{Setting: "multiprocessing_context", From: new(method), To: "fork",
				Why: "a forked worker starts in 0.1 s or less; " + paidOnce(p),
				Caveat: "not where the parent process already uses CUDA in ways workers need, or runs threads that " +
					"hold locks",
				Effect: speedup(p, gap/2, gap, "the loader between epochs")}},
		})
	},
}

// paidOnce is what pays the start of workers once, whatever their start method.
func paidOnce(p *diagnose.Pass) string {
	if callOf(p).RecreatedEachEpoch {
		return "with a DataLoader that is made once, before the loop over epochs, and persistent_workers=True the " +
			"start is paid once by any method"
	}
	return "with persistent_workers=True the start is paid once by any method"
}
