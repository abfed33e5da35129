package bench

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// withinBest is how near to the best a chunk cache must come to be named: a larger one that gains less is not
// worth its memory.
const withinBest = 1.1

// ownCache is the chunk cache that the libhdf5 of the user's Python gives a dataset; before 2.0 where it is not known.
func (b *builder) ownCache() int64 {
	for _, r := range b.rows.Python {
		_, library, _ := strings.Cut(r.Version, "HDF5 ")
		if bytes, ok := format.ChunkCacheOf(library); ok && r.Name == "h5py" {
			return bytes
		}
	}
	return format.ChunkCacheBytes
}

// chunkCaches takes the chunk caches that were tried, each against the library's default, or the largest of those tried
// that is no more than it.
func (b *builder) chunkCaches() {
	for _, s := range []struct {
		order      string
		size, gain metric.Desc
	}{{benchmark.Random, metric.BenchCacheSize, metric.BenchCacheGain},
		{benchmark.Sequential, metric.BenchCacheOrdered, metric.BenchCacheOrderedGain}} {
		var base, chosen benchmark.CacheSize
		var larger []benchmark.CacheSize
		best := math.Inf(1)
		for _, r := range b.rows.Caches {
			switch {
			case r.Order != s.order || r.Time.N == 0:
			case r.Bytes <= b.ownCache():
				if r.Bytes > base.Bytes {
					base = r
				}
			default:
				larger, best = append(larger, r), min(best, r.Time.Center)
			}
		}
		for _, r := range larger {
			if r.Time.Center <= withinBest*best && base.Bytes > 0 && (chosen.Bytes == 0 || r.Bytes < chosen.Bytes) {
				chosen = r
			}
		}
		b.set(s.size, amount(chosen.Bytes), b.why(report.ProbeHDF5))
		b.set(s.gain, saved(measured(base.Time), measured(chosen.Time)), b.why(report.ProbeHDF5))
	}
}

// scaling takes the most processes that were measured within the usable CPUs, and what bends them.
func (b *builder) scaling() {
	var most benchmark.Processes
	for _, r := range b.rows.Scaling {
		within := r.Count >= 2 && float64(r.Count) <= b.get(metric.UsableCPUs).Center
		if within && r.Cache != benchmark.Cold && r.Rate.N > 0 && r.Count > most.Count {
			most = r
		}
	}
	workers := amount(most.Count)
	workers.N = min(workers.N, most.Efficiency.N)
	b.ev.Bench.Bound = most.Bound
	b.set(metric.BenchWorkers, workers, b.why(report.ProbeScaling))
	b.set(metric.BenchEfficiency, measured(most.Efficiency), b.why(report.ProbeScaling))
}

// device takes what the storage gives past the page cache: in bytes at best, and in random reads of the blocks
// that are nearest to an item's size. Reads that the page cache may have answered say nothing of it.
func (b *builder) device() {
	var bytes, reads, serial, latency stat.Summary
	item := float64(max(b.get(metric.BenchItemBytes).Center, 4096))
	nearest, least := int64(0), math.Inf(1)
	cached := func(r benchmark.Device) bool { return r.Mode == benchmark.PageCache }
	rows := slices.DeleteFunc(slices.Clone(b.rows.Devices), cached)
	for _, r := range rows {
		if r.Bytes.Center > bytes.Center {
			bytes = r.Bytes
		}
		distance := math.Abs(math.Log(float64(r.Block) / item))
		if r.Order != benchmark.Sequential && r.Block > 0 && r.Reads.N > 0 && distance < least {
			nearest, least = r.Block, distance
		}
	}
	for _, r := range rows {
		if r.Order == benchmark.Sequential || r.Block != nearest {
			continue
		}
		if r.Reads.Center > reads.Center {
			reads = r.Reads
		}
		if r.Depth == 1 {
			serial, latency = r.Reads, r.Time
		}
	}
	why, cold := b.why(report.ProbeDevice), b.read(benchmark.Cold, benchmark.Random)
	b.set(metric.BenchDeviceBytes, measured(bytes), why)
	b.set(metric.BenchDeviceReads, measured(reads), why)
	b.set(metric.BenchSerialReads, measured(serial), why)
	b.set(metric.BenchLatency, measured(latency), why)
	fetched := quotient(measured(cold.Stored), measured(cold.Time))
	b.set(metric.BenchDeviceRatio, quotient(fetched, measured(bytes)), why)
}

