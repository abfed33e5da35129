package evidence

import (
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// Bench is what a benchmark measured beyond single figures.
type Bench struct {
	Candidates []Candidate // other layouts that were tried on a sample; without the sample as it is
	AsIs       Candidate   // the sample as it is, measured the same way
	Decoders   []Decoder   // the user's own libraries, the fastest first
	Bound      string      // what bends the scaling at BenchWorkers, as a benchmark.Processes says; "" unknown
	Compared   bool        // another storage was measured
	Formats    []string    // of the pictures that were decoded: "jpeg", "png", …
	Undecoded  bool        // items are pictures and decoding them was not measured: what a whole item takes is not known
	NoneDecode bool        // so, and because not one of them could be decoded
}

// Candidate is one layout that was measured.
type Candidate struct {
	Name    string
	Command string // what makes it of the whole dataset; "" where no one command does
	Item    Value  // seconds per item, warm, in random order
	Cold    Value  // the same cold; N 0 where not measured
	Stored  Value  // its size over that of the sample as it is; N 0 unknown
}

// Decoder is one library of the user's Python.
type Decoder struct {
	Name, Version string
	Item          Value // seconds per item
}

// FromBenchmark turns what bench-io measured into evidence: the rows of its probes, and what the report says of the dataset,
// the machine and the probes that could not run. What was not measured is absent, and why is kept.
func FromBenchmark(r *report.Report, rows benchmark.Rows) *Evidence {
	b := &benchBuilder{report: r, about: r.Benchmark, rows: rows, ev: New(map[string]Value{}, Facts{})}
	b.ev.Bench = &Bench{}
	if b.about == nil {
		return b.ev
	}
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

type benchBuilder struct {
	report *report.Report
	about  *report.Benchmark
	rows   benchmark.Rows
	ev     *Evidence
}

// set takes a signal or, where the value is none and no other was taken, notes why it is absent.
func (b *benchBuilder) set(d metric.Desc, v Value, why reason) {
	switch _, known := b.ev.values[d.Name]; {
	case v.N > 0 && stat.Finite(v.Center, v.Lo, v.Hi):
		b.ev.values[d.Name] = v
	case !known && why.text != "":
		b.ev.Unseen = append(b.ev.Unseen, why.of(d))
	}
}

// get returns a signal that was set; absent where it was not.
func (b *benchBuilder) get(d metric.Desc) Value { return b.ev.values[d.Name] }

// measured is a probe's figure as a signal; absent where it is no time, size or rate.
func measured(s stat.Summary) Value {
	if s.N == 0 || !stat.Finite(s.Center, s.Lo, s.Hi) || s.Center < 0 || s.Center > maxReading {
		return Value{}
	}
	s.Lo, s.Hi = max(min(s.Lo, s.Center), 0), min(max(s.Hi, s.Center), maxReading)
	return Value{s, metric.Measured}
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
func exactly(x float64) Value { return measured(stat.Exact(x)) }

// positive is a size or a count that was read off; absent where it is none.
func positive(x float64) Value {
	if x <= 0 {
		return Value{}
	}
	return exactly(x)
}

// amount is such a one that may not be known.
func amount(n *int64) Value {
	if n == nil {
		return Value{}
	}
	return positive(float64(*n))
}

// host takes what the caller knows of the machine: the report's metrics, else its host.
func (b *benchBuilder) host() {
	h := &b.report.Host
	known := func(d metric.Desc, otherwise Value, why reason) {
		m := b.report.Metrics[d.Name]
		v := measured(stat.Summary{Center: m.Center, Lo: m.Lo, Hi: m.Hi, Confidence: m.Confidence, N: m.N})
		if v.N == 0 {
			v = otherwise
		}
		b.set(d, v, why)
	}
	memory := amount(h.MemoryLimitBytes)
	if memory.N == 0 {
		memory = amount(&h.MemoryBytes)
	}
	known(metric.UsableCPUs, positive(h.CPUsUsable), reason{})
	known(metric.MemLimit, memory, reason{})
	known(metric.Available, Value{}, noRoom)
}

// dataset takes what the dataset is.
func (b *benchBuilder) dataset() {
	about, f := b.about, &b.ev.Facts
	f.Dataset, f.DatasetKind, f.Extension = about.Path, about.Kind, extension(about.Format)
	size, files := amount(&about.Bytes), amount(&about.Files)
	each := quotient(size, files)
	each.Basis = metric.Inferred // the mean stands in for the median
	if l := about.Layout; l != nil && about.Files == 1 && amount(l.StoredBytes).N > 0 {
		size = amount(l.StoredBytes) // the file may hold others beside
	}
	item := amount(about.ItemBytes)
	if item.N == 0 {
		item = measured(first(b.rows.Reads, func(r benchmark.Read) bool { return r.Bytes.N > 0 }).Bytes)
	}
	folder := int64(about.LargestDir)
	b.set(metric.DatasetBytes, size, reason{})
	b.set(metric.DatasetFileN, files, reason{})
	b.set(metric.FileBytes, each, reason{})
	b.set(metric.BenchFolder, amount(&folder), reason{})
	b.set(metric.BenchItemBytes, item, b.why(report.ProbeRead))
	b.set(metric.BenchPerFile, b.perFile(), reason{text: "the items were not counted"})
	room := b.get(metric.Available)
	if limit := b.get(metric.MemLimit); limit.N > 0 && limit.Center < room.Center {
		room = limit
	}
	b.set(metric.BenchMemory, quotient(size, room), noRoom)
}

// perFile is how many items a file holds; absent where they were not counted.
func (b *benchBuilder) perFile() Value {
	about, l := b.about, b.about.Layout
	switch {
	case about.Kind == "image":
		return exactly(1)
	case about.Items != nil && about.Files > 0 && about.FilesExact:
		return exactly(float64(*about.Items) / float64(about.Files))
	case l != nil && len(l.Shape) > 0 && l.Shape[0] > 0:
		each := int64(1)
		if len(l.ItemShape) > 0 {
			each = max(l.ItemShape[0], 1)
		}
		v := exactly(float64(l.Shape[0]) / float64(each))
		v.Basis = metric.Inferred // of the file that was described
		return v
	}
	return Value{}
}

// storage takes where the dataset lies.
func (b *benchBuilder) storage() {
	network, memory := Value{}, Value{}
	if s := b.about.Storage; s != nil {
		f := &b.ev.Facts
		f.StorageKind, f.FSType, f.Device = s.Kind, s.FSType, strings.Join(s.Devices, ", ")
		if s.Kind != "" && s.Kind != "unknown" {
			network, memory = exactly(0), exactly(0)
		}
		switch s.Kind {
		case "network", "fuse":
			network = exactly(1)
		case "tmpfs":
			memory = exactly(1)
		}
	}
	unknown := reason{text: "the file system of the dataset could not be told"}
	b.set(metric.StorageNet, network, unknown)
	b.set(metric.StorageTmpfs, memory, unknown)
}

// extension is the suffix of a format's files; "" where the format is not known.
func extension(format string) string {
	switch format {
	case "":
		return ""
	case "jpeg":
		return ".jpg"
	}
	return "." + format
}

// layout takes how an HDF5 dataset is stored.
func (b *benchBuilder) layout() {
	l := b.about.Layout
	if l == nil {
		return
	}
	b.ev.Facts.HDF5 = &HDF5{Name: b.about.Dataset, Shape: shape(l.Shape), Chunk: shape(l.Chunk), Item: shape(l.ItemShape),
		Dtype: l.Dtype, Filters: strings.Join(l.Filters, ", ")}
	item, chunk := b.get(metric.BenchItemBytes), amount(l.ChunkBytes)
	b.set(metric.HDF5Filters, exactly(float64(len(l.Filters))), reason{})
	b.set(metric.HDF5Stored, amount(l.StoredBytes), reason{})
	b.set(metric.HDF5Item, item, reason{})
	perChunk, touched, cache := amount(l.ItemsPerChunk), amount(l.ChunksPerItem), exactly(benchmark.DefaultCache)
	cache.Basis = metric.Assumed
	if chunk.N == 0 {
		perChunk, touched, cache = Value{}, Value{}, Value{}
	}
	whole := reason{}
	if l.Storage != "chunked" {
		whole.text = "the dataset is stored in one piece (" + l.Storage + "), not in chunks"
	}
	b.set(metric.HDF5Chunk, chunk, whole)
	b.set(metric.HDF5Cache, cache, whole)
	b.set(metric.HDF5PerChunk, perChunk, whole)
	b.set(metric.HDF5Touched, touched, whole)
	chunk.Summary = scaled(chunk.Summary, max(touched.Center, 1))
	b.set(metric.HDF5Amplify, quotient(chunk, item), whole)
}

// shape writes lengths as h5py does: (4000, 64, 128).
func shape(axes []int64) string {
	if len(axes) == 0 {
		return ""
	}
	words := make([]string, len(axes))
	for i, n := range axes {
		words[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(words, ", ") + ")"
}
