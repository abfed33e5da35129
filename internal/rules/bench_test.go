package rules

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/benchmark/benchmarktest"
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence/bench"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// The measurements of these layouts are made by hand from times that were measured on Debian 12 (HDF5 1.10.8, h5py 3.7,
// libjpeg-turbo, Pillow 9.4): a contiguous 32 KiB item 11 µs, one of a gzip-4 chunk of 64 items 16.8 ms, opening an
// HDF5 file 90 µs, opening any file 4 to 10 µs, JPEG of 500 x 375 1.26 ms, PNG of 500 x 375 10.6 ms and of 64 x 64 92
// µs.

type figures []report.Measurement

func (f *figures) add(probe string, d metric.Desc, x float64, labels ...string) *figures {
	m := report.Measurement{Probe: probe, Metric: d.Name, Labels: map[string]string{},
		Value: report.Metric{Center: x, Lo: 0.97 * x, Hi: 1.03 * x, Confidence: 0.95, N: 12, Unit: string(d.Unit),
			Basis: report.Measured}}
	for i := 0; i+1 < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	*f = append(*f, m)
	return f
}

// read adds warm and cold times per item in random order.
func (f *figures) read(warm, cold float64) *figures {
	return f.add(report.ProbeRead, metric.ItemTime, warm, "cache", "warm", "order", "random").add(report.ProbeRead,
		metric.ItemTime, cold, "cache", "cold", "order", "random")
}

// open adds warm and cold times of opening a file.
func (f *figures) open(warm, cold float64) *figures {
	return f.add(report.ProbeOpen, metric.OpenTime, warm, "cache", "warm").add(report.ProbeOpen, metric.OpenTime, cold,
		"cache", "cold")
}

// processes adds the rates of one process and of two, and what bends the second.
func (f *figures) processes(one, two float64, bound string) *figures {
	return f.add(report.ProbeScaling, metric.ItemRate, one, "workers", "1", "bound", "none").
		add(report.ProbeScaling, metric.ItemRate, two, "workers", "2", "bound", bound).
		add(report.ProbeScaling, metric.Efficiency, two/(2*one), "workers", "2")
}

// disk adds a local device: 0.1 ms for a read alone, six times the reads with many in flight.
func (f *figures) disk(block string) *figures {
	return f.add(report.ProbeDevice, metric.ReadRate, 10000, "mode", "direct", "order", "random", "depth", "1",
		"block_bytes", block).
		add(report.ProbeDevice, metric.ReadTime, 100e-6, "mode", "direct", "order", "random", "depth", "1",
			"block_bytes", block).
		add(report.ProbeDevice, metric.ReadRate, 60000, "mode", "direct", "order", "random", "depth", "32",
			"block_bytes", block).
		add(report.ProbeDevice, metric.ByteRate, 2e9, "mode", "direct", "order", "sequential", "depth", "8",
			"block_bytes", "1048576")
}

func benchmark(about report.Benchmark, f *figures) *report.Report {
	about.FilesExact, about.Cold = true, report.Cold{Possible: true, How: "cachestat"}
	if about.Storage == nil {
		about.Storage = &report.Storage{Path: "/", Kind: "disk", FSType: "ext4", Devices: []string{"vda"}}
	}
	memory := report.Metric{Center: 20 << 30, Lo: 20 << 30, Hi: 20 << 30, N: 1, Unit: "bytes", Basis: report.Measured}
	return &report.Report{Schema: report.Schema, SchemaVersion: report.SchemaVersion, Kind: "bench-io",
		Benchmark: &about, Measurements: *f, Host: report.Host{CPUsUsable: 2, MemoryBytes: 24 << 30},
		Metrics: map[string]report.Metric{metric.Available.Name: memory}}
}

// judgeBench adds to a report what follows from its measurements.
func judgeBench(r *report.Report) {
	diagnose.Bench(r, bench.Evidence(r, benchmarktest.Rows(r.Measurements)), All())
}

