package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var drawsFewer = threshold("part of drawing that goes with the indices that nobody takes", 0.9, metric.Ratio,
	"measured: WeightedRandomSampler of 100,000, 1 and 3 million weights draws 6,400 indices in 6, 1.1 and 0.5 % of "+
		"what as many as weights take (PyTorch 1.13 and 2.15, Debian): 93.5 to 99.9 % of the indices less, 94 to "+
		"99.5 % of the time")

var loaderSamplerCost = diagnose.Rule{
	ID:       "loader/sampler-cost",
	Title:    "The sampler draws indices while training waits",
	Resource: report.MainProcess,
	Limits:   limits(gainLimit, drawsFewer),
	Applies:  training,
	Explains: []string{"loader/workers-zero"},
	Eval: func(p *diagnose.Pass) {
		starting, began := p.Maybe(metric.SamplerTime)
		drawing := p.OrZero(metric.DrawTime)
		if !began && p.OrZero(metric.DrawTime) == 0 {
			if !diagnose.Hooked(p.Evidence) {
				p.Abstain("what the sampler takes is timed in a launched job only", "pipetune diagnose -- COMMAND")
			}
			return
		}
		step := drawing * p.OrZero(metric.BatchesPerS) // of a sampler that draws as the epoch goes on
		spent := min(share(max(starting, step)), p.Stall())
		if spent < p.Limit(gainLimit) || step > starting && callOf(p).Iterable {
			return // an iterable dataset is asked for a number of items only
		}
		f := report.Finding{Severity: gradeOutside(p, spent), Score: spent,
			Location:  diagnose.At(callOf(p).File, callOf(p).Line),
			Unhelpful: neitherMoreNorDeeper("indices are drawn in the main process")}
		if step > starting {
			f.Summary = fmt.Sprintf("%s takes %s of each step in the trainer's main thread to draw a batch's indices, "+
				"%s of the time", samplerOf(p), unit.Seconds(p.OrZero(metric.DrawTime)),
				unit.Percent(spent))
			if !diagnose.Hooked(p.Evidence) {
				f.Summary = fmt.Sprintf("The main thread runs %s of each step between taking a batch and asking "+
					"for the next one, %s of the time, as it does while a sampler draws a batch's indices",
					unit.Seconds(p.OrZero(metric.DrawTime)), unit.Percent(spent))
			}
			f.Evidence = seen(p, metric.DrawTime, metric.BatchesPerS, metric.TakeCPU, metric.IdleWhileWaits)
			f.Recommendations = []report.Recommendation{drawSeveral(p, spent)}
			if p.Stall()-spent >= diagnose.Moderate.Value {
				f.Unhelpful = within("drawing of indices", f.Unhelpful)
			}
		} else {
			f.Summary = fmt.Sprintf("%s takes %s in the trainer's main thread before each epoch's first batch, %s of "+
				"the time; no worker has anything to do meanwhile", samplerOf(p),
				unit.Seconds(p.OrZero(metric.SamplerStart)), unit.Percent(spent))
			f.Evidence = seen(p, metric.SamplerTime, metric.SamplerStart, metric.IdleWhileWaits)
			f.Recommendations = append([]report.Recommendation{drawLess(p, spent)}, drawOnce(p, spent)...)
			f.Unhelpful = within("epochs' beginnings", f.Unhelpful)
		}
		p.Report(f)
	},
}

// samplerOf names the sampler at the beginning of a sentence.
func samplerOf(p *diagnose.Pass) string {
	if name := callOf(p).Sampler; name != "" {
		return "The sampler (" + name + ")"
	}
	return "The sampler"
}

// torchSamplers is how the names of PyTorch's own samplers begin.
const torchSamplers = "torch.utils.data."

// drawSeveral recommends what makes drawing short where a sampler takes its time for each batch.
func drawSeveral(p *diagnose.Pass, spent float64) report.Recommendation {
	effect := speedup(p, 0, spent, "the training step itself")
	switch name := callOf(p).Sampler; {
	case name == evidence.AtRandom:
		return report.Recommendation{Setting: "batch_sampler", Effect: effect,
			To:  "one that gives slices of torch.randperm(n).tolist(), of batch_size indices each",
			Why: "PyTorch's own collects them one by one"}
	case strings.HasPrefix(name, torchSamplers) && !strings.HasSuffix(name, ".BatchSampler"):
		return report.Recommendation{Setting: "batch_sampler", Effect: effect,
			To:  "one that gives the same indices in the same order, a list of batch_size at a time",
			Why: "PyTorch's own collects them one by one"}
	}
	return report.Recommendation{Setting: "sampler", Effect: effect,
		To: "one that draws some thousand indices at once, and gives them one by one",
		Why: "a call for each index costs more than the index (numpy.random.choice with p= goes through all " +
			"weights each time); what is the same for all of them is computed once, in __init__"}
}

// drawLess recommends what makes the beginning of an epoch short: not to draw what the epoch does not take, where the
// loop leaves it earlier, and else to draw as the epoch goes on.
func drawLess(p *diagnose.Pass, spent float64) report.Recommendation {
	h := p.Reported()
	taken := h.Epoch.Batches.Center
	if c := h.Loader; c.NumSamples != nil && c.BatchSize != nil && h.Epochs == 0 && taken > 0 {
		needed := taken * float64(*c.BatchSize)
		unused := share(1 - needed/float64(*c.NumSamples))
		return report.Recommendation{Setting: "num_samples of the sampler", From: new(strconv.Itoa(*c.NumSamples)),
			To: whole(needed), Why: fmt.Sprintf("the loop leaves each epoch after %s batches of %d, for which all of "+
				"num_samples are drawn and made a list", whole(taken), *c.BatchSize),
			Effect: speedup(p, spent*unused*p.Limit(drawsFewer), spent, "the loader between epochs")}
	}
	return report.Recommendation{Setting: "sampler", To: "one that draws indices as they are asked for",
		Why: "__iter__ of a sampler or batch_sampler that is a generator, or draws a few thousand at a time with " +
			"numpy or torch, lets workers begin at once; what is the same in each epoch (lengths, weights, order) " +
			"can be computed once, in __init__",
		Caveat: "only as far as an epoch's order can be drawn piece by piece",
		Effect: speedup(p, 0, spent, "the loader between epochs")}
}

// drawOnce recommends to keep the workers where PyTorch has the sampler begin once more for new ones.
func drawOnce(p *diagnose.Pass, spent float64) []report.Recommendation {
	h := p.Reported()
	again := spent * share(h.Epoch.Redraw.Center/(h.Epoch.Draw.Center+h.Epoch.Redraw.Center))
	if again < p.Limit(gainLimit) {
		return nil
	}
	keep := keepWorkers(p, speedup(p, again, again+share(p.OrZero(metric.EpochGap)), "the loader between epochs"))
	keep.Why = fmt.Sprintf("for new workers PyTorch asks the sampler for an iterator twice, and drops the first: %s "+
		"each epoch, where __iter__ draws at once", unit.Seconds(h.Epoch.Redraw.Center))
	return []report.Recommendation{keep}
}