// candidates takes what --try measured.
func (b *builder) candidates() {
	var best evidence.Value
	asIs := evidence.Candidate{Name: benchmark.AsIs, Item: b.get(metric.BenchItem), Cold: b.get(metric.BenchColdItem)}
	for _, r := range b.rows.Tried {
		c := evidence.Candidate{Name: r.Name, Command: r.Command, Item: measured(r.Warm.Time),
			Cold: measured(r.Cold.Time), Stored: measured(r.Size)}
		switch {
		case c.Item.N == 0:
		case c.Name == benchmark.AsIs:
			asIs = c
		default:
			b.ev.Bench.Candidates = append(b.ev.Bench.Candidates, c)
			if best.N == 0 || c.Item.Center < best.Center {
				best = c.Item
			}
		}
	}
	b.ev.Bench.AsIs = asIs
	b.set(metric.BenchTryGain, saved(asIs.Item, best), b.why(report.ProbeTry))
}

// tiers takes what the same sample costs at another place: cold, where either can be; one in memory is never cold.
func (b *builder) tiers() {
	at := func(place string) evidence.Value {
		r := first(b.rows.Tiers, func(r benchmark.Tier) bool { return r.Place == place })
		if cold := measured(r.Cold.Time); cold.N > 0 {
			return cold
		}
		return measured(r.Warm.Time)
	}
	here, there := at(benchmark.Here), at(benchmark.Elsewhere)
	b.set(metric.BenchTierGain, saved(here, there), b.why(report.ProbeTier))
	b.ev.Bench.Compared = here.N > 0 && there.N > 0
}

// python takes what the user's own libraries need for an item: all of it where that was timed, with the file kept open
// or opened for each as a job does, else decoding it after pipetune's own read.
func (b *builder) python() {
	read, list := b.get(metric.BenchRead), &b.ev.Bench.Decoders
	for _, item := range []func(benchmark.Library) evidence.Value{
		func(r benchmark.Library) evidence.Value {
			return wholeItem(r, r.Handle == benchmark.Reopened == b.ev.OpensPerItem())
		},
		func(r benchmark.Library) evidence.Value { return wholeItem(r, true) },
		func(r benchmark.Library) evidence.Value {
			d := measured(r.Decode)
			return combined(read, d, read.Center+d.Center, read.Lo+d.Lo, read.Hi+d.Hi)
		},
	} {
		for _, r := range b.rows.Python {
			known := slices.ContainsFunc(*list, func(d evidence.Decoder) bool { return d.Name == r.Name })
			if v := item(r); v.N > 0 && !known && b.delivers(r.Name) {
				*list = append(*list, evidence.Decoder{Name: r.Name, Item: v})
			}
		}
	}
	slices.SortStableFunc(*list, func(x, y evidence.Decoder) int { return cmp.Compare(x.Item.Center, y.Item.Center) })
	ofTorch := func(name string) evidence.Value {
		return measured(first(b.rows.Python, func(r benchmark.Library) bool { return r.Name == name }).Item)
	}
	b.ev.Bench.Handover, b.ev.Bench.Loading = ofTorch("torch dataloader"), ofTorch(report.TorchReading)
	b.ev.Bench.InProcess = ofTorch(report.TorchInProcess)
	usual, _ := b.ev.Bench.Usual()
	b.set(metric.BenchPython, usual.Item, b.why(report.ProbePython))
}

// wholeItem is what a library by itself takes for an item that is in memory: no batches, no DataLoader around it.
func wholeItem(r benchmark.Library, wanted bool) evidence.Value {
	if !wanted || r.Cache != benchmark.Warm || r.Order == benchmark.Sequential || r.BatchSize != nil ||
		r.Workers != nil {
		return evidence.Value{}
	}
	return measured(r.Item)
}

// delivers reports whether a library of the user's Python takes a whole item, by its name: PyTorch's rows are what
// it adds to one, and plain Python brings the bytes of a picture and decodes none.
func (b *builder) delivers(name string) bool {
	pictures := format.Kind(b.about.Kind).Items().Pictures
	return !strings.HasPrefix(name, "torch ") && !(pictures && name == "python")
}
