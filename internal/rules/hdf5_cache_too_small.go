package rules

import (
	"fmt"
	"math/big"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var cacheKeeps = threshold("share of the dataset that a cache holds", 0.5, metric.Ratio,
	"derived: a cache that holds half of the dataset or more keeps the data itself, and every worker keeps its own")

var hdf5CacheTooSmall = diagnose.Rule{
	ID:    "hdf5/cache-too-small",
	Title: "A larger HDF5 chunk cache would pay",
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchCacheSize, metric.BenchCacheGain, metric.HDF5Chunk},
		Limits:  limits(cacheKeeps, plainOverhead, plainSpeed),
		Applies: inChunks,
		Eval:    cacheMeasured,
	},
}

func cacheMeasured(p *diagnose.Pass) {
	gain, _ := p.Evidence.Get(metric.BenchCacheGain)
	size, order := p.Get(metric.BenchCacheSize), "in random order"
	holds := held(p, size)
	part := undoing(p)
	score := min(gain.Center, holds, part)
	saves := score
	if !(score >= diagnose.Moderate.Value && gain.Lo > 0) {
		ordered, ok := p.Evidence.Get(metric.BenchCacheOrderedGain)
		if !ok || ordered.Center < diagnose.Moderate.Value || ordered.Lo <= 0 {
			return
		}
		order, score, saves = "in sequence only", 0, share(ordered.Center)
		size, _ = p.Maybe(metric.BenchCacheOrdered)
	}
	rec := report.Recommendation{Setting: "rdcc_nbytes of h5py.File", To: unit.Bytes(size),
		Why: fmt.Sprintf("h5py.File(path, \"r\", rdcc_nbytes=%.0f, rdcc_nslots=%d)", size,
			slots(size, p.Get(metric.HDF5Chunk))),
		Caveat: "each worker has this cache for each open dataset: multiply by num_workers before comparing with the " +
			"memory there is; " + keepDataset}
	if score > 0 {
		before, _ := p.Evidence.Get(metric.BenchItem)
		basis := report.Measured
		if score < gain.Center {
			basis = report.Modelled
		}
		after := spread(before.Lo*(1-min(gain.Hi, part)), before.Center*(1-score), before.Hi*(1-min(gain.Lo, score)))
		rec.Effect = quicker(before.Summary, after, basis, "")
	}
	f := report.Finding{
		Score: score,
		Summary: fmt.Sprintf("A chunk cache of %s saves %s of an item's time %s", unit.Bytes(size), unit.Percent(saves),
			order),
		Evidence: seen(p, metric.BenchCacheSize, metric.BenchCacheGain, metric.BenchCacheOrdered,
			metric.BenchCacheOrderedGain, metric.HDF5Chunk, metric.BenchItem, metric.BenchFilterRatio),
		Recommendations: []report.Recommendation{rec},
	}
	filters, known := p.Maybe(metric.HDF5Filters)
	switch {
	case score == 0:
		f.Unhelpful = largerCache(p)
	case holds >= p.Limit(cacheKeeps):
		f.Score = 0
		f.Summary += fmt.Sprintf("; it holds %s of the dataset, and each worker has its own", unit.Percent(holds))
	case known && filters < 1:
		f.Score = 0
		f.Summary += "; nothing is compressed, and the page cache has the data already"
	}
	p.Report(f)
}

// undoing is the share of an item's time that goes to undoing filters and to a plain read of its chunks, which is all
// that a cache of decoded chunks can save where the page cache answers; 1 where it was not measured.
func undoing(p *diagnose.Pass) float64 {
	filters, known := p.Maybe(metric.HDF5Filters)
	part, ok := p.Maybe(metric.BenchFilterRatio)
	if known && filters < 1 || !ok || p.Get(metric.BenchItem) <= 0 {
		return 1
	}
	return share(part + plain(max(p.OrZero(metric.HDF5Touched), 1)*p.Get(metric.HDF5Chunk))/p.Get(metric.BenchItem))
}

// held is the share of the dataset that a cache holds, as decoded data: of items in random order no more than that can
// be found in it, however many of a small sample were.
func held(p *diagnose.Pass, size float64) float64 {
	stored, ok := p.Maybe(metric.HDF5Stored)
	if !ok {
		stored, ok = p.Maybe(metric.DatasetBytes)
	}
	if !ok || stored <= 0 {
		return 0
	}
	return share(size / (stored * compression(p)))
}

// slots is the number of hash slots for a cache: the smallest prime that is at least a hundred times the chunks it
// holds (HDF5 reference manual, H5Pset_chunk_cache), and no less than the 521 that HDF5 gives by default.
func slots(cache, chunk float64) int {
	const most = 1 << 22 // a slot is a pointer of 8 bytes
	n := int64(min(max(100*cache/max(chunk, 1), 521), most))
	for !big.NewInt(n).ProbablyPrime(0) { // exact below 2⁶⁴
		n++
	}
	return int(n)
}
