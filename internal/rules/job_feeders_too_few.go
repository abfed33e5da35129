package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var jobFeedersTooFew = diagnose.Rule{
	ID:       "job/feeders-too-few",
	Title:    "Too few processes or threads feed the trainer",
	Resource: report.Workers,
	Needs: []metric.Desc{metric.NumWorkers, metric.InputWait, metric.WorkerBusy, metric.WorkerRunning, metric.WorkerCPU,
		metric.UsableCPUs, metric.FeedersAtOnce},
	Limits:  limits(idleLimit, diagnose.Most, gainLimit, fixedPart, oneAtATime),
	Applies: func(p *diagnose.Pass) bool { return p.Facts.Fed != nil },
	Eval: func(p *diagnose.Pass) {
		wait, n, threads := p.Stall(), p.Get(metric.NumWorkers), p.Facts.Fed.Threads
		if wait < diagnose.Moderate.Value {
			return
		}
		f := report.Finding{Evidence: seen(p, metric.NumWorkers, metric.WorkerBusy, metric.FeedersAtOnce,
			metric.WorkerCPU, metric.WorkerStorage, metric.WorkerRunDelay, metric.UsableCPUs, metric.UsableBusy)}
		if threads && n >= 2 && p.Get(metric.FeedersAtOnce) < p.Limit(oneAtATime) {
			f.Score = wait
			f.Summary = fmt.Sprintf("%s feed the trainer, and %s of them are at work at once while it waits: they "+
				"wait for the interpreter's lock, or are given one batch at a time",
				count(n, "thread"), unit.Number(p.Get(metric.FeedersAtOnce)))
			f.Recommendations = []report.Recommendation{{Setting: "who makes the batches", From: new("threads"),
				To:  "processes, or threads in code that releases the interpreter's lock",
				Why: "threads that run Python take turns; if they are given one batch at a time, ask for more ahead"}}
			f.Unhelpful = against("more threads: one of them is at work at a time",
				report.Unhelpful{Setting: "feeding threads", Direction: report.Up})
			p.Report(f)
			return
		}
		split, ok := loadingOf(p)
		if !ok || !saturated(p) || split.storage+split.open+split.fileLock > p.Limit(diagnose.Most) {
			return
		}
		loader, need, ok := moreNeeded(p)
		if !ok {
			return
		}
		saved := min(loader.SteadyGain(need.Workers), wait)
		if saved < p.Limit(gainLimit) {
			return
		}
		setting, caveat, effect := "feeding processes", "each takes its own memory", loader.WithWorkers(need.Workers)
		if threads {
			setting, caveat = "feeding threads",
				"only code that releases the interpreter's lock runs in several threads at once"
			if effect != nil && n < 2 {
				effect.Lo = min(effect.Lo, effect.Before)
			}
		}
		f.Score = saved
		f.Summary = "The trainer is fed by " + diagnose.FedBy(p.Evidence) + " with no time to spare" +
			room(p, loader, split)
		f.Recommendations = []report.Recommendation{{
			Setting: setting, From: new(whole(n)), To: whole(float64(need.Workers)), Caveat: caveat, Effect: effect,
			Why: fmt.Sprintf("a batch takes one of them %s times as long as the step without waiting; the setting is "+
				"the program's",
				unit.Number(loader.Seen.Making()/loader.Seen.FreeStep.Center)),
		}}
		p.Report(f)
	},
}

var oneAtATime = threshold("one thread at a time", 1.5, metric.Count,
	"halfway between one at a time and two; measured: three threads of pure Python 1.33, on two CPUs that others "+
		"kept full")
