package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var tooManyLimit = threshold("workers over workers needed", 2, metric.Count,
	"SageMaker Debugger, Dataloader rule: more than 200 % of the processes needed is too many")

var loaderWorkersTooMany = diagnose.Rule{
	ID:    "loader/workers-too-many",
	Title: "More workers than the job can use",
	Needs: []metric.Desc{metric.NumWorkers, metric.InputWait, metric.WorkerIdle, metric.FreeStepTime,
		metric.WorkerCPUBatch, metric.BatchesPerS, metric.UsableCPUs},
	Limits:  limits(tooManyLimit, diagnose.Most),
	Applies: withWorkers,
	Eval: func(p *diagnose.Pass) {
		workers := p.Get(metric.NumWorkers)
		if p.Stall() >= diagnose.Moderate.Value || diagnose.MayStall(p.Evidence) ||
			p.Get(metric.WorkerIdle) < p.Limit(diagnose.Most) {
			return
		}
		loader, ok := p.Loader()
		if !ok {
			return
		}
		enough, ok := loader.KeepsUp(int(workers / p.Limit(tooManyLimit)))
		if !ok {
			return
		}
		to := float64(enough)
		caveat := "lower it in steps and watch the input wait"
		if private, ok := p.Maybe(metric.WorkerPrivate); ok {
			caveat = "frees up to " + unit.Bytes((workers-to)*private) + inEachTrainer(p) + "; " + caveat
		}
		p.Report(report.Finding{
			Severity: report.Info, // it costs memory, no time: the score stays 0
			Summary: fmt.Sprintf("%s, idle %s of the time; %s would keep up", count(workers, "worker"),
				unit.Percent(share(p.Get(metric.WorkerIdle))), whole(to)),
			Evidence: seen(p, metric.NumWorkers, metric.WorkerIdle, metric.LoaderIsAhead, metric.WorkerCPUBatch,
				metric.FreeStepTime, metric.WorkerPrivate),
			Recommendations: []report.Recommendation{{Setting: "num_workers", From: new(whole(workers)), To: whole(to),
				Why:    "no faster, but less memory and a quicker start; " + why(loader, diagnose.Needed{}),
				Caveat: caveat}},
		})
	},
}
