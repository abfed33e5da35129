package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var hdf5ChunkMismatch = diagnose.Rule{
	ID:       "hdf5/chunk-mismatch",
	Title:    "HDF5 chunks do not match how items are read",
	Resource: report.HDF5,
	Needs: []metric.Desc{metric.NumWorkers, metric.HDF5Amplify, metric.HDF5Chunk, metric.HDF5Cache,
		metric.ReadBytes},
	Limits: limits(wasteLimit, gzipSpeed, fastSpeed, filterPart, firstRead, sampled, chunkPassing,
		diagnose.MemoryShare),
	Applies: onChunks,
	Explains: []string{"loader/workers-too-few", "loader/workers-zero", "cpu/decode-bound", "cpu/saturated",
		"hdf5/filter-cpu", "hdf5/cache-too-small", "storage/saturated"},
	Eval: func(p *diagnose.Pass) {
		amplify := p.Get(metric.HDF5Amplify)
		if amplify < p.Limit(wasteLimit) || p.Get(metric.HDF5Chunk) > p.Get(metric.HDF5Cache) || !readsInVain(p) {
			return
		}
		summary := fmt.Sprintf("Each item needs %s its own bytes from the file", times(amplify))
		if touched := p.OrZero(metric.HDF5Touched); touched > 1 {
			summary += fmt.Sprintf(", in %s chunks", unit.Number(touched))
		}
		c := inflation(p, amplify, summary)
		if p.OrZero(metric.HDF5Filters) < 1 { // nothing is decoded: what is lost is reading
			_, beyond, _ := readBeyond(p)
			c.part = share(beyond+waitsForStorage(p)) * (1 - 1/amplify)
		}
		c.report(p)
	},
	Measured: &diagnose.Measured{
		Needs: []metric.Desc{metric.BenchItem, metric.BenchItemBytes, metric.HDF5Chunk, metric.HDF5Cache,
			metric.HDF5Amplify, metric.HDF5Filters},
		Limits: limits(wasteLimit, plainOverhead, plainSpeed, plainLeast, layoutError, smallItem,
			diagnose.MemoryShare),
		Applies: inChunks,
		Eval:    mismatchMeasured,
	},
}

func mismatchMeasured(p *diagnose.Pass) {
	amplify, filters := p.Get(metric.HDF5Amplify), p.Get(metric.HDF5Filters)
	if amplify < p.Limit(wasteLimit) || filters >= 1 && p.Get(metric.HDF5Chunk) > p.Get(metric.HDF5Cache) {
		return
	}
	if _, ok := p.Maybe(metric.BenchFilter); filters >= 1 && !ok {
		missing(p, metric.BenchFilter)
		return
	}
	item, state := settled(p)
	holds := "its chunk of " + unit.Bytes(p.Get(metric.HDF5Chunk)) + " holds"
	if touched := p.OrZero(metric.HDF5Touched); touched > 1 {
		holds = "it lies in " + unit.Number(touched) + " chunks, which hold"
	}
	rechunked(p, amplify, fmt.Sprintf("An item of %s takes %s (%s) because %s %s its own bytes",
		unit.Bytes(p.Get(metric.BenchItemBytes)), unit.Seconds(item.Center), state, holds, times(amplify)))
}

// readsInVain reports whether the job really reads more than the batches of all its loaders hold: in order, neighbours
// come from the chunk cache. Where the batch's size is unknown the layout alone must do.
func readsInVain(p *diagnose.Pass) bool {
	batch, rate, ok := both(p, metric.BatchBytes, metric.BatchesPerS)
	return !ok || batch*rate <= 0 || p.Get(metric.ReadBytes) > batch*rate*loaders(p)
}
