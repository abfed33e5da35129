package evidence

import (
	"math"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// undecoded tells whether items must be decoded and it is not known what that takes: a run that ended early, or pictures of which none could be
// decoded. What an archive holds may be no pictures at all; the probe that looks for them then says that there are none.
func (b *benchBuilder) undecoded() {
	if b.find(report.ProbeDecode, metric.DecodeTime, is{}).N > 0 {
		return
	}
	_, refused := b.abstention(report.ProbeDecode)
	refused = refused && !b.about.Interrupted
	switch b.about.Kind {
	case "image":
		b.ev.Bench.Undecoded, b.ev.Bench.NoneDecode = true, refused && len(b.about.Unread) > 0
	case "tar":
		b.ev.Bench.Undecoded = !refused
	}
}

// decoding is what decoding adds to reading a mean item. One format's figure is that of any picture. Of several formats, a single process of the
// scaling probe went through all items as they are mixed: what it took beyond reading is decoding. Without it, the figure lies somewhere
// between those of the formats.
func (b *benchBuilder) decoding(read Value) Value {
	rows := b.each(report.ProbeDecode, metric.DecodeTime, is{})
	if len(rows) == 0 {
		return Value{}
	}
	for _, m := range rows {
		if f := m.Labels[report.LabelFormat]; !slices.Contains(b.ev.Bench.Formats, f) {
			b.ev.Bench.Formats = append(b.ev.Bench.Formats, f)
		}
	}
	first := figure(rows[0])
	if len(rows) == 1 {
		return first
	}
	rate := b.find(report.ProbeScaling, metric.ItemRate, seenWarm().and(report.LabelWorkers, "1").and(report.LabelOrder, "random", ""))
	if read.N > 0 && rate.N > 0 && rate.Lo > 0 && 1/rate.Center > read.Center {
		return Value{stat.Summary{Center: 1/rate.Center - read.Center, Lo: max(1/rate.Hi-read.Hi, 0), Hi: 1/rate.Lo - read.Lo,
			Confidence: min(rate.Confidence, read.Confidence), N: min(rate.N, read.N)}, weaker(rate, read)}
	}
	mixed := Value{stat.Summary{Lo: first.Lo, Hi: first.Hi, N: first.N}, metric.Inferred}
	for _, m := range rows {
		v := figure(m)
		mixed.Center += v.Center / float64(len(rows))
		mixed.Lo, mixed.Hi, mixed.N = min(mixed.Lo, v.Lo), max(mixed.Hi, v.Hi), min(mixed.N, v.N)
	}
	return mixed
}

// items takes what one item costs one worker: reading it, decoding it where it is encoded, and opening its file where each item must. The
// read probe opens pictures itself, and keeps other files open.
func (b *benchBuilder) items() {
	read := func(l is) Value {
		return b.find(report.ProbeRead, metric.ItemTime, l.and(report.LabelHandle, "kept", ""))
	}
	b.set(metric.BenchRead, read(seenWarm().and(report.LabelOrder, "random")))
	decode := b.decoding(b.get(metric.BenchRead))
	b.set(metric.BenchDecode, decode)
	for _, s := range []struct {
		d     metric.Desc
		cache func() is
		order string
	}{{metric.BenchItem, seenWarm, "random"}, {metric.BenchColdItem, cold, "random"}, {metric.BenchOrdered, seenWarm, "sequential"}, {metric.BenchColdOrdered, cold, "sequential"}} {
		if v := read(s.cache().and(report.LabelOrder, s.order)); v.N > 0 && !b.ev.Bench.Undecoded {
			b.set(s.d, plus(plus(v, decode), b.opening(s.cache())))
		}
	}
	b.set(metric.BenchStorage, notBelow(saved(b.get(metric.BenchColdItem), b.get(metric.BenchItem))))
	for _, probe := range []string{report.ProbeHDF5, report.ProbeRead} {
		if v := b.find(probe, metric.ItemTime, warm().and(report.LabelHandle, "reopened").and(report.LabelOrder, "random", "")); v.N > 0 {
			b.set(metric.BenchReopened, v)
			break
		}
	}
	b.set(metric.BenchAmplify, b.find(report.ProbeRead, metric.Amplification, cold().and(report.LabelOrder, "random", "").and(report.LabelHandle, "kept", "")))
}

// parts takes what opening, the filters and decoding cost, and their shares of a warm item.
func (b *benchBuilder) parts() {
	b.set(metric.BenchOpen, b.find(report.ProbeOpen, metric.OpenTime, warm().and(report.LabelMode, "unlocked", "")))
	b.set(metric.BenchColdOpen, b.find(report.ProbeOpen, metric.OpenTime, cold().and(report.LabelMode, "unlocked", "")))
	for _, probe := range []string{report.ProbeHDF5, report.ProbeOpen} {
		locked := b.find(probe, metric.OpenTime, warm().and(report.LabelMode, "locked"))
		free := b.find(probe, metric.OpenTime, warm().and(report.LabelMode, "unlocked", ""))
		if free.N == 0 {
			free = b.get(metric.BenchOpen)
		}
		if locked.N > 0 && free.N > 0 {
			v := locked
			v.Center, v.Lo, v.Hi = max(locked.Center-free.Center, 0), max(locked.Lo-free.Hi, 0), max(locked.Hi-free.Lo, 0)
			b.set(metric.BenchLock, v)
			break
		}
	}
	item := b.get(metric.BenchItem)
	b.set(metric.BenchFilterRatio, b.filterShare(item))
	if share := b.get(metric.BenchFilterRatio); share.N > 0 {
		b.set(metric.BenchFilter, product(share, item))
	}
	b.set(metric.BenchDecodeRatio, part(b.get(metric.BenchDecode), item))
	if b.ev.OpensPerItem() {
		b.set(metric.BenchOpenRatio, part(b.get(metric.BenchOpen), item))
	}
}

// filterShare is the filters' share of a warm item. They are timed by the CPU they use, so it is their share of the item's CPU time where
// that is known: on a busy machine all of an item waits for a CPU, and not the filters alone.
func (b *benchBuilder) filterShare(item Value) Value {
	filter := b.find(report.ProbeHDF5, metric.FilterTime, is{report.LabelOrder: {"random", ""}})
	cpu := b.find(report.ProbeRead, metric.ItemCPU, seenWarm().and(report.LabelOrder, "random").and(report.LabelHandle, "kept", ""))
	if cpu.N > 0 && cpu.Center > 0 {
		return part(filter, cpu)
	}
	return part(filter, item)
}

// opening is what an item's own opening of its file adds to what the read probe measured; the zero Value where that has it already, or where
// files stay open.
func (b *benchBuilder) opening(cache is) Value {
	if !b.ev.OpensPerItem() || b.about.Kind == "image" {
		return Value{}
	}
	return b.find(report.ProbeOpen, metric.OpenTime, cache.and(report.LabelMode, "unlocked", ""))
}

const (
	// onePerFile is the mean number of items in a file below which a file counts as one item.
	onePerFile = 1.5
	// mostHandles is how many files a process keeps open at the most: the soft limit of descriptors that a process gets by default
	// (RLIMIT_NOFILE, 1024 on Linux), some of which it needs itself.
	mostHandles = 1000
)

// OpensPerItem tells whether each item of a benchmark's dataset must open its file: because a file is one item, or because there are more
// array files than a process keeps open, so that one in random order finds its file closed. The only file of a dataset is never another one.
func (e *Evidence) OpensPerItem() bool {
	n, ok := e.Get(metric.BenchPerFile)
	files, ok2 := e.Get(metric.DatasetFileN)
	arrays := e.Facts.DatasetKind == "hdf5" || e.Facts.DatasetKind == "npy"
	if arrays && ok2 && files.Center <= 1 {
		return false
	}
	return ok && n.Center < onePerFile || arrays && ok2 && files.Center > mostHandles
}

// withinBest is how near to the best a chunk cache must come to be named: a larger one that gains less is not worth its memory.
const withinBest = 1.1

// cacheSweep takes the chunk-cache sizes that were tried, each against the library's default.
func (b *benchBuilder) cacheSweep() {
	for _, s := range []struct {
		order      string
		size, gain metric.Desc
	}{{"random", metric.BenchCacheSize, metric.BenchCacheGain}, {"sequential", metric.BenchCacheOrdered, metric.BenchCacheOrderedGain}} {
		sweep := b.each(report.ProbeHDF5, metric.ItemTime, warm().and(report.LabelOrder, s.order).and(report.LabelHandle, "kept", ""))
		base, best := Value{}, math.Inf(1)
		for _, m := range sweep {
			size, ok := labelNumber(m, report.LabelChunkCache)
			if ok && size == defaultCache {
				base = figure(m)
			}
			if ok && size > defaultCache {
				best = min(best, figure(m).Center)
			}
		}
		if base.N == 0 {
			continue
		}
		chosen, at := Value{}, math.Inf(1)
		for _, m := range sweep {
			size, ok := labelNumber(m, report.LabelChunkCache)
			if v := figure(m); ok && size > defaultCache && size < at && v.Center <= withinBest*best {
				chosen, at = v, size
			}
		}
		if chosen.N > 0 {
			b.set(s.size, exactly(at, metric.Measured))
			b.set(s.gain, saved(base, chosen))
		}
	}
}

// scaling takes the most workers that were measured within the usable CPUs, and what bends them.
func (b *benchBuilder) scaling() {
	cpus, ok := b.ev.Get(metric.UsableCPUs)
	if !ok {
		return
	}
	most := 0.0
	for _, m := range b.each(report.ProbeScaling, metric.ItemRate, warm()) {
		if n, ok := labelNumber(m, report.LabelWorkers); ok && n >= 2 && n <= cpus.Center && n > most {
			most = n
			b.ev.Bench.Bound = m.Labels[report.LabelBound]
		}
	}
	if most == 0 {
		return
	}
	at := func(n float64) is { return warm().and(report.LabelWorkers, strconv.FormatFloat(n, 'f', -1, 64)) }
	efficiency := b.find(report.ProbeScaling, metric.Efficiency, at(most))
	if efficiency.N == 0 {
		efficiency = quotient(b.find(report.ProbeScaling, metric.ItemRate, at(most)), b.find(report.ProbeScaling, metric.ItemRate, at(1)))
		efficiency.Summary = scale(efficiency.Summary, 1/most)
	}
	if efficiency.N > 0 {
		b.set(metric.BenchWorkers, exactly(most, metric.Measured))
		b.set(metric.BenchEfficiency, efficiency)
	}
}

// device takes what the storage gives past the page cache; reads that the page cache may have answered say nothing of it.
func (b *benchBuilder) device() {
	direct := func() is { return is{report.LabelMode: {"direct", "buffered"}} } // buffered: dropped from the page cache first, which was verified
	bytes := Value{}
	for _, m := range b.each(report.ProbeDevice, metric.ByteRate, direct()) {
		if v := figure(m); v.Center > bytes.Center {
			bytes = v
		}
	}
	b.set(metric.BenchDeviceBytes, bytes)
	block, ok := b.itemBlock(direct())
	if !ok {
		return
	}
	random := func() is { return direct().and(report.LabelOrder, "random", "").and(report.LabelBlock, block) }
	best := Value{}
	for _, m := range b.each(report.ProbeDevice, metric.ReadRate, random()) {
		if v := figure(m); v.Center > best.Center {
			best = v
		}
	}
	b.set(metric.BenchDeviceReads, best)
	serial := b.find(report.ProbeDevice, metric.ReadRate, random().and(report.LabelDepth, "1"))
	latency := b.find(report.ProbeDevice, metric.ReadTime, random().and(report.LabelDepth, "1"))
	if latency.N == 0 {
		latency = quotient(exactly(1, metric.Measured), serial)
	}
	b.set(metric.BenchSerialReads, serial)
	b.set(metric.BenchLatency, latency)
	fetched := b.find(report.ProbeRead, metric.ItemStorage, cold().and(report.LabelOrder, "random").and(report.LabelHandle, "kept", ""))
	read := b.find(report.ProbeRead, metric.ItemTime, cold().and(report.LabelOrder, "random").and(report.LabelHandle, "kept", ""))
	b.set(metric.BenchDeviceRatio, quotient(quotient(fetched, read), bytes))
}

// itemBlock is the request size, as it is labelled, that the device was asked for in place of an item: the one that is nearest.
func (b *benchBuilder) itemBlock(want is) (string, bool) {
	item := b.get(metric.BenchItemBytes).Center
	block, distance := "", math.Inf(1)
	for _, m := range b.each(report.ProbeDevice, metric.ReadRate, want.and(report.LabelOrder, "random", "")) {
		size, ok := labelNumber(m, report.LabelBlock)
		if !ok || size <= 0 {
			continue
		}
		if d := math.Abs(math.Log(size / max(item, 4096))); d < distance {
			block, distance = m.Labels[report.LabelBlock], d
		}
	}
	return block, block != ""
}
