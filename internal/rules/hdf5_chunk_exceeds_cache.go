package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var wasteLimit = diagnose.Limit{Name: "read amplification", Value: 2, Unit: metric.Count,
	Source: "derived: above it, more than half of what is decoded for an item is thrown away"}

var hdf5ChunkExceedsCache = diagnose.Rule{
	ID:       "hdf5/chunk-exceeds-cache",
	Title:    "Compressed HDF5 chunks do not fit the chunk cache",
	Resource: report.HDF5,
	Doc: `
## What it means
HDF5 decompresses whole chunks. A chunk that is larger than the chunk cache (1 MiB before HDF5 2.0, 8 MiB from it on) is never kept, so
each item decompresses its whole chunk again, and all but one item of it is thrown away. Measured for random items, warm cache:
48 KiB items in 12 MiB gzip chunks cost 98 to 118 ms each, one item per chunk 0.4 ms.

## How it is detected
The layout of the largest dataset in the open file: it has filters, its chunk is larger than the cache, and an item needs only a part of
it. How much of the workers' CPU time that takes is inferred from the bytes they read, how well the dataset compresses and measured
decompression speeds; a launched job tells what reading an item takes, and the part beyond a plain read is measured. The cache size is HDF5's default for the library the job uses; a job that sets rdcc_nbytes itself may have another.

## How to mend it
Rewrite the dataset with one item per chunk, or without compression:

    h5repack -l images:CHUNK=1x224x224x3 in.h5 out.h5
    h5repack -f images:NONE in.h5 out.h5

## When it is wrong
A larger chunk cache (h5py.File(rdcc_nbytes=..., rdcc_nslots=...)) helps only sequential reading, or when it holds most of the
dataset: in random order the next item is in another chunk. An uncompressed chunk of any size costs nothing extra, as only the
selected bytes are read then; the rule is quiet for those.
`,
	Needs:   []metric.Desc{metric.NumWorkers, metric.HDF5Filters, metric.HDF5Chunk, metric.HDF5Cache, metric.HDF5Amplify, metric.ReadBytes},
	Limits:  limits(wasteLimit, gzipSpeed, fastSpeed, filterPart),
	Applies: onChunks,
	Explains: []string{"loader/workers-too-few", "cpu/decode-bound", "cpu/saturated", "loader/workers-zero", "hdf5/filter-cpu", "hdf5/reopened-per-item", "hdf5/cache-too-small",
		"storage/saturated"},
	Eval: func(p *diagnose.Pass) error {
		chunk, cache, amplify := p.Get(metric.HDF5Chunk), p.Get(metric.HDF5Cache), p.Get(metric.HDF5Amplify)
		if p.Get(metric.HDF5Filters) < 1 || chunk <= cache || amplify < p.Limit(wasteLimit.Name) {
			return nil
		}
		p.Report(inflation(p, amplify, fmt.Sprintf("Each item decompresses a chunk of %s, %s what it needs: the chunk is larger than the %s chunk cache and is never kept",
			unit.Bytes(chunk), times(amplify), unit.Bytes(cache))))
		return nil
	},
	Measured: &diagnose.Measured{
		How: `
The layout is read from the file, and the CPU time in filters is measured: reading items less reading the same chunks raw. What one item per
chunk would take is measured by --try; without it, it is the item's part of the filters' time and a plain read.
`,
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchFilter, metric.HDF5Filters, metric.HDF5Chunk, metric.HDF5Cache, metric.HDF5Amplify},
		Limits:  limits(wasteLimit, plainOverhead, plainSpeed, layoutError, smallItem, diagnose.MemoryShare),
		Applies: func(e *evidence.Evidence) bool { return inChunks(e) && filtered(e) },
		Eval: func(p *diagnose.Pass) error {
			chunk, cache, amplify := p.Get(metric.HDF5Chunk), p.Get(metric.HDF5Cache), p.Get(metric.HDF5Amplify)
			if p.Get(metric.HDF5Filters) < 1 || chunk <= cache || amplify < p.Limit(wasteLimit.Name) {
				return nil
			}
			if f, ok := rechunked(p, amplify, fmt.Sprintf("Each item decompresses a chunk of %s, %s what it needs, which takes %s: the chunk is larger than the %s chunk cache and is never kept",
				unit.Bytes(chunk), times(amplify), unit.Seconds(p.Get(metric.BenchFilter)), unit.Bytes(cache))); ok {
				p.Report(f)
			}
			return nil
		},
	},
}

// inflation is the finding of rules about chunks that are decoded in vain.
func inflation(p *diagnose.Pass, amplify float64, summary string) report.Finding {
	split, _ := loadingOf(p)
	lo, hi := undone(p, split)
	lo, hi = lo*(1-1/amplify), hi*(1-1/amplify)
	if _, counted := p.Maybe(metric.BatchBytes); counted && readsInVain(p) { // and what of it storage brings is waited for in vain as well
		hi = share(hi + waitsForStorage(p)*(1-1/amplify))
	}
	score := starved(p) * hi
	rec := report.Recommendation{Setting: "HDF5 chunk shape", From: chunkShape(p), To: newChunk(p),
		Why:    "an item then decodes only itself",
		Caveat: "smaller chunks compress less and make the file larger; write a copy and keep the old file until it is checked"}
	if command := repack(p); command != "" {
		rec.Why += ": " + command
	}
	if loader, ok := p.Loader(); ok {
		rec.Effect = loader.Saving(lo, hi)
	}
	return report.Finding{
		Severity: diagnose.Grade(score), Score: score, Summary: summary + readSaid(p),
		Evidence: seen(p, metric.MadeItem, metric.MadeRead, metric.HDF5Chunk, metric.HDF5Cache, metric.HDF5Item, metric.HDF5PerChunk, metric.HDF5Amplify, metric.HDF5Filters, metric.HDF5Stored,
			metric.WorkerRunning, metric.ReadBytes),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       slices.Concat(against(cacheOfAll(p), biggerCache), tooSlowly(p), notStorage(p)),
	}
}

// cacheOfAll says when a larger chunk cache would help a job that reads in random order, and how large it had to be.
func cacheOfAll(p *diagnose.Pass) string {
	const because = ": in random order the next item lies in another chunk"
	chunk := p.Get(metric.HDF5Chunk)
	all, ok := decoded(p)
	if !ok || chunk <= 0 {
		return "a larger chunk cache, unless it holds most of the dataset" + because
	}
	return fmt.Sprintf("a larger chunk cache, unless it holds most of the dataset (%s decoded, in each worker; rdcc_nslots a prime some hundred times the chunks in it: %d)%s",
		unit.Bytes(all), slots(all, chunk), because)
}
