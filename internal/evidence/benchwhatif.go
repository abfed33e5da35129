package evidence

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// What a benchmark tried beside one worker with the files as they are: other chunk caches, more processes, the device alone,
// other layouts, another place, the user's own Python.

// withinBest is how near to the best a chunk cache must come to be named: a larger one that gains less is not worth its
// memory.
const withinBest = 1.1

// chunkCaches takes the chunk caches that were tried, each against the library's default.
func (b *benchBuilder) chunkCaches() {
	for _, s := range []struct {
		order      string
		size, gain metric.Desc
	}{{benchmark.Random, metric.BenchCacheSize, metric.BenchCacheGain},
		{benchmark.Sequential, metric.BenchCacheOrdered, metric.BenchCacheOrderedGain}} {
		var base, chosen benchmark.CacheSize
		best := math.Inf(1)
		for _, r := range b.rows.Caches {
			switch {
			case r.Order != s.order || r.Time.N == 0:
			case r.Bytes == benchmark.DefaultCache:
				base = r
			case r.Bytes > benchmark.DefaultCache:
				best = min(best, r.Time.Center)
			}
		}
		for _, r := range b.rows.Caches {
			enough := r.Order == s.order && r.Bytes > benchmark.DefaultCache && r.Time.N > 0 && r.Time.Center <= withinBest*best
			if enough && base.Bytes > 0 && (chosen.Bytes == 0 || r.Bytes < chosen.Bytes) {
				chosen = r
			}
		}
		b.set(s.size, amount(&chosen.Bytes), b.why(report.ProbeHDF5))
		b.set(s.gain, saved(measured(base.Time), measured(chosen.Time)), b.why(report.ProbeHDF5))
	}
}

// scaling takes the most processes that were measured within the usable CPUs, and what bends them.
func (b *benchBuilder) scaling() {
	var most benchmark.Processes
	for _, r := range b.rows.Scaling {
		within := r.Count >= 2 && float64(r.Count) <= b.get(metric.UsableCPUs).Center
		if within && r.Cache != benchmark.Cold && r.Rate.N > 0 && r.Count > most.Count {
			most = r
		}
	}
	workers := amount(&most.Count)
	workers.N = min(workers.N, most.Efficiency.N)
	b.ev.Bench.Bound = most.Bound
	b.set(metric.BenchWorkers, workers, b.why(report.ProbeScaling))
	b.set(metric.BenchEfficiency, measured(most.Efficiency), b.why(report.ProbeScaling))
}

// device takes what the storage gives past the page cache: of random reads in blocks that are nearest to an item's size, and
// in bytes at best. Reads that the page cache may have answered say nothing of it.
func (b *benchBuilder) device() {
	var bytes, reads, serial, latency Value
	best := func(a Value, s stat.Summary) Value {
		if v := measured(s); v.Center > a.Center {
			return v
		}
		return a
	}
	item := max(b.get(metric.BenchItemBytes).Center, 4096)
	distance := func(r benchmark.Device) float64 { return math.Abs(math.Log(float64(r.Block) / item)) }
	nearest := math.Inf(1)
	for _, r := range b.rows.Devices {
		if r.Mode == benchmark.PageCache {
			continue
		}
		bytes = best(bytes, r.Bytes)
		if random := r.Order == benchmark.Random && r.Block > 0 && r.Reads.N > 0; !random || distance(r) > nearest {
			continue
		}
		if distance(r) < nearest {
			nearest, reads, serial, latency = distance(r), Value{}, Value{}, Value{}
		}
		reads = best(reads, r.Reads)
		if r.Depth == 1 {
			serial, latency = measured(r.Reads), measured(r.Time)
		}
	}
	if latency.N == 0 {
		latency = quotient(exactly(1), serial)
	}
	why := b.why(report.ProbeDevice)
	b.set(metric.BenchDeviceBytes, bytes, why)
	b.set(metric.BenchDeviceReads, reads, why)
	b.set(metric.BenchSerialReads, serial, why)
	b.set(metric.BenchLatency, latency, why)
	cold := b.read(benchmark.Cold, benchmark.Random)
	b.set(metric.BenchDeviceRatio, quotient(quotient(measured(cold.Stored), measured(cold.Time)), bytes), why)
}