// decode adds the time of decoding a picture.
func (f *figures) decode(seconds float64, decoder, format string) *figures {
	return f.add(report.ProbeDecode, metric.DecodeTime, seconds, "decoder", decoder, "format", format)
}

// filter adds the time of undoing an item's filters.
func (f *figures) filter(seconds float64) *figures {
	return f.add(report.ProbeHDF5, metric.FilterTime, seconds, "order", "random")
}

// hdf5 adds an item's time with a cache of so many bytes, or with the handle reopened.
func (f *figures) hdf5(seconds float64, label, value string) *figures {
	return f.add(report.ProbeHDF5, metric.ItemTime, seconds, "order", "random", label, value)
}

// try adds an item's time in another layout.
func (f *figures) try(seconds float64, candidate string, labels ...string) *figures {
	return f.add(report.ProbeTry, metric.ItemTime, seconds, append([]string{"candidate", candidate, "cache", "warm",
		"order", "random"}, labels...)...)
}

// arrays is 4000 x 64 x 128 float32 in one file, chunked so that a chunk holds perChunk items and an item lies in
// perItem chunks.
func arrays(chunk []int64, chunkBytes, perChunk, perItem int64, filters ...string) report.Benchmark {
	l := &report.Layout{Storage: "contiguous", Shape: []int64{4000, 64, 128}, Dtype: "float32",
		ItemShape: []int64{1, 64, 128}, StoredBytes: new(int64(125 << 20)), Filters: filters}
	if chunk != nil {
		l.Storage, l.Chunk, l.ChunkBytes, l.ItemsPerChunk, l.ChunksPerItem = "chunked", chunk, &chunkBytes, &perChunk,
			&perItem
	}
	return report.Benchmark{Path: "/data/train.h5", Kind: "hdf5", Dataset: "/images", Files: 1, Bytes: 125 << 20,
		Items: new(int64(4000)), ItemBytes: new(int64(32 << 10)), Layout: l}
}

func pictures(format string, files, bytes, largest int64) report.Benchmark {
	return report.Benchmark{Path: "/data/train", Kind: "image", Format: format, Files: files, Bytes: files * bytes,
		Items: new(files), LargestDir: largest}
}

// layout is a benchmark of data in one layout.
type layout struct {
	name   string
	report *report.Report
	expect map[string]report.Severity // at least this, of these rules; nothing else may be above info
	says   []string                   // parts of headline, statement and next, in this order
}

