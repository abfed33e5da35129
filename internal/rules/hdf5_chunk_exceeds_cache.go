package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var wasteLimit = threshold("read amplification", 2, metric.Count,
	"derived: above it, more than half of what is decoded for an item is thrown away")

// chunkPassing is what a chunk costs beside the read that it is decoded in: its memory is given back, and what was in
// the processor's caches is fetched anew.
var chunkPassing = threshold("time beside reading for each byte of a chunk passed through", 0.15e-9, metric.Seconds,
	"measured: a dataset looked up and let go for each item takes 0.11 to 0.18 ns more for each byte of a chunk of "+
		"64 KiB to 4 MiB than with one item of 4 KiB per chunk (h5py 3.7 and 3.16, Debian)")

var hdf5ChunkExceedsCache = diagnose.Rule{
	ID:       "hdf5/chunk-exceeds-cache",
	Title:    "Compressed HDF5 chunks do not fit the chunk cache",
	Resource: report.HDF5,
	Needs: []metric.Desc{metric.NumWorkers, metric.HDF5Filters, metric.HDF5Chunk, metric.HDF5Cache,
		metric.HDF5Amplify, metric.ReadBytes},
	Limits: limits(wasteLimit, gzipSpeed, fastSpeed, filterPart, firstRead, sampled, chunkPassing,
		diagnose.MemoryShare),
	Applies: onChunks,
	Explains: []string{"loader/workers-too-few", "cpu/decode-bound", "cpu/saturated", "loader/workers-zero",
		"hdf5/filter-cpu", "hdf5/reopened-per-item", "hdf5/cache-too-small", "storage/saturated"},
	Eval: func(p *diagnose.Pass) {
		if neverKept(p) {
			inflation(p, p.Get(metric.HDF5Amplify), neverKeptSaid(p, "")).report(p)
		}
	},
	Measured: &diagnose.Measured{
		Needs: []metric.Desc{metric.BenchItem, metric.BenchFilter, metric.HDF5Filters, metric.HDF5Chunk,
			metric.HDF5Cache, metric.HDF5Amplify},
		Limits: limits(wasteLimit, plainOverhead, plainSpeed, plainLeast, layoutError, smallItem,
			diagnose.MemoryShare),
		Applies: func(p *diagnose.Pass) bool { return inChunks(p) && filtered(p) },
		Eval: func(p *diagnose.Pass) {
			if neverKept(p) {
				rechunked(p, p.Get(metric.HDF5Amplify), neverKeptSaid(p, ", which takes "+
					unit.Seconds(p.Get(metric.BenchFilter))))
			}
		},
	},
}

// neverKept reports whether chunks are decompressed for a part of what they hold, and are too large to be kept.
func neverKept(p *diagnose.Pass) bool {
	return p.Get(metric.HDF5Filters) >= 1 && p.Get(metric.HDF5Chunk) > p.Get(metric.HDF5Cache) &&
		p.Get(metric.HDF5Amplify) >= p.Limit(wasteLimit)
}

func neverKeptSaid(p *diagnose.Pass, takes string) string {
	return fmt.Sprintf("Each item decompresses a chunk of %s, %s what it needs%s: the chunk is larger than the %s "+
		"chunk cache and is never kept", unit.Bytes(p.Get(metric.HDF5Chunk)), times(p.Get(metric.HDF5Amplify)), takes,
		unit.Bytes(p.Get(metric.HDF5Cache)))
}

// inflation is the cause of rules about chunks that are decoded in vain.
func inflation(p *diagnose.Pass, amplify float64, summary string) cause {
	split, _ := loadingOf(p)
	lo, hi := undone(p, split)
	lo, hi = lo*(1-1/amplify), hi*(1-1/amplify)
	if _, counted := p.Maybe(metric.BatchBytes); counted && readsInVain(p) {
		// and what of it storage brings is waited for in vain as well
		hi = share(hi + waitsForStorage(p)*(1-1/amplify))
	}
	if m := madeOf(p); m.item > 0 { // what passing a whole chunk through costs beside reading it
		given := max(p.OrZero(metric.HDF5Touched), 1) * p.Get(metric.HDF5Chunk) * chunkPassing.Value / m.item
		hi = share(hi + min(m.other, given)*(1-1/amplify))
	}
	rec := report.Recommendation{Setting: "HDF5 chunk shape", From: nonEmpty(layoutOf(p).Chunk), To: newChunk(p),
		Why: "an item then decodes only itself", Caveat: "smaller chunks compress less and make the file larger; " +
			keepOld, Command: repack(p)}
	instead, unhelpful := cacheOfAll(p)
	rec.Caveat += instead
	return cause{part: hi, lo: lo, hi: hi, summary: summary + readSaid(p), change: rec,
		seen: seen(p, metric.MadeItem, metric.MadeRead, metric.HDF5Chunk, metric.HDF5Cache, metric.HDF5Item,
			metric.HDF5PerChunk, metric.HDF5Amplify, metric.HDF5Filters, metric.HDF5Stored, metric.WorkerRunning,
			metric.ReadBytes),
		unhelpful: slices.Concat(unhelpful, tooSlowly(p), notStorage(p))}
}

// keepDataset says what else a chunk cache takes: it belongs to the open dataset. Of random items in 64-item
// chunks that a cache held, f["x"][i] gave 190 a second, and with the dataset kept 3,200 to 16,900.
const keepDataset = "and keep the dataset too, x = f[\"…\"]: its cache ends with it, so f[\"…\"][i] unpacks its " +
	"chunk anew"

// cacheOfAll says of a chunk cache that holds all of the dataset in each worker, for a job that reads in random order,
// what it takes instead of a rewrite, where half of the memory that is left holds those of all workers, which live on;
// else that a larger one does not help.
func cacheOfAll(p *diagnose.Pass) (instead string, unhelpful []report.Unhelpful) {
	const because = ": in random order the next item lies in another chunk"
	chunk := p.Get(metric.HDF5Chunk)
	all, ok := decoded(p)
	if !ok || chunk <= 0 {
		return "", against("a larger chunk cache, unless it holds most of the dataset"+because, biggerCache)
	}
	lives := p.Facts.Persistent == nil || *p.Facts.Persistent
	room, known := p.Maybe(metric.Available)
	if each := chunks(p) * chunk; each > 0 && known && lives && p.OrZero(metric.HDF5Filters) >= 1 {
		takes := each * max(p.Get(metric.NumWorkers), 1) * loaders(p)
		if takes <= p.Limit(diagnose.MemoryShare)*room {
			return fmt.Sprintf("; or leave the file as it is, open it once in each worker, and keep all of it "+
				"decoded: h5py.File(path, \"r\", rdcc_nbytes=%.0f, rdcc_nslots=%d), %s in all; %s", each,
				slots(each, chunk), unit.Bytes(takes), keepDataset), nil
		}
	}
	return "", against(fmt.Sprintf("a larger chunk cache, unless it holds most of the dataset (%s decoded, in each "+
		"worker; rdcc_nslots a prime some hundred times the chunks in it: %d)%s", unit.Bytes(all), slots(all, chunk),
		because), biggerCache)
}
