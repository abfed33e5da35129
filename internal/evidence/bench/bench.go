// Package bench turns what a benchmark measured into evidence: the rows of its probes, and what its report says of the
// dataset and the machine.
//
// It promises what package evidence does: a signal that was not measured is absent, never zero, and why is kept.
package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// Evidence turns what bench-io measured into evidence: the rows of its probes, and what the report says of the
// dataset, the machine and the probes that could not run. What was not measured is absent, and why is kept.
func Evidence(r *report.Report, rows benchmark.Rows) *evidence.Evidence {
	b := &builder{report: r, about: r.Benchmark, rows: rows, ev: &evidence.Evidence{Bench: &evidence.Bench{}}}
	if b.about == nil {
		return b.ev
	}
	b.ev.Bench.Noun, b.ev.Bench.Note = b.about.Noun(), b.about.ItemNote
	b.host()
	b.dataset()
	b.storage()
	b.layout()
	b.undecoded()
	b.items()
	b.parts()
	b.chunkCaches()
	b.scaling()
	b.device()
	b.candidates()
	b.tiers()
	b.python()
	return b.ev
}

type builder struct {
	report *report.Report
	about  *report.Benchmark
	rows   benchmark.Rows
	ev     *evidence.Evidence
}

// set takes a signal or, where the value is none and no other was taken, notes why it is absent.
func (b *builder) set(d metric.Desc, v evidence.Value, why evidence.Reason) {
	if v.N > 0 && stat.Finite(v.Center, v.Lo, v.Hi) {
		b.ev.Set(d, v)
		return
	}
	b.ev.Miss(d, why)
}

// get returns a signal that was set; absent where it was not.
func (b *builder) get(d metric.Desc) evidence.Value {
	v, _ := b.ev.Get(d)
	return v
}

// measured is a probe's figure as a signal; absent where it is no time, size or rate.
func measured(s stat.Summary) evidence.Value {
	if s.N == 0 || !stat.Finite(s.Center, s.Lo, s.Hi) || s.Center < 0 || s.Center > stat.MaxReading {
		return evidence.Value{}
	}
	s.Lo, s.Hi = max(min(s.Lo, s.Center), 0), min(max(s.Hi, s.Center), stat.MaxReading)
	return evidence.Value{Summary: s, Basis: metric.Measured}
}

// first returns the first of the rows that fits; the zero row, whose figures are absent, where none does.
func first[T any](rows []T, fits func(T) bool) (row T) {
	for _, r := range rows {
		if fits(r) {
			return r
		}
	}
	return row
}

// exactly is a figure that was read off.
func exactly(x float64) evidence.Value { return measured(stat.Exact(x)) }

// amount is a size or a count that was read off; absent where there is none.
func amount(n int64) evidence.Value {
	if n <= 0 {
		return evidence.Value{}
	}
	return exactly(float64(n))
}

// host takes what the caller knows of the machine: the report's metrics, else its host.
func (b *builder) host() {
	h := &b.report.Host
	known := func(d metric.Desc, otherwise evidence.Value, why evidence.Reason) {
		if m := b.report.Metrics[d.Name]; m.N > 0 {
			otherwise = measured(stat.Summary{Center: m.Center, Lo: m.Lo, Hi: m.Hi, Confidence: m.Confidence, N: m.N})
		}
		b.set(d, otherwise, why)
	}
	if h.CPUsUsable > 0 {
		known(metric.UsableCPUs, exactly(h.CPUsUsable), evidence.Reason{})
	}
	known(metric.MemLimit, amount(cmp.Or(stat.OrZero(h.MemoryLimitBytes), h.MemoryBytes)), evidence.Reason{})
	known(metric.Available, evidence.Value{}, noRoom)
}

