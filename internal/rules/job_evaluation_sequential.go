package rules

import (
	"fmt"
	"math"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var jobEvaluationSequential = diagnose.Rule{
	ID:       "job/evaluation-sequential",
	Title:    "Training stands still while the model is evaluated",
	Needs:    []metric.Desc{metric.Evaluation},
	Limits:   limits(evalWaits),
	Applies:  training,
	Explains: []string{"job/epoch-gap"},
	Eval: func(p *diagnose.Pass) {
		spent := share(p.Get(metric.Evaluation))
		if spent < diagnose.Moderate.Value {
			return
		}
		waits := min(share(p.OrZero(metric.EvalWait)), spent)
		score := max(waits, spent/2)
		f := report.Finding{
			Severity: cautious(score), Score: score,
			Summary: fmt.Sprintf("Training stands still %s of the time while the model is evaluated",
				unit.Percent(spent)),
			Evidence:  seen(p, metric.Evaluation, metric.EvalWait, metric.StepTime, metric.InputWait),
			Unhelpful: within("evaluation", notForTraining(p)),
		}
		rarer := evaluateRarer(p)
		call := evaluationCall(p)
		f.Location = diagnose.At(call.File, call.Line)
		if waits >= p.Limit(evalWaits)*spent {
			f.Summary += fmt.Sprintf("; %s of that it waits for its own data", unit.Percent(waits/spent))
			f.Recommendations = []report.Recommendation{evaluationLoader(p, call, waits), rarer}
			if waits <= (1-p.Limit(evalWaits))*spent { // its computing is a part worth less as well
				f.Recommendations = append(f.Recommendations, largerEvaluation(p, call)...)
			}
		} else {
			f.Summary += "; its data is ready in time"
			f.Recommendations = append([]report.Recommendation{rarer}, largerEvaluation(p, call)...)
			f.Unhelpful = append(f.Unhelpful, against("more workers for the evaluation's loader: it hardly waits for "+
				"data",
				report.Unhelpful{Setting: "num_workers of the evaluation's DataLoader", Direction: report.Up})...)
		}
		p.Report(f)
	},
}

// notForTraining speaks against changes of training's loader. In the middle of an epoch its workers make what is asked
// of them already, which is more the more there are and the deeper the queue is, and training finds it ready.
func notForTraining(p *diagnose.Pass) []report.Unhelpful {
	if p.Reported().Pauses.Every > 0 {
		return against("faster reading for the training loader: its workers only fill their queue meanwhile", moved)
	}
	return against("more workers, a deeper prefetch_factor or faster reading for the training loader: it is not "+
		"asked for anything meanwhile", moreWorkers, deeperPrefetch, moved)
}

var evalWaits = threshold("part of evaluation spent waiting for its data", diagnose.High.Value, metric.Ratio,
	"as the high share of the step: from 20 % a loop is input-bound")

// evaluateRarer is the arithmetic of evaluating less often: what is left of evaluation is its k-th part.
func evaluateRarer(p *diagnose.Pass) report.Recommendation {
	v, _ := p.Evidence.Get(metric.Evaluation)
	spent := share(v.Center)
	lo, hi := min(share(v.Lo), spent), max(share(v.Hi), spent)
	const rare = 5 // the other example
	faster := 1/(1-min(spent, 0.9)*(1-1.0/rare)) - 1
	return report.Recommendation{Setting: "how often the model is evaluated",
		To: "half as often: at every 2nd epoch instead of each",
		Why: fmt.Sprintf("half of %s of the time goes back to training; at every %dth epoch training would be %s "+
			"faster", unit.Percent(spent), rare, unit.Percent(faster)),
		Caveat: "early stopping and the choice of the best checkpoint see fewer points",
		// rates of training are reported without evaluation's time
		Effect: relativeSpeedup(lo/2, hi/2, "training itself")}
}

// evaluationCall is the DataLoader of the evaluation, as it was reported or is seen; its zero value where neither is.
func evaluationCall(p *diagnose.Pass) evidence.LoaderCall {
	for _, c := range p.Reported().Others {
		if c.Evaluates {
			return c
		}
	}
	if seen := p.Evidence.Facts.OtherLoaders.Evaluation; seen != nil {
		return *seen
	}
	return evidence.LoaderCall{}
}

// evaluationLoader is what to change about the loader that evaluation waits for, a share of all time.
func evaluationLoader(p *diagnose.Pass, call evidence.LoaderCall, waits float64) report.Recommendation {
	// as many as there are whole usable CPUs, which training's own workers do not use meanwhile
	to := max(1, math.Floor(p.OrZero(metric.UsableCPUs)/trainers(p)))
	more := report.Recommendation{Setting: "num_workers of the evaluation's DataLoader",
		From: fromFact(call.NumWorkers), To: whole(to), Why: "training's own workers have nothing to do meanwhile",
		Effect: relativeSpeedup(0, waits, "training itself")}
	switch {
	case call.NumWorkers == nil:
		return report.Recommendation{Setting: "evaluation's DataLoader", Effect: more.Effect,
			To: "workers of its own, persistent_workers=True", Why: "evaluation waits for its data"}
	case *call.NumWorkers == 0:
		more.Why = "evaluation loads its data in the training process, between its steps; " + more.Why
		more.Caveat = "workers that persist keep their memory while training runs"
	case call.Persistent != nil && !*call.Persistent:
		return report.Recommendation{Setting: "persistent_workers of the evaluation's DataLoader", Effect: more.Effect,
			From: new("False"), To: "True",
			Why: "its workers are restarted for each evaluation, and the first batches wait for that",
			Caveat: "they keep their memory while training runs; create the DataLoader once, outside of the epoch's " +
				"loop"}
	case to <= float64(*call.NumWorkers):
		return report.Recommendation{Setting: "time to make an item of the evaluation", Effect: more.Effect, To: "less",
			Why: "its loader has as many workers as there are CPUs: only cheaper items make it faster"}
	}
	return more
}

// largerEvaluation recommends larger batches where the size is known: twice as large, and no smaller than training's,
// which fit with all that a backward pass keeps.
func largerEvaluation(p *diagnose.Pass, call evidence.LoaderCall) []report.Recommendation {
	if call.BatchSize == nil || *call.BatchSize < 1 {
		return nil
	}
	size := 2 * *call.BatchSize
	if training := callOf(p).BatchSize; training != nil {
		size = max(size, *training)
	}
	return []report.Recommendation{{Setting: "batch_size of the evaluation's DataLoader",
		From: fromFact(call.BatchSize), To: whole(float64(size)),
		Why: "without gradients no activations are kept for a backward pass, so more fits; what it gives depends " +
			"on the model",
		Caveat: "only where the device is not full already; metrics that are averaged per batch change, average per " +
			"sample"}}
}