func layouts() []layout {
	perItem, large, tmpfs := arrays(nil, 0, 0, 0), arrays(nil, 0, 0, 0), arrays(nil, 0, 0, 0)
	perItem.Files, perItem.Bytes, perItem.Layout.Shape = 4000, 4000*34<<10, []int64{1, 64, 128}
	large.Bytes, large.Layout.StoredBytes = 200<<30, new(int64(200<<30))
	tmpfs.Storage = &report.Storage{Path: "/dev/shm", Kind: "tmpfs", FSType: "tmpfs"}
	onTmpfs := benchmark(tmpfs, new(figures).add(report.ProbeRead, metric.ItemTime, 11e-6, "cache", "warm", "order",
		"random"))
	onTmpfs.Benchmark.Cold = report.Cold{Reason: "a tmpfs has no storage behind it"}
	return []layout{
		{"gzip chunk of 64 items read one by one", benchmark(arrays([]int64{64, 64, 128}, 2<<20, 64, 1, "gzip-4"),
			new(figures).read(0.0168, 0.0175).open(90e-6, 500e-6).disk("32768").filter(0.0163).
				hdf5(0.0168, "chunk_cache_bytes", "1048576").hdf5(0.0168, "chunk_cache_bytes", "16777216").
				hdf5(0.0171, "handle", "reopened")),
			map[string]report.Severity{"hdf5/chunk-exceeds-cache": report.Error},
			[]string{"59.5 items/s in one worker, warm, random order",
				"97 % of an item's 16.8 ms goes to undoing the filters of its 2 MiB chunk",
				"HDF5 chunk shape: 1x64x128 would give",
				"items/s in one worker (modelled).", "pipetune explain hdf5/chunk-exceeds-cache",
				"pipetune bench-io /data/train.h5 --dataset /images --try"}},
		{"chunk across the wrong axis: a column per item", benchmark(arrays([]int64{4000, 1, 1}, 16000, 4000, 8192),
			new(figures).read(0.030, 0.060).disk("32768").hdf5(0.0301, "handle", "reopened")),
			map[string]report.Severity{"hdf5/chunk-mismatch": report.Error}, []string{"33.3 items/s",
				"because it lies in 8,192 chunks", "HDF5 chunk shape: 1x64x128"}},
		{"gzip, one item per chunk", benchmark(arrays([]int64{1, 64, 128}, 32<<10, 1, 1, "gzip-4"),
			new(figures).read(0.00027, 0.0004).disk("32768").filter(0.00025)),
			map[string]report.Severity{"hdf5/filter-cpu": report.Warning}, []string{"3,704 items/s",
				"HDF5 filter: none would give"}},
		{"10,000 small PNGs", benchmark(pictures("png", 10000, 7719, 1000),
			new(figures).read(23e-6, 300e-6).open(10e-6, 200e-6).disk("8192").decode(92e-6, "go/png", "png").
				add(report.ProbeRead, metric.ItemBytes, 7719, "cache", "warm", "order", "random")),
			map[string]report.Severity{"image/png-decode": report.Error, "storage/small-files": report.Warning},
			[]string{"8,696 items/s", "80 % of an item's 115 µs goes to decoding PNG", "explain image/png-decode"}},
		{"one folder of 50,000 files", benchmark(pictures("jpeg", 50000, 94<<10, 50000), jpegs()),
			map[string]report.Severity{"storage/crowded-folder": report.Info}, []string{"775 items/s",
				"Nothing in how the data is stored was found to be in the way."}},
		{"an HDF5 file per item, opened each time", benchmark(perItem,
			new(figures).read(20e-6, 100e-6).open(90e-6, 600e-6).disk("32768")),
			map[string]report.Severity{"hdf5/reopened-per-item": report.Error}, []string{"9,091 items/s",
				"82 % of an item's 110 µs goes to opening the file",
				"Files of the dataset: one HDF5 file, items along the first axis"}},
		{"more than memory holds, read at random", benchmark(large, new(figures).read(11e-6, 120e-6).disk("32768").
			add(report.ProbeRead, metric.ItemTime, 25e-6, "cache", "cold", "order", "sequential")),
			map[string]report.Severity{"storage/latency-bound": report.Error},
			[]string{"8,333 items/s in one worker, cold, random order",
				"91 % of an item's 120 µs goes to waiting for storage", "Order of reading", "--compare-path /tmp"}},
		{"two workers that wait for a lock", benchmark(arrays(nil, 0, 0, 0),
			new(figures).read(11e-6, 120e-6).disk("32768").processes(90000, 95000, "lock")),
			map[string]report.Severity{"cpu/scaling-bend": report.Error},
			[]string{"2 workers give 1.06 times what one gives: they wait for a lock"}},

		// Healthy: nothing above info.
		{contiguous, benchmark(arrays(nil, 0, 0, 0),
			new(figures).read(11e-6, 120e-6).open(90e-6, 500e-6).disk("32768").hdf5(120e-6, "handle", "reopened").
				add(report.ProbeHDF5, metric.OpenTime, 91e-6, "cache", "warm", "mode", "locked").
				add(report.ProbeScaling, metric.ItemRate, 90000, "workers", "1", "bound", "none").
				add(report.ProbeScaling, metric.ItemRate, 120000, "workers", "2", "bound", "cpu").
				try(11e-6, "as-is").try(12e-6, "chunk-item")),
			nil, []string{"90,909 items/s in one worker, warm, random order", "reading it from memory",
				"Nothing in how the data is stored"}},
		{"healthy: uncompressed chunks of 64 items", benchmark(arrays([]int64{64, 64, 128}, 2<<20, 64, 1),
			new(figures).read(7e-6, 120e-6).disk("32768")), nil, nil},
		{"healthy: JPEG of sensible size", benchmark(pictures("jpeg", 5000, 94<<10, 500), jpegs().
			add(report.ProbePython, metric.ItemTime, 0.0021, "decoder", "pillow", "cache", "warm", "order", "random").
			add(report.ProbePython, metric.ItemTime, 0.0018, "decoder", "opencv", "cache", "warm", "order", "random")),
			nil, []string{"775 items/s", "98 % of an item's 1.29 ms goes to decoding JPEG"}},
		{"healthy: on tmpfs", onTmpfs, nil, nil},
	}
}

