package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var pinAlways = threshold("pinning thread at work", 1-idleLimit.Value, metric.Ratio,
	"derived: as of a worker without time to spare; what limits a pipeline of one thread is at work nearly always")

var loaderPinThreadBound = diagnose.Rule{
	ID:       "loader/pin-thread-bound",
	Title:    "The thread that pins batches is the limit",
	Resource: report.MainProcess,
	Needs:    []metric.Desc{metric.NumWorkers, metric.InputWait, metric.PinBusy, metric.IdleWhileWaits},
	Limits:   limits(pinAlways, diagnose.Most),
	Applies:  withPinning,
	Explains: []string{"loader/workers-too-many", "loader/prefetch-shallow", "loader/many-tensors"},
	Eval: func(p *diagnose.Pass) {
		idle := share(p.Get(metric.IdleWhileWaits))
		score := steadyWait(p) * idle
		busy := p.Get(metric.PinBusy)
		if score < diagnose.Moderate.Value || idle < p.Limit(diagnose.Most) || busy < p.Limit(pinAlways) {
			return
		}
		f := report.Finding{
			Score: score,
			Summary: fmt.Sprintf("The thread that pins batches is at work %s of the time, "+
				"while the trainer waits and its workers are idle", unit.Percent(share(busy))),
			Evidence: seen(p, metric.PinBusy, metric.PinLock, metric.PinBatch, metric.TensorsPerBatch,
				metric.BatchBytes, metric.IdleWhileWaits, metric.InputWait),
			Recommendations: []report.Recommendation{{Setting: "tensors of a batch",
				To: "fewer and larger, of smaller types", Why: "one thread receives and copies each of them; " +
					"a batch class with a pin_memory method of its own may pin one flat buffer",
				Effect: speedup(p, 0, score, "the step")}},
			Unhelpful: neitherMoreNorDeeper("finished batches wait for the thread that pins them"),
		}
		if tensors, ok := p.Maybe(metric.TensorsPerBatch); ok {
			f.Recommendations[0].From = new(whole(tensors))
		}
		if took, ok := p.Maybe(metric.PinBatch); ok {
			f.Summary += ": " + unit.Seconds(took) + " for a batch"
		}
		if lock, ok := p.Maybe(metric.PinLock); ok && lock >= diagnose.High.Value {
			f.Summary += fmt.Sprintf("; %s it waits for a lock, as for the interpreter's", unit.Percent(share(lock)))
		}
		p.Report(f)
	},
}
