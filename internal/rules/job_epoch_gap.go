package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// startCost is what starting one set of workers takes, by method: the slowest measured for up to 8 workers of a small
// data set.
var startCost = map[string]diagnose.Limit{"fork": forkStart, "spawn": spawnStart, "forkserver": serverStart}

var (
	forkStart = threshold("start of forked workers", 0.15, metric.Seconds,
		"measured: 1 to 8 workers, fork, PyTorch 1.13 and 2.14: 0.02 to 0.12 s (Debian)")
	spawnStart = threshold("start of spawned workers", 7, metric.Seconds,
		"measured: 1 to 8 workers, spawn, PyTorch 1.13 and 2.14: 1.1 to 7.0 s (Debian)")
	serverStart = threshold("start of workers from a fork server", 5, metric.Seconds,
		"measured: 1 to 8 workers, forkserver, Python 3.11: 1.2 to 5.0 s (Debian)")
)

var jobEpochGap = diagnose.Rule{
	ID:       "job/epoch-gap",
	Title:    "Time between epochs that starting workers does not explain",
	Resource: report.Startup,
	Needs:    []metric.Desc{metric.Restarts, metric.EpochGap, metric.RestartGap},
	Limits:   limits(forkStart, spawnStart, serverStart),
	Applies: func(p *diagnose.Pass) bool { // without a restart in the watch there is no gap to explain
		return withWorkers(p) && mayReach(p, metric.Restarts, 1)
	},
	Eval: func(p *diagnose.Pass) {
		gap, each := share(p.Get(metric.EpochGap)), p.Get(metric.RestartGap)
		start, ok := startCost[p.Facts.StartMethod]
		if !ok {
			p.Abstain("how the workers were started is unknown, and with it what their start costs", "")
			return
		}
		explained := start.Value + p.OrZero(metric.WorkerCPUBatch) + p.OrZero(metric.WorkerWaitBatch)
		if p.Get(metric.Restarts) < 1 || gap < diagnose.Moderate.Value || each < 2*explained {
			return
		}
		score := gap * (1 - explained/each)
		p.Report(report.Finding{
			Severity: gradeOutside(p, score), Score: score,
			Summary: fmt.Sprintf("%s pass between epochs; starting workers and making a batch explain at most %s of "+
				"them", unit.Seconds(each), unit.Seconds(explained)),
			Evidence: seen(p, metric.RestartGap, metric.EpochGap, metric.Restarts, metric.EpochTime),
			Recommendations: []report.Recommendation{{Setting: "work between epochs", From: new(unit.Seconds(each)),
				To: unit.Seconds(explained), Why: gapCure(p), Effect: speedup(p, 0, score,
					"the loader between epochs")}},
		})
	},
}

// gapCure is what may lie between epochs: in a launched job the loader's part alone.
func gapCure(p *diagnose.Pass) string {
	if callOf(p).RecreatedEachEpoch {
		return "load per-worker state faster, or make the DataLoader once, before the loop over epochs: each makes " +
			"its own, with new workers"
	}
	if diagnose.Hooked(p.Evidence) {
		return "load per-worker state faster or keep the workers: the trainer waits for its loader all of this time"
	}
	return "load per-worker state faster or keep the workers; evaluate and save beside training"
}
