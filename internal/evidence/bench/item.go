package bench

import (
	"slices"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// undecoded reports whether items must be decoded and it is not known what that takes: a run that ended early, or
// pictures of which none could be decoded. What an archive holds may be no pictures at all; the decode probe then
// says so.
func (b *builder) undecoded() {
	_, refused := b.abstention(report.ProbeDecode)
	refused = refused && !b.about.Interrupted
	switch items := format.Kind(b.about.Kind).Items(); {
	case len(b.rows.Decodes) > 0 || !items.Pictures:
	case items.WholeFile:
		b.ev.Bench.Undecoded, b.ev.Bench.NoneDecode = true, refused && len(b.about.Unread) > 0
	default:
		b.ev.Bench.Undecoded = !refused
	}
}

// read is what the read probe gave; the files stay open, but for pictures.
func (b *builder) read(cache, order string) benchmark.Read {
	return first(b.rows.Reads, func(r benchmark.Read) bool {
		return r.Cache == cache && r.Order == order && r.Handle != benchmark.Reopened
	})
}

// decoding is what decoding adds to reading a mean item. One format's figure is that of any picture. Of several
// formats, a single process of the scaling probe went through all items as they are mixed: what it took beyond
// reading is decoding. Without it, the figure lies somewhere between those of the formats.
func (b *builder) decoding(read evidence.Value) evidence.Value {
	formats := &b.ev.Bench.Formats
	var mixed evidence.Value
	for i, r := range b.rows.Decodes {
		if !slices.Contains(*formats, r.Format) {
			*formats = append(*formats, r.Format)
		}
		v := measured(r.Time)
		if i == 0 {
			mixed = v
			continue
		}
		mixed.Center += (v.Center - mixed.Center) / float64(i+1)
		mixed.Lo, mixed.Hi, mixed.N = min(mixed.Lo, v.Lo), max(mixed.Hi, v.Hi), min(mixed.N, v.N)
		mixed.Confidence, mixed.Basis = 0, metric.Inferred
	}
	rate := measured(first(b.rows.Scaling, func(r benchmark.Processes) bool {
		return r.Count == 1 && r.Cache == benchmark.Warm && r.Order == benchmark.Random &&
			r.Handle != benchmark.Reopened
	}).Rate)
	if len(b.rows.Decodes) < 2 || read.N == 0 || rate.N == 0 || rate.Lo <= 0 || 1/rate.Center <= read.Center {
		return mixed
	}
	return evidence.Value{Summary: stat.Summary{Center: 1/rate.Center - read.Center, Lo: max(1/rate.Hi-read.Hi, 0),
		Hi: 1/rate.Lo - read.Lo, Confidence: min(rate.Confidence, read.Confidence), N: min(rate.N, read.N)},
		Basis: metric.Measured}
}

// items takes what one item costs one worker: reading it, decoding it where it is encoded, and opening its file where
// each item must. The read probe opens pictures itself, and keeps other files open.
func (b *builder) items() {
	open, openCold := b.open(benchmark.Warm), b.open(benchmark.Cold)
	b.set(metric.BenchOpen, open, b.why(report.ProbeOpen))
	b.set(metric.BenchColdOpen, openCold, b.whyCold(report.ProbeOpen))
	if !b.ev.OpensPerItem() || b.about.Kind == "image" {
		open, openCold = evidence.Value{}, evidence.Value{}
	}
	why, whyCold := b.why(report.ProbeRead), b.whyCold(report.ProbeRead)
	warm, cold := b.read(benchmark.Warm, benchmark.Random), b.read(benchmark.Cold, benchmark.Random)
	decode := b.decoding(measured(warm.Time))
	b.set(metric.BenchRead, measured(warm.Time), why)
	b.set(metric.BenchDecode, decode, b.why(report.ProbeDecode))
	item := func(r benchmark.Read, open evidence.Value) evidence.Value {
		if r.Time.N == 0 || b.ev.Bench.Undecoded {
			return evidence.Value{}
		}
		return plus(plus(measured(r.Time), decode), open)
	}
	b.set(metric.BenchItem, item(warm, open), why)
	b.set(metric.BenchColdItem, item(cold, openCold), whyCold)
	b.set(metric.BenchColdOrdered, item(b.read(benchmark.Cold, benchmark.Sequential), openCold), whyCold)
	storage := saved(b.get(metric.BenchColdItem), b.get(metric.BenchItem))
	storage.Summary = stat.NotNegative(storage.Summary)
	b.set(metric.BenchStorage, storage, whyCold)
	b.set(metric.BenchAmplify, measured(cold.Amplification), whyCold)
}

// open is what opening a file takes, without a file lock.
func (b *builder) open(cache string) evidence.Value {
	return measured(first(b.rows.Opens, func(r benchmark.Open) bool { return r.Cache == cache }).Time)
}

// parts takes what a file lock, opening, the filters and decoding cost, and their shares of a warm item.
func (b *builder) parts() {
	locking := func(mode string) evidence.Value {
		return measured(first(b.rows.Locks, func(r benchmark.Open) bool { return r.Mode == mode }).Time)
	}
	lock, free, open := locking(benchmark.Locked), locking(benchmark.Unlocked), b.get(metric.BenchOpen)
	if free.N == 0 {
		free = open
	}
	why, told := b.abstention(metric.BenchLock.Name)
	if !told {
		why = b.why(report.ProbeHDF5)
	}
	b.set(metric.BenchLock, minus(lock, free), why)
	if !b.ev.OpensPerItem() {
		open = evidence.Value{}
	}
	item := b.get(metric.BenchItem)
	why = b.why(report.ProbeHDF5)
	b.set(metric.BenchOpenRatio, part(open, item), b.why(report.ProbeOpen))
	b.set(metric.BenchDecodeRatio, part(b.get(metric.BenchDecode), item), b.why(report.ProbeDecode))
	// Filters are timed by the CPU they use, so theirs is a share of the item's CPU time where that is known: on a
	// busy machine all of an item waits for a CPU, and not the filters alone.
	whole := measured(b.read(benchmark.Warm, benchmark.Random).CPU)
	if whole.Center <= 0 {
		whole = item
	}
	filters := part(measured(first(b.rows.Filters, func(benchmark.Filter) bool { return true }).Time), whole)
	b.set(metric.BenchFilterRatio, filters, why)
	b.set(metric.BenchFilter, product(filters, item), why)
	b.set(metric.BenchReopened, measured(first(b.rows.Handles, func(r benchmark.Read) bool {
		return r.Handle == benchmark.Reopened
	}).Time), why)
}
