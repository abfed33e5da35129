package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	leastSaved = threshold("bytes in half a second that are a save", evidence.LeastSaved, metric.Bytes,
		"a choice between what was measured: 500 batches of 64 items in half a second write 0.17 MB of items' "+
			"numbers to the workers (pickled, Python 3.11), and a state_dict of ResNet-18 has 45 MB")
	leastSaveSteps = threshold("steps that fail to come in a pause", evidence.LeastSaveSteps, metric.Count,
		"derived: the count of batches may be one off at either end")
)

var jobCheckpointPauses = diagnose.Rule{
	ID:       "job/checkpoint-pauses",
	Title:    "Training stands still while the trainer writes",
	Needs:    []metric.Desc{metric.SaveTime},
	Limits:   limits(leastSaved, leastSaveSteps),
	Explains: []string{"host/main-thread-bound", "job/epoch-gap"},
	Applies:  training,
	Eval: func(p *diagnose.Pass) {
		spent := share(p.Get(metric.SaveTime))
		if spent < diagnose.Moderate.Value {
			return
		}
		every, repeated := p.Maybe(metric.SaveEvery)
		pause, apart := p.Maybe(metric.SavePause)
		if apart && !repeated {
			p.Abstain("training stood still once while the trainer wrote, and how often it does so is unknown",
				"watch until it was seen twice")
			return
		}
		saves, _ := p.Evidence.Get(metric.SaveTime)
		f := report.Finding{
			Severity: cautious(spent), Score: spent,
			Summary: fmt.Sprintf("Training stands still at least %s of the time while the main thread writes, too "+
				"often for one pause to be told from the next", unit.Percent(spent)),
			Evidence: seen(p, metric.SaveTime, metric.SavePause, metric.SaveEvery, metric.SaveBytes, metric.IOPressure),
			Recommendations: []report.Recommendation{
				{Setting: "who writes checkpoints", From: new("the main thread"), To: "a thread, from a copy in memory",
					Why: "training stands still for the copy only: torch.distributed.checkpoint.async_save, " +
						"Lightning's AsyncCheckpointIO",
					Caveat: "only if these are checkpoints; memory for a copy of what is written",
					Effect: speedup(p, 0, share(saves.Hi), "training itself")},
				{Setting: "time between checkpoints", To: "twice as long",
					Why:    fmt.Sprintf("half of %s of the time goes back to training", unit.Percent(spent)),
					Caveat: "only if these are checkpoints; a crash costs up to that much of training",
					Effect: speedup(p, share(saves.Lo)/2, share(saves.Hi)/2, "training itself")},
			},
			Unhelpful: within("checkpoints", notForTraining(p)),
		}
		if apart {
			bytes := unit.Bytes(p.OrZero(metric.SaveBytes))
			f.Summary = fmt.Sprintf("Training stands still at least %s of the time: every %s the main thread writes "+
				"%s, for at least %s", unit.Percent(spent), unit.Seconds(every), bytes, unit.Seconds(pause))
			copied, rarer := &f.Recommendations[0], &f.Recommendations[1]
			copied.Caveat = "only if these are checkpoints; memory for a copy of " + bytes
			rarer.From, rarer.To = new(unit.Seconds(every)), unit.Seconds(2*every)
		}
		p.Report(f)
	},
}
