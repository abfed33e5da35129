package evidence

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// Bench is what a benchmark measured beyond single figures.
type Bench struct {
	Candidates []Candidate // other layouts that were tried on a sample; without the sample as it is
	AsIs       Candidate   // the sample as it is, measured the same way
	Decoders   []Decoder   // the user's own libraries, the fastest first
	Bound      string      // what bends the scaling at BenchWorkers: "cpu", "lock", "device" or "none"; "" unknown
	Compared   bool        // another storage was measured
	Formats    []string    // of the pictures that were decoded, as report.LabelFormat says
	Undecoded  bool        // items are pictures and decoding them was not measured: what a whole item takes is not known
	NoneDecode bool        // so, and because not one of them could be decoded
}

// Candidate is one layout that was measured.
type Candidate struct {
	Name    string
	Command string // what makes it of the whole dataset; "" where no one command does
	Item    Value  // seconds per item, warm, in random order where that was measured
	Cold    Value  // the same cold; N 0 where not measured
	Stored  Value  // its size over that of the sample as it is; N 0 unknown
}

// Decoder is one library of the user's Python.
type Decoder struct {
	Name, Version string
	Item          Value // seconds per item
}

// defaultCache is the chunk cache that every HDF5 library before 2.0 gives a dataset, and the one bench-io reads with.
const defaultCache = 1 << 20

// FromBenchmark turns the measurements of a bench-io report into evidence. What was not measured is absent, and why is kept.
func FromBenchmark(r *report.Report) *Evidence {
	b := &benchBuilder{report: r, about: r.Benchmark, ev: New(map[string]Value{}, Facts{})}
	b.ev.Bench = &Bench{}
	if b.about == nil {
		return b.ev
	}
	b.host()
	b.dataset()
	b.layout()
	b.undecoded()
	b.items()
	b.parts()
	b.cacheSweep()
	b.scaling()
	b.device()
	b.candidates()
	b.tiers()
	b.python()
	b.whyNot()
	return b.ev
}

type benchBuilder struct {
	report *report.Report
	about  *report.Benchmark
	ev     *Evidence
}

func (b *benchBuilder) set(d metric.Desc, v Value) {
	if v.N > 0 && finite(v.Center) && finite(v.Lo) && finite(v.Hi) {
		b.ev.values[d.Name] = v
	}
}

func (b *benchBuilder) get(d metric.Desc) Value { return b.ev.values[d.Name] }

// is asks for a label's value; "" among several stands for a label that is not there.
type is map[string][]string

func warm() is { return is{report.LabelCache: {"warm", ""}} }
func cold() is { return is{report.LabelCache: {"cold"}} }

// seenWarm asks for reads that were seen to be warm: a read probe leaves the label out where its sample does not stay in memory.
func seenWarm() is { return is{report.LabelCache: {"warm"}} }

func (l is) and(label string, values ...string) is {
	l[label] = values
	return l
}

// find returns the first figure of a probe whose labels fit; N 0 is none.
func (b *benchBuilder) find(probe string, d metric.Desc, want is) Value {
	for _, m := range b.each(probe, d, want) {
		return figure(m)
	}
	return Value{}
}

// each returns all figures of a probe whose labels fit.
func (b *benchBuilder) each(probe string, d metric.Desc, want is) []report.Measurement {
	var out []report.Measurement
	for _, m := range b.report.Measurements {
		if m.Probe == probe && m.Metric == d.Name && fits(m, want) && figure(m).N > 0 {
			out = append(out, m)
		}
	}
	return out
}

func fits(m report.Measurement, want is) bool {
	for label, values := range want {
		if !slices.Contains(values, m.Labels[label]) {
			return false
		}
	}
	return true
}

// figure takes a measurement's value; the zero Value where it is no time, size or rate.
func figure(m report.Measurement) Value {
	v := Value{stat.Summary{Center: m.Value.Center, Lo: m.Value.Lo, Hi: m.Value.Hi, Confidence: m.Value.Confidence, N: max(m.Value.N, 1)}, metric.Basis(m.Value.Basis)}
	if !finite(v.Center) || !finite(v.Lo) || !finite(v.Hi) || v.Center < 0 || v.Center > maxReading {
		return Value{}
	}
	v.Lo, v.Hi = max(min(v.Lo, v.Center), 0), min(max(v.Hi, v.Center), maxReading)
	return v
}

func labelNumber(m report.Measurement, label string) (float64, bool) {
	x, err := strconv.ParseFloat(m.Labels[label], 64)
	return x, err == nil && finite(x) && x >= 0 && x <= maxReading
}

func exactly(x float64, basis metric.Basis) Value { return Value{stat.Exact(x), basis} }

