package rules

import (
	"cmp"
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var loaderWorkersRestart = diagnose.Rule{
	ID:       "loader/workers-restart",
	Title:    "Workers restart with every epoch",
	Resource: report.Startup,
	Needs:    []metric.Desc{metric.Restarts, metric.EpochGap, metric.NumWorkers},
	Limits:   limits(gainLimit),
	Applies:  withWorkers,
	Explains: []string{"loader/workers-too-few", "loader/spawn-start-cost", "loader/slow-sample-blocks",
		"job/epoch-gap", "cpu/decode-bound", "cpu/saturated"},
	Eval: func(p *diagnose.Pass) {
		restarts, gap := p.Get(metric.Restarts), share(p.Get(metric.EpochGap))
		if restarts < 1 || gap < p.Limit(gainLimit) {
			return
		}
		summary := fmt.Sprintf("All workers were replaced %s while watched; ", timesOf(restarts))
		if each, ok := p.Maybe(metric.RestartGap); ok {
			summary += fmt.Sprintf("each time %s pass before the next batch, %s of the time", unit.Seconds(each),
				unit.Percent(gap))
		} else {
			summary += unit.Percent(gap) + " of the time goes to starting them"
		}
		v, _ := p.Evidence.Get(metric.EpochGap)
		lo, hi := min(v.Lo, gap), max(min(v.Hi, p.Stall()), gap) // no more than the wait can be won
		p.Report(report.Finding{
			Severity: gradeOutside(p, gap), Score: gap, Summary: summary,
			Evidence: seen(p, metric.Restarts, metric.EpochGap, metric.RestartGap, metric.EpochTime,
				metric.NumWorkers),
			Location: diagnose.At(callOf(p).File, callOf(p).Line),
			Recommendations: []report.Recommendation{keepWorkers(p, speedup(p, lo-refill(p), hi,
				"the loader between epochs"))},
			Unhelpful: append(within("between epochs", against("a deeper prefetch_factor: the queue is lost with the "+
				"workers", deeperPrefetch)), notSpawn(p)...),
		})
	},
}

// keepWorkers recommends what keeps the workers: persistent_workers or, where that is on and they end all the same, one
// DataLoader for all epochs.
func keepWorkers(p *diagnose.Pass, effect *report.Effect) report.Recommendation {
	switch on := p.Facts.Persistent; {
	case callOf(p).RecreatedEachEpoch:
		return makeOnce(p, effect)
	case on != nil && *on:
		return report.Recommendation{Setting: whereMade, To: "once, before the first epoch",
			Why:    "persistent_workers is on, but workers live no longer than their DataLoader",
			Caveat: "keeps the workers' memory between epochs", Effect: effect}
	}
	return report.Recommendation{Setting: "persistent_workers", From: fromFact(p.Facts.Persistent), To: "True",
		Why:    "workers then live through all epochs: a restart of persistent workers takes 4 to 8 ms",
		Caveat: "keeps the workers' memory between epochs; create the DataLoader once, not once per epoch",
		Effect: effect}
}

// notSpawn speaks against spawn where workers are forked.
func notSpawn(p *diagnose.Pass) []report.Unhelpful {
	if p.Facts.StartMethod != "fork" {
		return nil
	}
	return against("spawn instead of fork: a spawned worker starts Python and imports torch (1.1 to 2.2 s of CPU, a "+
		"forked one takes 0.02 to 0.1 s); it is the safe choice beside threads and CUDA, not the fast one", spawned)
}

// whereMade is the setting of a DataLoader that is recreated: a change of the script, which no argument of the call
// stands for.
const whereMade = "where the DataLoader is made"

// makeOnce recommends to make the DataLoader before the first epoch, where each epoch makes its own.
func makeOnce(p *diagnose.Pass, effect *report.Effect) report.Recommendation {
	line := cmp.Or(lineOf(callOf(p).File, callOf(p).Line), "one line")
	return report.Recommendation{Setting: whereMade, From: new("at " + line + ", for each epoch"),
		To: "once, before the loop", With: []report.Value{{Setting: "persistent_workers", To: "True"}},
		Why: fmt.Sprintf("it is made at %s each epoch (%s so far), and its workers end with it; made once, "+
			"persistent_workers=True keeps them", line, timesOf(float64(callOf(p).Made))),
		Caveat: "keeps the workers' memory between epochs; persistent_workers=True alone changes nothing",
		Effect: effect}
}

// refill is the share of the gap that stays with persistent workers: the first batch of an epoch still takes as long as
// a batch takes.
func refill(p *diagnose.Pass) float64 {
	gap, each := p.OrZero(metric.EpochGap), p.OrZero(metric.RestartGap)
	cpu, ok := p.Maybe(metric.WorkerCPUBatch)
	if !ok || each <= 0 {
		return gap / 2 // nothing is known of a batch: promise at least half
	}
	return gap * share((cpu+p.OrZero(metric.WorkerWaitBatch))/each)
}

func timesOf(n float64) string {
	if whole(n) == "1" {
		return "once"
	}
	return whole(n) + " times"
}
