package rules

import (
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	collateShare = threshold("collate_fn's share of making a batch", diagnose.High.Value, metric.Ratio,
		"derived: a part of the loading time that is high by the grades of the step")
	collateSpeed = threshold("speed of collating by one copy", 1e9, metric.BytesPerS,
		"measured: default_collate in a worker, into new shared memory, batches of 0.8 to 154 MB: 1.2 to 1.6 GB/s "+
			"(PyTorch 1.13, 2.6 and 2.14, 2 CPUs of an AMD EPYC, Debian); less than the least of them, for older "+
			"machines")
	collateFixed = threshold("collating whatever the bytes", 1e-3, metric.Seconds,
		"measured: default_collate of 32 small tensors 0.1 ms in a worker, of 32 dicts with 50 tensors each 0.3 ms "+
			"(PyTorch 1.13, Debian); handing a batch over takes 0.5 to 1.1 ms anyway")
	collateFloor = threshold("part of what copying takes, below which collating costs nothing", 0.5, metric.Ratio,
		"derived: the quickest collating that was measured takes 0.62 of the reference (1.6 GB/s against 1 GB/s); "+
			"what is quicker still copies no batch, as where __getitems__ made it already")
	collateLeast = threshold("part of the avoidable time that goes, at the least", 0.5, metric.Ratio,
		"measured: 64 lists of 200 to 512 numbers padded value by value 48 ms, as one list 1.0, pad_sequence of "+
			"tensors 0.1 ms; 64 pictures joined by cat in a loop 215 ms, stacked 18 ms: 92 to 99 % go (PyTorch 1.13, "+
			"Debian); half of it is promised")
)

var loaderCollateCost = diagnose.Rule{
	ID:       "loader/collate-cost",
	Title:    "Putting samples together takes much of making a batch",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.CollateRatio, metric.FetchTime},
	Limits:   limits(collateShare, collateSpeed, collateFixed, collateFloor, collateLeast, diagnose.Most, gainLimit),
	Applies:  training,
	Explains: []string{"loader/workers-too-few", "loader/workers-zero", "cpu/decode-bound", "cpu/saturated",
		"image/png-decode"},
	Eval: func(p *diagnose.Pass) {
		ratio, fetch := share(p.Get(metric.CollateRatio)), p.Get(metric.FetchTime)
		if ratio < p.Limit(collateShare) || starved(p)*ratio < p.Limit(gainLimit) || fetch <= 0 {
			return
		}
		took := ratio * fetch
		size, known := p.Maybe(metric.BatchBytes)
		copying := p.Limit(collateFixed) + max(size, 0)/p.Limit(collateSpeed)
		own := took // without the time a worker stands in the run queue, which is nobody's function
		if cpu, ok := p.Maybe(metric.FetchCPU); ok && cpu > 0 {
			own = min(own, cpu)
		}
		if own < p.Limit(collateFloor)*copying || noticed(p, own) < p.Limit(gainLimit) {
			return
		}
		excess := share(1 - copying/own)
		f := report.Finding{Evidence: seen(p, metric.CollateRatio, metric.FetchTime, metric.MadeCollate,
			metric.BatchBytes, metric.FetchCPU)}
		f.Summary = fmt.Sprintf("%s takes %s of making a batch: %s", collateName(p), unit.Percent(ratio),
			unit.Seconds(took))
		if known && size > 0 {
			f.Summary += fmt.Sprintf(", where copying its %s takes about %s", unit.Bytes(size), unit.Seconds(copying))
		}
		if excess < p.Limit(diagnose.Most) {
			f.Severity = report.Info // the score stays 0: what it does is needed
			f.Recommendations = []report.Recommendation{{Setting: "bytes of a batch", From: new(unit.Bytes(size)),
				To: "fewer", Why: "the function copies, and does little else: what is stored as uint8 can stay so " +
					"until it is on the GPU, a quarter of float32; how much that saves depends on the data"}}
			p.Report(f)
			return
		}
		f.Score = starved(p) * ratio * excess
		f.Recommendations = collateCures(p, ratio*excess)
		f.Unhelpful = tooSlowly(p)
		if m := madeOf(p); m.open+m.read+m.archive+m.decode < m.collate {
			f.Unhelpful = append(f.Unhelpful, against("faster storage or a faster decoder: collate_fn takes longer "+
				"than both", moved, report.Unhelpful{Setting: "decoder", Direction: report.Any})...)
		}
		p.Report(f)
	},
}

// noticed is what so many seconds of each batch are of a worker's time for one, all of them where no rate of batches is
// known.
func noticed(p *diagnose.Pass, seconds float64) float64 {
	rate, workers, ok := both(p, metric.BatchesPerS, metric.NumWorkers)
	if !ok || rate <= 0 {
		return 1
	}
	return seconds * rate / max(workers, 1)
}

// collateName is the function as it stands in a sentence.
func collateName(p *diagnose.Pass) string {
	if c := callOf(p).Collate; c != "" {
		return "collate_fn (" + c + ")"
	}
	return "collate_fn"
}

// defaultCollate reports whether the job uses PyTorch's own function.
func defaultCollate(p *diagnose.Pass) bool {
	name := callOf(p).Collate
	name = name[strings.LastIndex(name, ".")+1:]
	return name == "default_collate" || name == "default_convert"
}

// collateCures are what to do about avoidable, a share of making a batch.
func collateCures(p *diagnose.Pass, avoidable float64) []report.Recommendation {
	first := report.Recommendation{Setting: "collate_fn", To: "one allocation and one copy of each tensor",
		Why: "torch.stack or pad_sequence on whole tensors, or a batch that is allocated once and filled; no cat " +
			"in a loop, no tensor for each value; padding can also be done on the GPU",
		Caveat: "work that the function does besides copying (tokenizing, mixing) stays",
		From:   nonEmpty(callOf(p).Collate), Falls: metric.MadeCollate.Name}
	if defaultCollate(p) {
		first = report.Recommendation{Setting: "what __getitem__ returns", To: "a few arrays or tensors",
			Why: "default_collate goes through lists and dicts value by value: 64 lists of 512 numbers took it " +
				"2.7 ms, 64 arrays 0.1 ms (measured)",
			Caveat: "the training loop then takes the values apart"}
	}
	first.Effect = saving(p, avoidable*collateLeast.Value, avoidable, false)
	// a function of the job's own does more than stacking, which nothing would do then
	if callOf(p).Iterable || lacks(p, fetchesAll) || !defaultCollate(p) {
		return []report.Recommendation{first}
	}
	return []report.Recommendation{first, {Setting: "__getitems__ of the dataset", To: "the whole batch in one call, " +
		"with collate_fn=lambda batch: batch",
		Why: "a dataset that gets all indices at once can fill one array; how much that saves depends on how it " +
			"reads",
		Caveat: "for map-style datasets; a lambda cannot be pickled for spawned workers: name the function there"}}
}