// host takes what the caller knows of the machine: derived signals among the report's metrics, and its host.
func (b *benchBuilder) host() {
	for _, d := range metric.Derived {
		if m, ok := b.report.Metrics[d.Name]; ok {
			b.set(d, figure(report.Measurement{Value: m}))
		}
	}
	fallback := func(d metric.Desc, x float64) {
		if _, ok := b.ev.values[d.Name]; !ok && x > 0 {
			b.set(d, exactly(x, metric.Measured))
		}
	}
	fallback(metric.UsableCPUs, b.report.Host.CPUsUsable)
	if limit := b.report.Host.MemoryLimitBytes; limit != nil {
		fallback(metric.MemLimit, float64(*limit))
	}
	fallback(metric.MemLimit, float64(b.report.Host.MemoryBytes))
}

// dataset takes what the dataset is and where it lies.
func (b *benchBuilder) dataset() {
	about, f := b.about, &b.ev.Facts
	f.Dataset, f.DatasetKind, f.Extension = about.Path, about.Kind, extension(about.Format)
	if about.Bytes > 0 {
		b.set(metric.DatasetBytes, exactly(float64(about.Bytes), metric.Measured))
	}
	if l := about.Layout; l != nil && l.StoredBytes != nil && *l.StoredBytes > 0 && about.Files == 1 { // the file may hold others beside
		b.set(metric.DatasetBytes, exactly(float64(*l.StoredBytes), metric.Measured))
	}
	if about.Files > 0 {
		b.set(metric.DatasetFileN, exactly(float64(about.Files), metric.Measured))
		if about.Bytes > 0 {
			b.set(metric.FileBytes, exactly(float64(about.Bytes)/float64(about.Files), metric.Inferred)) // the mean stands in for the median
		}
	}
	if about.LargestDir > 0 {
		b.set(metric.BenchFolder, exactly(float64(about.LargestDir), metric.Measured))
	}
	if about.ItemBytes != nil && *about.ItemBytes > 0 {
		b.set(metric.BenchItemBytes, exactly(float64(*about.ItemBytes), metric.Measured))
	} else {
		b.set(metric.BenchItemBytes, b.find(report.ProbeRead, metric.ItemBytes, is{}))
	}
	b.perFile()
	if size, ok := b.ev.Get(metric.DatasetBytes); ok {
		room := b.get(metric.Available)
		if limit, ok := b.ev.Get(metric.MemLimit); ok && room.N > 0 && limit.Center < room.Center {
			room = limit
		}
		b.set(metric.BenchMemory, quotient(size, room))
	}
	s := about.Storage
	if s == nil {
		return
	}
	f.StorageKind, f.FSType, f.Device = s.Kind, s.FSType, strings.Join(s.Devices, ", ")
	flag := func(d metric.Desc, yes bool) {
		x := 0.0
		if yes {
			x = 1
		}
		b.set(d, exactly(x, metric.Measured))
	}
	if s.Kind != "" && s.Kind != "unknown" {
		flag(metric.StorageNet, s.Kind == "network" || s.Kind == "fuse")
		flag(metric.StorageTmpfs, s.Kind == "tmpfs")
	}
}

// perFile tells how many items a file holds.
func (b *benchBuilder) perFile() {
	about := b.about
	switch {
	case about.Kind == "image":
		b.set(metric.BenchPerFile, exactly(1, metric.Measured))
	case about.Items != nil && about.Files > 0 && about.FilesExact:
		b.set(metric.BenchPerFile, exactly(float64(*about.Items)/float64(about.Files), metric.Measured))
	case about.Layout != nil && len(about.Layout.Shape) > 0 && about.Layout.Shape[0] > 0:
		each := int64(1)
		if len(about.Layout.ItemShape) > 0 {
			each = max(about.Layout.ItemShape[0], 1)
		}
		b.set(metric.BenchPerFile, exactly(float64(about.Layout.Shape[0])/float64(each), metric.Inferred)) // of the file that was described
	}
}

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
	filters := float64(len(l.Filters))
	b.set(metric.HDF5Filters, exactly(filters, metric.Measured))
	if l.StoredBytes != nil && *l.StoredBytes > 0 {
		b.set(metric.HDF5Stored, exactly(float64(*l.StoredBytes), metric.Measured))
	}
	item := b.get(metric.BenchItemBytes)
	b.set(metric.HDF5Item, item)
	b.ev.Facts.HDF5 = &HDF5{Name: b.about.Dataset, Shape: shape(l.Shape), Chunk: shape(l.Chunk), Item: shape(l.ItemShape), Dtype: l.Dtype,
		Filters: strings.Join(l.Filters, ", ")}
	if l.ChunkBytes == nil || *l.ChunkBytes <= 0 {
		return
	}
	chunk := exactly(float64(*l.ChunkBytes), metric.Measured)
	b.set(metric.HDF5Chunk, chunk)
	b.set(metric.HDF5Cache, exactly(defaultCache, metric.Assumed))
	touched := exactly(1, metric.Assumed)
	if l.ChunksPerItem != nil && *l.ChunksPerItem > 0 {
		touched = exactly(float64(*l.ChunksPerItem), metric.Measured)
		b.set(metric.HDF5Touched, touched)
	}
	if l.ItemsPerChunk != nil && *l.ItemsPerChunk > 0 {
		b.set(metric.HDF5PerChunk, exactly(float64(*l.ItemsPerChunk), metric.Measured))
	}
	chunk.Summary = scale(chunk.Summary, touched.Center)
	b.set(metric.HDF5Amplify, quotient(chunk, item))
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

