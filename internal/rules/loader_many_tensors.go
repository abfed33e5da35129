package rules

import (
	"fmt"
	"math"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// What one tensor of a few bytes costs, measured by the difference that 9, 99 and 399 more of them in a batch make.
var (
	takenLeast = threshold("taking one tensor, at the least", 0.2e-3, metric.Seconds,
		"measured: wait of a trainer whose batches were ready, file_descriptor: 0.21 to 0.37 ms a tensor, of them "+
			"0.16 to 0.24 of CPU (PyTorch 1.13 and 2.15, 2 CPUs of an AMD EPYC, Debian)")
	takenMost  = threshold("taking one tensor, at the most", 0.4e-3, metric.Seconds, takenLeast.Source)
	takenFirst = threshold("what the first of a batch costs more, at the most", 1e-3, metric.Seconds,
		"measured: without CPUs to spare a step of 12 to 14 ms is shorter by file_system than by file_descriptor by "+
			"0.6 ms with one tensor, 1.1 to 1.8 with two, 1.4 to 1.9 with four (PyTorch 2.15, 2 CPUs of an AMD EPYC, "+
			"Debian)")
	sentLeast = threshold("handing one tensor over, at the least", 0.15e-3, metric.Seconds,
		"measured: CPU time of a worker, file_descriptor: 0.18 to 0.24 ms a tensor (the same runs)")
	sentMost   = threshold("handing one tensor over, at the most", 0.25e-3, metric.Seconds, sentLeast.Source)
	namedLeast = threshold("part of these with the strategy file_system, at the least", 0.1, metric.Ratio,
		"measured: the trainer waits 0.02 to 0.08 ms a tensor, a worker takes 0.08 to 0.1 ms of CPU (the same runs)")
	namedMost = threshold("part of these with the strategy file_system, at the most", 0.4, metric.Ratio,
		namedLeast.Source)
	batchLeast = threshold("taking a batch, but for its tensors, at the least", 0.3e-3, metric.Seconds,
		"measured: median wait for a batch that was ready, by batches of 1 to 17 tensors: 1.0 to 1.4 ms beside the "+
			"tensors' (PyTorch 1.13 and 2.15, 2 CPUs shared with others); at the least: "+handOver.Name+", 0.5 "+
			"ms, less a tensor")
	batchMost = threshold("taking a batch, but for its tensors, at the most", 1.4e-3, metric.Seconds, batchLeast.Source)
)

var loaderManyTensors = diagnose.Rule{
	ID:       "loader/many-tensors",
	Title:    "Handing batches over tensor by tensor holds the step up",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.TensorsPerBatch, metric.NumWorkers, metric.BatchesPerS},
	Limits: limits(takenLeast, takenMost, takenFirst, batchLeast, batchMost, sentLeast, sentMost, namedLeast, namedMost,
		idleLimit, pinAlways, diagnose.Most),
	Applies:  withWorkers,
	Explains: []string{"loader/workers-too-few", "loader/prefetch-shallow", "cpu/decode-bound", "cpu/saturated"},
	Eval: func(p *diagnose.Pass) {
		tensors := p.Get(metric.TensorsPerBatch)
		if tensors <= 0 {
			return
		}
		lo, hi := handingOver(p, tensors)
		score := (lo + hi) / 2
		costs := score >= diagnose.Moderate.Value
		need, limit, short := descriptors(p, tensors)
		if !costs && !short {
			return
		}
		f := report.Finding{Score: score, Evidence: seen(p, metric.TensorsPerBatch, metric.BatchTensors,
			metric.NumWorkers, metric.BatchesPerS, metric.IdleWhileWaits)}
		f.Summary = fmt.Sprintf("A batch is handed over as %s, each a shared-memory file of its own",
			count(tensors, "tensor"))
		effect := func(least, most float64) *report.Effect {
			if !costs {
				return nil
			}
			return speedup(p, lo*least, hi*most, "the next part of the loader")
		}
		if costs {
			f.Summary += fmt.Sprintf(": that takes %s of the step", between(lo, hi))
			f.Unhelpful = stillByTensors(p, score)
		}
		if oneByOne(p) && costs {
			f.Summary += "; each holds a single sample"
			f.Recommendations = append(f.Recommendations, report.Recommendation{Setting: "batch_size",
				From: new("None"), To: "as many samples as the loop puts together itself, if it does",
				Why: "workers then do that, and handing over is paid once for all of them; of two samples it is " +
					"half",
				Caveat: "the loop gets batches, and must not put them together again", Effect: effect(0.5, 1)})
		}
		if listed, fields := inLists(p); listed > fields {
			f.Summary += fmt.Sprintf("; %s of them in lists of one entry a sample", whole(listed))
			part := (listed - fields) / tensors
			f.Recommendations = append(f.Recommendations,
				report.Recommendation{Setting: "tensors of a batch", From: new(whole(tensors)),
					To: "one for each field, about " + whole(tensors-listed+fields),
					Why: "pad, or concatenate and keep the lengths, in collate_fn; each tensor less is a file less " +
						"to make, send and map",
					Caveat: "the training loop then splits what it needs apart", Effect: effect(part, part)})
		}
		if sharing := p.Facts.Sharing; sharing != evidence.ByName && costs {
			byName := speedup(p, lo*(1-p.Limit(namedMost)), (hi+ofFirst(p, hi))*(1-p.Limit(namedLeast)),
				"the next part of the loader")
			where := ""
			if sharing == "" {
				where = "where it is " + evidence.ByDescriptor + ", its default: "
			}
			f.Recommendations = append(f.Recommendations,
				report.Recommendation{Setting: "torch.multiprocessing.set_sharing_strategy",
					From: nonEmpty(sharing), To: evidence.ByName,
					Why:    where + "a tensor then costs a tenth to two fifths (measured), and no descriptor",
					Caveat: "shared memory of a job that is killed may stay (PyTorch, torch.multiprocessing)",
					Effect: byName})
		}
		if len(f.Recommendations) == 0 && !short {
			f.Severity = report.Info // where it goes, and no way to save it
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

// oneSample is up to how many samples a batch counts as one: some are not counted.
const oneSample = 1.01

// oneByOne reports whether the loader has no batch_size, and each of what it gives is one sample.
func oneByOne(p *diagnose.Pass) bool {
	batches, samples := p.OrZero(metric.BatchesPerS), p.OrZero(metric.SamplesPerS)
	return diagnose.Hooked(p.Evidence) && callOf(p).BatchSize == nil && batches > 0 && samples > 0 &&
		samples < oneSample*batches
}

// inLists is how many tensors of a batch are in lists of one entry a sample, and of how many fields they are; none
// where the hook did not count them, or the batch size is unknown.
func inLists(p *diagnose.Pass) (listed, fields float64) {
	listed, size := p.OrZero(metric.BatchTensors), p.Facts.BatchSize
	if size == nil || *size <= 1 {
		return 0, 0
	}
	return listed, math.Ceil(listed / float64(*size))
}

// stillByTensors speaks against other settings of the loader: in all, or, where the tensors are the lesser part of what
// is waited for, against them for this part.
func stillByTensors(p *diagnose.Pass, score float64) []report.Unhelpful {
	const why = "each batch is still taken tensor by tensor"
	list := neitherMoreNorDeeper(why)
	if saturated(p) {
		list = against("a deeper prefetch_factor: "+why, deeperPrefetch)
	}
	if score < p.Limit(diagnose.Most)*p.Stall() {
		list = within("taking batches", list)
	}
	return list
}

// handingOver is between which shares of the step handing so many tensors of each batch over takes: of the workers'
// time where they have none to spare, else of the trainer's. The trainer surely takes a batch while it waits and all
// its workers are idle, and of taking one the tensors have their part, however slow the machine is. Where more is
// waited so than tensors can take, it is for something else, and says nothing of them.
func handingOver(p *diagnose.Pass, n float64) (lo, hi float64) {
	least, most, rate := p.Limit(takenLeast), p.Limit(takenMost), n*p.Get(metric.BatchesPerS)
	full := saturated(p)
	if full {
		least, most, rate = p.Limit(sentLeast), p.Limit(sentMost), rate/p.Get(metric.NumWorkers)
	}
	if p.Facts.Sharing == evidence.ByName {
		least, most = least*p.Limit(namedLeast), most*p.Limit(namedMost)
	}
	lo, hi = rate*least, rate*most
	if full {
		return starved(p) * share(lo), starved(p) * share(hi)
	}
	wait, ready := steadyWait(p), steadyWait(p)-starved(p)-p.OrZero(metric.HeadOfLine)
	if cpu := p.OrZero(metric.MainCPU); cpu > 0 {
		hi *= 1 + p.OrZero(metric.MainRunDelay)/cpu // it waits for a CPU as well
	}
	if pinned := p.Facts.PinMemory; pinned != nil && *pinned {
		// a thread of its own takes them, beside the step
		if busy, ok := p.Maybe(metric.PinBusy); ok && busy < p.Limit(pinAlways) {
			return 0, 0
		}
		return 0, min(hi, wait)
	}
	part := [2]float64{n * least / (n*least + p.Limit(batchMost)), n * most / (n*most + p.Limit(batchLeast))}
	if ready*part[0] <= hi {
		lo, hi = max(lo, ready*part[0]), max(hi, ready*part[1])
	}
	hi = min(hi, wait*part[1])
	return min(lo, hi), hi
}

// ofFirst is what the first tensor of each batch may take of the step beside the share that handing over takes at the
// most, where the trainer waits for it.
func ofFirst(p *diagnose.Pass, most float64) float64 {
	if pinned := p.Facts.PinMemory; saturated(p) || pinned != nil && *pinned {
		return 0
	}
	return max(min(p.Limit(takenFirst)*p.Get(metric.BatchesPerS), steadyWait(p)-most), 0)
}

// descriptors are how many the trainer may hold for batches before their turn, and how many it may have open; short:
// these are too few.
func descriptors(p *diagnose.Pass, tensors float64) (need, limit float64, short bool) {
	call := callOf(p)
	if call.OpenFiles == nil || p.Facts.Sharing != evidence.ByDescriptor || call.PinMemory == nil ||
		*call.PinMemory {
		return 0, 0, false
	}
	need, limit = tensors*p.Get(metric.NumWorkers)*prefetchOf(p), float64(*call.OpenFiles)
	return need, limit, limit > 0 && need > limit
}
