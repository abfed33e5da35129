package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var aheadLimit = threshold("idle workers while the trainer waits", 0.9, metric.Ratio,
	"derived: with all workers ahead the queue is full, and depth is not what is missing; a tenth leaves room for "+
		"samples that are not simultaneous")

var loaderPrefetchShallow = diagnose.Rule{
	ID:       "loader/prefetch-shallow",
	Title:    "The queue is too short for how much batches vary",
	Resource: report.Workers,
	Needs: []metric.Desc{metric.NumWorkers, metric.InputWait, metric.WorkerIdle, metric.HeadOfLine,
		metric.IdleWhileWaits},
	Limits:  limits(idleLimit, deepEnough, aheadLimit, queueMemory),
	Applies: withWorkers,
	Eval: func(p *diagnose.Pass) {
		// Workers that are never idle again make so much more, and no more, however deep the queue is.
		score := min(steadyWait(p)-share(p.Get(metric.HeadOfLine)), share(p.Get(metric.WorkerIdle)))
		if score < p.Stall()-steadyWait(p) {
			return // restarts cost more, and each leaves an empty queue behind
		}
		if p.Get(metric.IdleWhileWaits) >= p.Limit(aheadLimit) {
			return // batches are there: the delay is in handing them over
		}
		if score < diagnose.Moderate.Value || p.Get(metric.WorkerIdle) <= p.Limit(idleLimit) {
			return
		}
		change := deeper(p)
		if len(change) == 0 {
			return
		}
		summary := fmt.Sprintf("The trainer waits %s of the time although the workers are idle %s of theirs: the "+
			"queue does not smooth how batches vary",
			unit.Percent(score), unit.Percent(share(p.Get(metric.WorkerIdle))))
		mean, ok := p.Maybe(metric.FetchTime)
		if most, told := p.Maybe(metric.FetchP99); ok && told && most > mean {
			summary += fmt.Sprintf(" (a batch takes %s to make, one in a hundred takes over %s)", unit.Seconds(mean),
				unit.Seconds(most))
		}
		p.Report(report.Finding{
			Score: score, Summary: summary,
			Evidence: seen(p, metric.FetchTime, metric.FetchP99, metric.InputWait, metric.WorkerIdle,
				metric.HeadOfLine, metric.QueueBatches, metric.QueueCapacity),
			Recommendations: change,
			Unhelpful:       against("more workers: those there are have time to spare", moreWorkers),
		})
	},
}