const contiguous = "healthy: contiguous and uncompressed"

// jpegs is what pictures of 500 x 375 take on a local disk.
func jpegs() *figures {
	return new(figures).read(30e-6, 300e-6).open(4e-6, 200e-6).disk("98304").decode(0.00126, "libjpeg-turbo", "jpeg")
}

func TestLayoutsAreRecognised(t *testing.T) {
	for _, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			r := l.report
			judgeBench(r)
			found := map[string]report.Severity{}
			for _, f := range r.Findings {
				found[f.Rule] = f.Severity
				if want, expected := l.expect[f.Rule]; f.Severity != report.Info && !expected || expected &&
					graver(want, f.Severity) {
					t.Errorf("%s is %s (%.2f), want %q: %s", f.Rule, f.Severity, f.Score, want, f.Summary)
				}
				if len(f.Evidence) == 0 {
					t.Errorf("%s has no evidence", f.Rule)
				}
			}
			for rule := range l.expect {
				if found[rule] == "" {
					t.Errorf("%s was not found; there are %v and %+v", rule, found, r.Abstained)
				}
			}
			said := r.Benchmark.Headline + "\n" + r.Benchmark.Statement + "\n" + strings.Join(r.Next, "\n")
			t.Log(said)
			rest := said
			for _, part := range l.says {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Errorf("%q is not said, or not in this order:\n%s", part, said)
				}
				rest = after
			}
			checkPhases(t, r.Phases)
			checkNext(t, l)
			if r.Verdict != nil || len(r.Plans) > 0 {
				t.Error("a benchmark has a verdict or plans")
			}
			var b bytes.Buffer
			if err := report.Encode(&b, r); err != nil {
				t.Error(err)
			}
		})
	}
}

func graver(a, b report.Severity) bool {
	order := []report.Severity{report.Info, report.Warning, report.Error}
	return slices.Index(order, a) > slices.Index(order, b)
}

// checkPhases holds the phases of an item to what they promise: the largest first, and together all of its time.
func checkPhases(t *testing.T, phases []report.Phase) {
	t.Helper()
	total := 0.0
	for i, p := range phases {
		total += p.Ratio
		if i > 0 && p.Ratio > phases[i-1].Ratio {
			t.Errorf("phase %s comes after a smaller one", p.Name)
		}
		if p.ItemS <= 0 || p.Basis == "" {
			t.Errorf("phase %+v lacks its time or its basis", p)
		}
	}
	if total < 0.97 || total > 1.0001 { // parts too small to show are left out
		t.Errorf("phases add up to %.3f: %+v", total, phases)
	}
}

// checkNext holds what is advised next to what can be done: --try rewrites what lies in a file, and has nothing to
// offer for many files of one item.
func checkNext(t *testing.T, l layout) {
	t.Helper()
	advised := slices.ContainsFunc(l.report.Next, func(s string) bool { return strings.HasSuffix(s, " --try") })
	if l.expect["hdf5/reopened-per-item"] != "" && advised || l.expect["hdf5/chunk-exceeds-cache"] != "" && !advised {
		t.Errorf("next is %q", l.report.Next)
	}
	for _, s := range l.report.Next {
		if id, ok := strings.CutPrefix(s, "pipetune explain "); ok {
			if _, found := Find(id); !found {
				t.Errorf("%q explains no rule", s)
			}
		}
	}
}