// candidates takes what --try measured.
func (b *benchBuilder) candidates() {
	var names []string
	byName := map[string]*Candidate{}
	for _, r := range b.rows.Tried {
		c := byName[r.Name]
		if c == nil {
			c = &Candidate{Name: r.Name, Command: r.Command}
			byName[r.Name] = c
			names = append(names, r.Name)
		}
		switch {
		case r.Size.N > 0:
			c.Stored = measured(r.Size)
		case r.Cache == benchmark.Cold:
			c.Cold = measured(r.Time)
		default:
			c.Item = measured(r.Time)
		}
	}
	asIs, best := &b.ev.Bench.AsIs, Value{}
	for _, name := range names {
		switch c := byName[name]; {
		case c.Item.N == 0:
		case name == benchmark.AsIs:
			*asIs = *c
		default:
			b.ev.Bench.Candidates = append(b.ev.Bench.Candidates, *c)
			if best.N == 0 || c.Item.Center < best.Center {
				best = c.Item
			}
		}
	}
	if asIs.Item.N == 0 {
		*asIs = Candidate{Name: benchmark.AsIs, Item: b.get(metric.BenchItem), Cold: b.get(metric.BenchColdItem)}
	}
	b.set(metric.BenchTryGain, saved(asIs.Item, best), b.why(report.ProbeTry))
}

// tiers takes what the same sample costs at another place: cold, where either can be; one in memory is never cold.
func (b *benchBuilder) tiers() {
	at := func(place string) Value {
		var v Value
		for _, r := range b.rows.Tiers {
			if r.Place == place && (v.N == 0 || r.Cache == benchmark.Cold) {
				v = measured(r.Time)
			}
		}
		return v
	}
	here, there := at(benchmark.Here), at(benchmark.Elsewhere)
	b.set(metric.BenchTierGain, saved(here, there), b.why(report.ProbeTier))
	b.ev.Bench.Compared = here.N > 0 && there.N > 0
}

// python takes what the user's own libraries need for an item: all of it where that was timed, with the file kept open if it
// can be, else decoding it after pipetune's own read.
func (b *benchBuilder) python() {
	read, list := b.get(metric.BenchRead), &b.ev.Bench.Decoders
	for _, item := range []func(benchmark.Library) Value{
		func(r benchmark.Library) Value { return wholeItem(r, r.Handle != benchmark.Reopened) },
		func(r benchmark.Library) Value { return wholeItem(r, true) },
		func(r benchmark.Library) Value {
			if read.N == 0 || r.Decode.N == 0 {
				return Value{}
			}
			return plus(read, measured(r.Decode))
		},
	} {
		for _, r := range b.rows.Python {
			known := slices.ContainsFunc(*list, func(d Decoder) bool { return d.Name == r.Name })
			if v := item(r); v.N > 0 && !known && b.delivers(r.Name) {
				*list = append(*list, Decoder{Name: r.Name, Version: r.Version, Item: v})
			}
		}
	}
	slices.SortStableFunc(*list, func(x, y Decoder) int { return cmp.Compare(x.Item.Center, y.Item.Center) })
	fastest := first(*list, func(Decoder) bool { return true }).Item
	b.set(metric.BenchPython, fastest, b.why(report.ProbePython))
}

// wholeItem is what a library by itself takes for an item that is in memory: no batches, no DataLoader around it.
func wholeItem(r benchmark.Library, wanted bool) Value {
	if !wanted || r.Cache != benchmark.Warm || r.Order == benchmark.Sequential || r.BatchSize != nil || r.Workers != nil {
		return Value{}
	}
	return measured(r.Item)
}

// delivers tells whether a library of the user's Python takes a whole item, by its name: PyTorch's rows are what it adds to
// one, and plain Python brings the bytes of a picture and decodes none.
func (b *benchBuilder) delivers(name string) bool {
	pictures := b.about.Kind == "image" || b.about.Kind == "tar"
	return !strings.HasPrefix(name, "torch ") && !(pictures && name == "python")
}