// dataset takes what the dataset is.
func (b *builder) dataset() {
	about, f := b.about, &b.ev.Facts
	b.ev.Bench.Damaged = slices.ContainsFunc(about.Unread, func(u report.Unread) bool { return u.Items > 0 })
	f.Dataset, f.DatasetKind = about.Path, about.Kind
	if about.Format != "" {
		f.Extension = "." + strings.Replace(about.Format, "jpeg", "jpg", 1)
	}
	size, files, item := amount(about.Bytes), amount(about.Files), amount(stat.OrZero(about.ItemBytes))
	each := quotient(size, files)
	each.Basis = metric.Inferred // the mean stands in for the median
	if l := about.Layout; l != nil && about.Files == 1 && stat.OrZero(l.StoredBytes) > 0 {
		size = amount(*l.StoredBytes) // the file may hold others beside
	}
	if item.N == 0 {
		item = measured(first(b.rows.Reads, func(r benchmark.Read) bool { return r.Bytes.N > 0 }).Bytes)
	}
	b.set(metric.DatasetBytes, size, evidence.Reason{})
	b.set(metric.DatasetFileN, files, evidence.Reason{})
	b.set(metric.FileBytes, each, evidence.Reason{})
	b.set(metric.BenchFolder, amount(about.LargestDir), evidence.Reason{})
	b.set(metric.BenchItemBytes, item, b.why(report.ProbeRead))
	b.set(metric.BenchPerFile, b.perFile(), evidence.Reason{Text: "the items were not counted"})
	room, limit := b.get(metric.Available), b.get(metric.MemLimit)
	if limit.N > 0 && limit.Center < room.Center {
		room = limit
	}
	b.set(metric.BenchMemory, quotient(size, room), noRoom)
}

// perFile is how many items a file holds; absent where they were not counted.
func (b *builder) perFile() (v evidence.Value) {
	about, l := b.about, b.about.Layout
	switch {
	case about.Kind == "image":
		return exactly(1)
	case about.Items != nil && about.Files > 0 && about.FilesExact:
		return exactly(float64(*about.Items) / float64(about.Files))
	case l != nil && len(l.Shape) > 0: // of the file that was described
		v, v.Basis = amount(l.Shape[0]), metric.Inferred
		if len(l.ItemShape) > 0 && !l.Members {
			v.Summary = v.Summary.Scaled(1 / float64(max(l.ItemShape[0], 1)))
		}
	}
	return v
}

// storage takes where the dataset lies.
func (b *builder) storage() {
	f := &b.ev.Facts
	if s := b.about.Storage; s != nil {
		f.StorageKind, f.FSType, f.Device = s.Kind, s.FSType, strings.Join(s.Devices, ", ")
	}
	is := func(kinds ...string) evidence.Value {
		switch {
		case f.StorageKind == "" || f.StorageKind == "unknown":
			return evidence.Value{}
		case slices.Contains(kinds, f.StorageKind):
			return exactly(1)
		}
		return exactly(0)
	}
	unknown := evidence.Reason{Text: "the file system of the dataset is unknown"}
	b.set(metric.StorageNet, is("network", "fuse"), unknown)
	b.set(metric.StorageTmpfs, is("tmpfs"), unknown)
}

// layout takes how an HDF5 dataset is stored.
func (b *builder) layout() {
	l := b.about.Layout
	if l == nil {
		return
	}
	b.ev.Facts.HDF5 = &evidence.HDF5{Name: b.about.Dataset, Members: l.Members, Rows: l.Rows, Shape: shape(l.Shape),
		Chunk: shape(l.Chunk), Item: shape(l.ItemShape), Dtype: l.Dtype, Filters: strings.Join(l.Filters, ", ")}
	item := b.get(metric.BenchItemBytes)
	b.set(metric.HDF5Filters, exactly(float64(len(l.Filters))), evidence.Reason{})
	b.set(metric.HDF5Stored, amount(stat.OrZero(l.StoredBytes)), evidence.Reason{})
	b.set(metric.HDF5Item, item, evidence.Reason{})
	whole := evidence.Reason{}
	if l.Storage != "chunked" {
		whole.Text = "the dataset is stored in one piece (" + l.Storage + "), not in chunks"
	}
	var perChunk, touched, cache evidence.Value
	chunk := amount(stat.OrZero(l.ChunkBytes))
	if chunk.N > 0 {
		perChunk, touched = amount(stat.OrZero(l.ItemsPerChunk)), amount(stat.OrZero(l.ChunksPerItem))
		cache = evidence.Value{Summary: stat.Exact(float64(b.ownCache())), Basis: metric.Assumed}
	}
	b.set(metric.HDF5Chunk, chunk, whole)
	b.set(metric.HDF5Cache, cache, whole)
	b.set(metric.HDF5PerChunk, perChunk, whole)
	b.set(metric.HDF5Touched, touched, whole)
	chunk.Summary = chunk.Summary.Scaled(max(touched.Center, 1))
	b.set(metric.HDF5Amplify, quotient(chunk, item), whole)
}

