package rules

import (
	"fmt"
	"math"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// What one tensor of a few bytes costs, measured by the difference that 9, 99 and 399 more of them in a batch make.
var (
	takenLeast = diagnose.Limit{Name: "taking one tensor, at the least", Value: 0.2e-3, Unit: metric.Seconds,
		Source: "measured: wait of a trainer whose batches were ready, file_descriptor: 0.21 to 0.37 ms a tensor, of " +
			"them 0.16 to 0.24 of CPU (PyTorch 1.13 and 2.15, 2 CPUs of an AMD EPYC, Debian)"}
	takenMost = diagnose.Limit{Name: "taking one tensor, at the most", Value: 0.4e-3, Unit: metric.Seconds,
		Source: takenLeast.Source}
	sentLeast = diagnose.Limit{Name: "handing one tensor over, at the least", Value: 0.15e-3, Unit: metric.Seconds,
		Source: "measured: CPU time of a worker, file_descriptor: 0.18 to 0.24 ms a tensor (the same runs)"}
	sentMost = diagnose.Limit{Name: "handing one tensor over, at the most", Value: 0.25e-3, Unit: metric.Seconds,
		Source: sentLeast.Source}
	namedLeast = diagnose.Limit{Name: "part of these with the strategy file_system, at the least", Value: 0.1,
		Unit: metric.Ratio, Source: "measured: the trainer waits 0.02 to 0.08 ms a tensor, a worker takes 0.08 to " +
			"0.1 ms of CPU (the same runs)"}
	namedMost = diagnose.Limit{Name: "part of these with the strategy file_system, at the most", Value: 0.4,
		Unit: metric.Ratio, Source: namedLeast.Source}
)

var loaderManyTensors = diagnose.Rule{
	ID:       "loader/many-tensors",
	Title:    "A batch is handed over as very many tensors",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.BatchTensors, metric.NumWorkers, metric.BatchesPerS},
	Limits:   limits(takenLeast, takenMost, sentLeast, sentMost, namedLeast, namedMost, idleLimit),
	Applies:  withWorkers,
	Explains: []string{"loader/workers-too-few", "loader/prefetch-shallow", "cpu/decode-bound", "cpu/saturated"},
	Eval: func(p *diagnose.Pass) {
		tensors, size := p.Get(metric.BatchTensors), p.Evidence.Facts.BatchSize
		if size == nil || *size < 1 {
			p.Abstain("the batch size is unknown, and with it how many tensors are of one field",
				"give it: --batch-size")
			return
		}
		if tensors <= 0 || *size <= 1 {
			return
		}
		fields := math.Ceil(tensors / float64(*size))
		lo, hi := tensorsAtStake(p, tensors-fields)
		score := (lo + hi) / 2
		need, limit, short := descriptors(p, tensors)
		if score < diagnose.Moderate.Value && !short {
			return
		}
		f := report.Finding{Score: score, Evidence: seen(p, metric.BatchTensors, metric.NumWorkers, metric.BatchesPerS)}
		f.Summary = fmt.Sprintf("A batch is handed over with %s in lists of one entry a sample, each a shared-memory "+
			"file of its own", count(tensors, "tensor"))
		cure := report.Recommendation{Setting: "tensors of a batch", From: new(whole(tensors)),
			To: "one for each field, about " + whole(fields),
			Why: "pad, or concatenate and keep the lengths, in collate_fn; each tensor less is a file less to " +
				"make, send and map",
			Caveat: "the training loop then splits what it needs apart"}
		if score >= diagnose.Moderate.Value {
			f.Summary += fmt.Sprintf(": that takes %s of the step", between(lo, hi))
			cure.Effect = speedup(p, lo, hi, "the next part of the loader")
			f.Unhelpful = against("a deeper prefetch_factor: each batch is still taken tensor by tensor",
				deeperPrefetch)
		}
		f.Recommendations = []report.Recommendation{cure}
		if sharing := callOf(p).Sharing; sharing == byDescriptor && score >= diagnose.Moderate.Value {
			f.Recommendations = append(f.Recommendations,
				report.Recommendation{Setting: "torch.multiprocessing.set_sharing_strategy",
					From: new(sharing), To: byName,
					Why:    "a tensor then costs a tenth to two fifths (measured), and no descriptor",
					Caveat: "shared memory of a job that is killed may stay (PyTorch, torch.multiprocessing)",
					Effect: speedup(p, lo*(1-p.Limit(namedMost)), hi*(1-p.Limit(namedLeast)),
						"the next part of the loader")})
		}
		if short {
			f.Summary += fmt.Sprintf("; where a worker lags the trainer holds up to %s descriptors and may have %s: "+
				"beyond that the job ends", whole(need), whole(limit))
			f.Recommendations = append(f.Recommendations, report.Recommendation{Setting: "ulimit -n",
				From: new(whole(limit)), To: whole(math.Exp2(math.Ceil(math.Log2(2 * need)))),
				Why:    "room for the descriptors of all batches in the queue, and as much again",
				Caveat: "no change of speed is expected"})
		}
		p.Report(f)
	},
}

// The sharing strategies of torch.multiprocessing.
const (
	byDescriptor = "file_descriptor" // its default on Linux
	byName       = "file_system"
)

// tensorsAtStake is between which shares of the step handing so many tensors over takes: of the workers' time where
// they have none to spare, else of the trainer's.
func tensorsAtStake(p *diagnose.Pass, n float64) (lo, hi float64) {
	rate, least, most, part, atMost := n*p.Get(metric.BatchesPerS), p.Limit(takenLeast), p.Limit(takenMost),
		1.0, p.Stall()
	if saturated(p) {
		part = starved(p)
		rate, least, most, atMost = rate/p.Get(metric.NumWorkers), p.Limit(sentLeast), p.Limit(sentMost), part
	} else if pinned := p.Evidence.Facts.PinMemory; pinned != nil && *pinned {
		least = 0
	}
	if callOf(p).Sharing == byName {
		least, most = least*p.Limit(namedLeast), most*p.Limit(namedMost)
	}
	return min(part*share(rate*least), atMost), min(part*share(rate*most), atMost)
}

// descriptors are how many the trainer may hold for batches before their turn, and how many it may have open; short:
// these are too few.
func descriptors(p *diagnose.Pass, tensors float64) (need, limit float64, short bool) {
	call, prefetch := callOf(p), float64(predict.DefaultPrefetch)
	if call.OpenFiles == nil || call.Sharing != byDescriptor || call.PinMemory == nil || *call.PinMemory {
		return 0, 0, false
	}
	if call.Prefetch != nil {
		prefetch = float64(*call.Prefetch)
	}
	need, limit = tensors*p.Get(metric.NumWorkers)*prefetch, float64(*call.OpenFiles)
	return need, limit, limit > 0 && need > limit
}
