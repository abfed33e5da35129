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
	Doc: `
## What it means
Chunks hold parts of many items, so one item touches many chunks, or drags its neighbours in. h5py's automatic chunking does this: for
(1000, 224, 224, 3) bytes it chooses (125, 28, 28, 1), and one picture touches 192 chunks of 125 pictures each.

## How it is detected
The bytes of the chunks an item touches are at least twice the item's own, the chunks fit the cache (else see hdf5/chunk-exceeds-cache), and
the loading processes read or decode for a good part of their time. A launched job tells what reading an item takes, also where nothing is decoded and the time goes
to visiting many chunks.

## How to mend it
Rewrite the dataset with one item per chunk: h5repack -l images:CHUNK=1x224x224x3 in.h5 out.h5

## When it is wrong
For items read in order, neighbours come from the chunk cache and nothing is lost. What is at stake is therefore inferred from the bytes
really read, not from the layout.
`,
	Needs:    []metric.Desc{metric.NumWorkers, metric.HDF5Amplify, metric.HDF5Chunk, metric.HDF5Cache, metric.ReadBytes},
	Limits:   limits(wasteLimit, gzipSpeed, fastSpeed, filterPart),
	Applies:  onChunks,
	Explains: []string{"loader/workers-too-few", "cpu/decode-bound", "cpu/saturated", "hdf5/filter-cpu", "hdf5/cache-too-small", "storage/saturated"},
	Eval: func(p *diagnose.Pass) error {
		amplify := p.Get(metric.HDF5Amplify)
		filters, _ := p.Maybe(metric.HDF5Filters)
		if amplify < p.Limit(wasteLimit.Name) || p.Get(metric.HDF5Chunk) > p.Get(metric.HDF5Cache) || !readsInVain(p) {
			return nil
		}
		touched, _ := p.Maybe(metric.HDF5Touched)
		summary := fmt.Sprintf("Each item needs %s its own bytes from the file", times(amplify))
		if touched > 1 {
			summary += fmt.Sprintf(", in %s chunks", unit.Number(touched))
		}
		f := inflation(p, amplify, summary)
		if filters < 1 { // nothing is decoded: what is lost is reading
			beyond, _ := readBeyond(p)
			f.Score = starved(p) * share(beyond+waitsForStorage(p)) * (1 - 1/amplify)
			f.Severity = diagnose.Grade(f.Score)
		}
		p.Report(f)
		return nil
	},
	Measured: &diagnose.Measured{
		How: `
The layout is read from the file, and an item in random order must really take longer than one that lies in one piece: by what --try measured
or, without it, by its part of the filters' time and a plain read.
`,
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchItemBytes, metric.HDF5Chunk, metric.HDF5Cache, metric.HDF5Amplify, metric.HDF5Filters},
		Limits:  limits(wasteLimit, plainOverhead, plainSpeed, layoutError, smallItem, diagnose.MemoryShare),
		Applies: inChunks,
		Eval:    mismatchMeasured,
	},
}

func mismatchMeasured(p *diagnose.Pass) error {
	amplify, filters := p.Get(metric.HDF5Amplify), p.Get(metric.HDF5Filters)
	if amplify < p.Limit(wasteLimit.Name) || filters >= 1 && p.Get(metric.HDF5Chunk) > p.Get(metric.HDF5Cache) {
		return nil
	}
	if _, ok := p.Maybe(metric.BenchFilter); filters >= 1 && !ok {
		return missing(p, metric.BenchFilter)
	}
	item, state := settled(p)
	summary := fmt.Sprintf("An item of %s takes %s (%s)", unit.Bytes(p.Get(metric.BenchItemBytes)), unit.Seconds(item.Center), state)
	if touched, ok := p.Maybe(metric.HDF5Touched); ok && touched > 1 {
		summary += fmt.Sprintf(" because it lies in %s chunks, which hold %s its own bytes", unit.Number(touched), times(amplify))
	} else {
		summary += fmt.Sprintf(" because its chunk of %s holds %s its own bytes", unit.Bytes(p.Get(metric.HDF5Chunk)), times(amplify))
	}
	if f, ok := rechunked(p, amplify, summary); ok {
		p.Report(f)
	}
	return nil
}

// readsInVain tells whether the job really reads more than its batches hold: in order, neighbours come from the chunk cache. Where the
// batch's size is unknown the layout alone must do.
func readsInVain(p *diagnose.Pass) bool {
	batch, ok := p.Maybe(metric.BatchBytes)
	rate, ok2 := p.Maybe(metric.BatchesPerS)
	if !ok || !ok2 || batch*rate <= 0 {
		return true
	}
	return p.Get(metric.ReadBytes) > batch*rate
}