// A measured candidate is what a finding goes by, instead of a model.
func TestCandidatesAreBelieved(t *testing.T) {
	r := layouts()[0].report
	f := figures(r.Measurements)
	f.try(0.0168, "as-is").
		try(0.00027, "chunk-item", "command", "h5repack -l images:CHUNK=1x64x128 in.h5 out.h5").
		add(report.ProbeTry, metric.StoredRatio, 1.02, "candidate", "chunk-item").
		try(12e-6, "chunk-item-unfiltered")
	r.Measurements = f
	judgeBench(r)
	c := r.Findings[0].Recommendations[0]
	if r.Findings[0].Rule != "hdf5/chunk-exceeds-cache" || c.Effect == nil || c.Effect.Basis != report.Measured ||
		c.Effect.After < 3000 || c.Effect.After > 4000 ||
		!strings.HasPrefix(c.Command, "h5repack") || !strings.Contains(c.Caveat, "102 % of the space") {
		t.Errorf("got %+v with effect %+v", c, c.Effect)
	}
	if slices.ContainsFunc(r.Next, func(s string) bool { return strings.Contains(s, "--try") }) {
		t.Errorf("--try is advised although it ran: %v", r.Next)
	}
}

// A benchmark that was cut off at once says so and invents nothing.
func TestNothingMeasuredSaysSo(t *testing.T) {
	r := benchmark(arrays(nil, 0, 0, 0), new(figures))
	judgeBench(r)
	if len(r.Findings) > 0 || r.Benchmark.Headline != "no item was timed" || !strings.Contains(r.Benchmark.Statement,
		"Too little") {
		t.Errorf("got %q, %q, %+v", r.Benchmark.Headline, r.Benchmark.Statement, r.Findings)
	}
	for _, a := range r.Abstained {
		if a.Reason == "" || strings.Contains(a.Reason, "watch") {
			t.Errorf("%s abstains because %q", a.Rule, a.Reason)
		}
	}
	judgeBench(&report.Report{Kind: "diagnose"})
}

// What a damaged file gives is of the items that can be read, and the first that is said of it is how many cannot.
func TestDamagedItemsAreCounted(t *testing.T) {
	for unread, want := range map[int]string{0: "", 7: "7 of the 100 sampled items could not be read", 100: ""} {
		r := benchmark(arrays(nil, 0, 0, 0), new(figures))
		r.Benchmark.Sample.Items, r.Benchmark.Sample.Unread = 100, unread
		judgeBench(r)
		if got := r.Benchmark.Statement; !strings.HasPrefix(got, want) ||
			(want == "") == strings.Contains(got, "sampled items could") {
			t.Errorf("%d unread: %q", unread, got)
		}
	}
}

// A rewrite that will fail is not advised without a word.
func TestDamagedFilesAreNotRepacked(t *testing.T) {
	for damaged, want := range map[bool]int{false: 0, true: 1} {
		r := layouts()[0].report
		if damaged {
			r.Benchmark.Unread = []report.Unread{{Reason: "cut", Count: 1, Items: 3}}
		}
		judgeBench(r)
		c := r.Findings[0].Recommendations[0]
		if got := strings.Count(c.Caveat, "h5repack fails"); got != want || !strings.HasPrefix(c.Command, "h5repack") {
			t.Errorf("damaged %v: %q, %q", damaged, c.Command, c.Caveat)
		}
	}
}

// --try is no advice where it was tried and could not be done.
func TestWhatCannotBeTriedIsNotAdvised(t *testing.T) {
	for asked, want := range map[bool]bool{false: true, true: false} {
		r := layouts()[0].report
		if asked {
			r.Abstained = append(r.Abstained, report.Abstained{Missing: []string{report.ProbeTry}, Reason: "cut"})
		}
		judgeBench(r)
		if slices.ContainsFunc(r.Next, func(s string) bool { return strings.HasSuffix(s, " --try") }) != want {
			t.Errorf("asked for %v: %q", asked, r.Next)
		}
	}
}