// candidates takes what --try measured.
func (b *benchBuilder) candidates() {
	best := Value{}
	for _, m := range b.each(report.ProbeTry, metric.ItemTime, warm().and(report.LabelOrder, "random", "")) {
		name := m.Labels[report.LabelCandidate]
		c := Candidate{Name: name, Command: m.Labels[report.LabelCommand], Item: figure(m),
			Cold:   b.find(report.ProbeTry, metric.ItemTime, cold().and(report.LabelOrder, "random", "").and(report.LabelCandidate, name)),
			Stored: b.find(report.ProbeTry, metric.StoredRatio, is{report.LabelCandidate: {name}})}
		if name == "as-is" {
			b.ev.Bench.AsIs = c
			continue
		}
		b.ev.Bench.Candidates = append(b.ev.Bench.Candidates, c)
		if best.N == 0 || c.Item.Center < best.Center {
			best = c.Item
		}
	}
	if b.ev.Bench.AsIs.Item.N == 0 {
		b.ev.Bench.AsIs = Candidate{Name: "as-is", Item: b.get(metric.BenchItem), Cold: b.get(metric.BenchColdItem)}
	}
	b.set(metric.BenchTryGain, saved(b.ev.Bench.AsIs.Item, best))
}

// tiers takes what the same sample costs on another storage: cold, where either can be; one in memory is never cold.
func (b *benchBuilder) tiers() {
	at := func(tier string) Value {
		for _, cache := range []func() is{cold, warm} {
			if v := b.find(report.ProbeTier, metric.ItemTime, cache().and(report.LabelTier, tier).and(report.LabelOrder, "random", "")); v.N > 0 {
				return v
			}
		}
		return Value{}
	}
	here, other := at("here"), at("other")
	b.set(metric.BenchTierGain, saved(here, other))
	b.ev.Bench.Compared = here.N > 0 && other.N > 0
}

// delivers tells whether a row of the user's Python takes a whole item, by its name. The rows of PyTorch take what it adds to one; plain Python
// brings the bytes of a picture, and decodes none.
func (b *benchBuilder) delivers(name string) bool {
	pictures := b.about.Kind == "image" || b.about.Kind == "tar"
	return !strings.HasPrefix(name, "torch ") && !(pictures && name == "python")
}

// python takes what the user's own libraries need: the whole item where that was timed, else decoding it after pipetune's own read.
func (b *benchBuilder) python() {
	known := map[string]bool{}
	take := func(m report.Measurement, item Value) {
		if name := m.Labels[report.LabelDecoder]; item.N > 0 && !known[name] && b.delivers(name) {
			known[name] = true
			b.ev.Bench.Decoders = append(b.ev.Bench.Decoders, Decoder{Name: name, Version: m.Labels[report.LabelVersion], Item: item})
		}
	}
	item := func() is { // of a library by itself: no batches, no DataLoader around it
		return seenWarm().and(report.LabelOrder, "random", "").and(report.LabelBatchSize, "").and(report.LabelWorkers, "")
	}
	for _, m := range slices.Concat(b.each(report.ProbePython, metric.ItemTime, item().and(report.LabelHandle, "kept", "")), b.each(report.ProbePython, metric.ItemTime, item())) {
		take(m, figure(m))
	}
	if read := b.get(metric.BenchRead); read.N > 0 {
		for _, m := range b.each(report.ProbePython, metric.DecodeTime, is{}) {
			take(m, plus(read, figure(m)))
		}
	}
	slices.SortStableFunc(b.ev.Bench.Decoders, func(x, y Decoder) int { return cmp.Compare(x.Item.Center, y.Item.Center) })
	if len(b.ev.Bench.Decoders) > 0 {
		b.set(metric.BenchPython, b.ev.Bench.Decoders[0].Item)
	}
}