// shape writes lengths as h5py does, (4000, 64, 128); "" for none.
func shape(axes []int64) string {
	if len(axes) == 0 {
		return ""
	}
	return "(" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(axes), "[]")), ", ") + ")"
}

var noRoom = evidence.Reason{Text: "the memory that can still be used is not known"}

// cures of probes that run only when asked.
var cures = map[string]string{report.ProbeTry: "--try", report.ProbeTier: "--compare-path OTHER",
	report.ProbePython: "--python INTERPRETER"}

// why is the reason for a signal of a probe that is absent.
func (b *builder) why(probe string) evidence.Reason {
	if probe == report.ProbeRead && b.ev.Bench.Undecoded {
		probe = report.ProbeDecode // an item is read and decoded
	}
	if r, ok := b.abstention(probe); ok {
		return r
	}
	cure, asked := cures[probe]
	switch {
	case b.about.Interrupted:
		return evidence.Reason{Text: "the run was interrupted before the " + probe + " probe gave such a figure"}
	case asked:
		return evidence.Reason{Text: "it was not asked for", Cure: cure}
	}
	return evidence.Reason{Text: "the " + probe + " probe gave no such figure in its time", Cure: "a larger --budget"}
}

// whyCold is the reason for one that needs cold reads.
func (b *builder) whyCold(probe string) evidence.Reason {
	switch c := b.about.Cold; {
	case c.Possible:
		return b.why(probe)
	case c.Reason != "":
		return evidence.Reason{Text: "cold reads could not be measured: " + c.Reason}
	}
	return evidence.Reason{Text: "cold reads could not be measured"}
}

// abstention is what a probe said where it could not measure; false where it did not say.
func (b *builder) abstention(probe string) (evidence.Reason, bool) {
	for _, a := range b.report.Abstained {
		if slices.Contains(a.Missing, probe) {
			return evidence.Reason{Text: a.Reason, Cure: a.Cure}, true
		}
	}
	return evidence.Reason{}, false
}

// Figures of a benchmark are combined end to end of their intervals: wider than need be, never narrower.

// combined is a figure made of two others; absent where either is. It is measured where both are, and else of the
// weaker basis.
func combined(a, b evidence.Value, center, lo, hi float64) evidence.Value {
	if a.N == 0 || b.N == 0 {
		return evidence.Value{}
	}
	basis := a.Basis
	for _, weaker := range []metric.Basis{metric.Inferred, metric.Modelled, metric.Assumed} {
		if b.Basis == weaker || a.Basis == weaker {
			basis = weaker
		}
	}
	return evidence.Value{Summary: stat.Summary{Center: center, Lo: lo, Hi: hi,
		Confidence: min(a.Confidence, b.Confidence), N: min(a.N, b.N)}, Basis: basis}
}

// plus adds two times of which either may be missing.
func plus(a, b evidence.Value) evidence.Value {
	switch {
	case a.N == 0:
		return b
	case b.N == 0:
		return a
	}
	return combined(a, b, a.Center+b.Center, a.Lo+b.Lo, a.Hi+b.Hi)
}

// minus is a less b, at least 0.
func minus(a, b evidence.Value) evidence.Value {
	return combined(a, b, max(a.Center-b.Center, 0), max(a.Lo-b.Hi, 0), max(a.Hi-b.Lo, 0))
}

// product is a share of something: the interval of either carries over.
func product(a, b evidence.Value) evidence.Value {
	return combined(a, b, a.Center*b.Center, a.Lo*b.Lo, a.Hi*b.Hi)
}

// vague is how far below its center an interval is followed when it divides: one that reaches down to 0 would give an
// infinity.
const vague = 0.1

// quotient is a over b; absent where b is zero.
func quotient(a, b evidence.Value) evidence.Value {
	if b.Center <= 0 {
		return evidence.Value{}
	}
	return combined(a, b, a.Center/b.Center, a.Lo/b.Hi, a.Hi/max(b.Lo, vague*b.Center))
}

// part is a over b where a is a part of b: within 0..1, whatever noise says.
func part(a, b evidence.Value) evidence.Value {
	v := quotient(a, b)
	v.Summary = stat.Clamped(v.Summary, math.Inf(-1), 1)
	return v
}

// saved is the share of before that after does not take; below 0 where it takes more.
func saved(before, after evidence.Value) evidence.Value {
	v := quotient(after, before)
	v.Center, v.Lo, v.Hi = 1-v.Center, 1-v.Hi, 1-v.Lo
	return v
}
