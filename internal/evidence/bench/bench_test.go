package bench

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/benchmark/benchmarktest"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// probed is one figure of a probe with an interval of 2 % to either side; labels are pairs of name and value.
func probed(probe string, d metric.Desc, x float64, labels ...string) report.Measurement {
	m := report.Measurement{Probe: probe, Metric: d.Name, Labels: map[string]string{},
		Value: report.Metric{Center: x, Lo: 0.98 * x, Hi: 1.02 * x, Confidence: 0.95, N: 12, Unit: string(d.Unit),
			Basis: report.Measured}}
	for i := 0; i+1 < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	return m
}

// near checks signals to within a part of each.
func near(t *testing.T, e *evidence.Evidence, part float64, figures map[metric.Desc]float64) {
	t.Helper()
	for d, x := range figures {
		if v, ok := e.Get(d); !ok || math.Abs(v.Center-x) > part*math.Abs(x)+1e-9 {
			t.Errorf("%s = %v (%v), want %v", d.Name, v.Center, ok, x)
		}
	}
}

// fromReport is the evidence of a report with the rows that its measurements were written from.
func fromReport(r *report.Report) *evidence.Evidence {
	return Evidence(r, benchmarktest.Rows(r.Measurements))
}

func benchOf(about report.Benchmark, list ...report.Measurement) *report.Report {
	return &report.Report{Schema: report.Schema, SchemaVersion: report.SchemaVersion, Kind: "bench-io",
		Benchmark: &about, Measurements: list, Host: report.Host{CPUsUsable: 2, MemoryBytes: 24 << 30},
		Metrics: map[string]report.Metric{metric.Available.Name: {Center: 20 << 30, Lo: 20 << 30, Hi: 20 << 30, N: 1,
			Basis: report.Measured}}}
}

// inflated is a report on 4000 x 64 x 128 float32 in gzip-4 chunks of 64 items, with reads of the storage added that
// say nothing of random ones, or nothing of the storage.
func inflated(t testing.TB) *report.Report {
	t.Helper()
	r := must.Read(t, "../../../testdata/reports/bench-gzip-chunk64.json", report.Decode)
	r.Metrics = map[string]report.Metric{metric.Available.Name: {Center: 8 << 30, Lo: 8 << 30, Hi: 8 << 30, N: 1,
		Basis: report.Measured}}
	r.Measurements = append(r.Measurements,
		probed(report.ProbeDevice, metric.ReadRate, 90000, "mode", "direct", "order", "sequential", "depth", "1",
			"block_bytes", "32768"),
		probed(report.ProbeDevice, metric.ByteRate, 9e9, "mode", "page-cache", "order", "sequential", "depth", "8",
			"block_bytes", "1048576"))
	return r
}

// inOrder fails the test where a figure is no number, or lies outside of its interval.
func inOrder(t *testing.T, e *evidence.Evidence) {
	t.Helper()
	for _, d := range metric.All() {
		if v, ok := e.Get(d); ok && (!stat.Finite(v.Center, v.Lo, v.Hi) || !(v.Lo <= v.Center && v.Center <= v.Hi)) {
			t.Errorf("%s = %+v", d.Name, v)
		}
	}
}

func TestEvidence(t *testing.T) {
	e := fromReport(inflated(t))
	inOrder(t, e)
	near(t, e, 1e-9, map[metric.Desc]float64{
		metric.BenchItem: 0.0168, metric.BenchColdItem: 0.0199, metric.BenchRead: 0.0168,
		metric.BenchOpen: 96e-6, metric.BenchColdOpen: 810e-6, metric.BenchLock: 5e-6, metric.BenchReopened: 0.0170,
		metric.BenchFilter: 0.0168 * 0.0164 / 0.0167, metric.BenchFilterRatio: 0.0164 / 0.0167,
		metric.BenchStorage: 1 - 0.0168/0.0199, metric.BenchAmplify: 58.5,
		metric.HDF5Amplify: 64, metric.HDF5Cache: 1 << 20, metric.HDF5Filters: 1,
		metric.BenchPerFile: 4000, metric.DatasetBytes: 119.8e6, metric.BenchMemory: 119.8e6 / (8 << 30),
		metric.FileBytes: 119.81e6, metric.BenchCacheSize: 256 << 20, metric.BenchCacheGain: 1 - 0.00031/0.0168,
		metric.BenchCacheOrdered: 4 << 20, metric.BenchCacheOrderedGain: 1 - 0.00029/0.0165,
		metric.BenchWorkers: 2, metric.BenchEfficiency: 0.9832, metric.BenchSerialReads: 6900,
		metric.BenchDeviceReads: 16700, metric.BenchLatency: 144.9e-6, metric.BenchDeviceBytes: 1.583e9,
		metric.BenchDeviceRatio: 1.917e6 / 0.0199 / 1.583e9, metric.BenchPython: 0.0177,
		metric.BenchTryGain: 1 - 7.1e-6/0.0168, metric.BenchTierGain: 1 - 0.0167/0.01982,
		metric.UsableCPUs: 2, metric.StorageNet: 0, metric.StorageTmpfs: 0,
	})
	for _, d := range []metric.Desc{metric.BenchDecode, metric.BenchOpenRatio} {
		if v, ok := e.Get(d); ok {
			t.Errorf("%s = %v, which was not measured", d.Name, v.Center)
		}
	}
	if v, _ := e.Get(metric.BenchFilterRatio); math.Abs(v.Lo-0.01618/0.01695) > 1e-6 || v.Hi != 1 {
		t.Errorf("the interval of a share is %v..%v", v.Lo, v.Hi)
	}
	if b := e.Bench; len(b.Candidates) != 4 || b.AsIs.Item.Center != 0.0168 || b.Candidates[0].Stored.Center != 1.03 ||
		len(b.Decoders) != 1 || b.Bound != "none" {
		t.Errorf("beside the signals: %+v", b)
	}
	if f := e.Facts; f.HDF5 == nil || f.HDF5.Shape != "(4000, 64, 128)" || f.HDF5.Item != "(1, 64, 128)" ||
		f.StorageKind != "disk" || f.DatasetKind != "hdf5" {
		t.Errorf("facts: %+v", f)
	}
}

// What filters take is a share of an item's time where its CPU time is not known.
func TestFiltersOfItemsWithoutCPUTime(t *testing.T) {
	r := inflated(t)
	r.Measurements = slices.DeleteFunc(r.Measurements,
		func(m report.Measurement) bool { return m.Metric == metric.ItemCPU.Name })
	near(t, fromReport(r), 1e-9, map[metric.Desc]float64{metric.BenchFilter: 0.0164,
		metric.BenchFilterRatio: 0.0164 / 0.0168})
}

// A picture's item is opening, reading and decoding; the read probe has the first two.
func TestEvidenceOfPictures(t *testing.T) {
	r := benchOf(report.Benchmark{Path: "/data/train", Kind: "image", Format: "jpeg", Files: 1000, FilesExact: true,
		Bytes: 94 << 20, LargestDir: 1000},
		probed(report.ProbeOpen, metric.OpenTime, 8e-6, "cache", "warm"),
		probed(report.ProbeRead, metric.ItemTime, 30e-6, "cache", "warm", "order", "random"),
		probed(report.ProbeRead, metric.ItemBytes, 96256, "cache", "warm", "order", "random"),
		probed(report.ProbeDecode, metric.DecodeTime, 0.00126, "decoder", "libjpeg-turbo", "format", "jpeg"),
		probed(report.ProbePython, metric.DecodeTime, 0.0021, "decoder", "pillow", "format", "jpeg"))
	e := fromReport(r)
	near(t, e, 0, map[metric.Desc]float64{metric.BenchItem: 0.00129, metric.BenchOpenRatio: 8e-6 / 0.00129,
		metric.BenchDecodeRatio: 0.00126 / 0.00129, metric.BenchPerFile: 1, metric.BenchFolder: 1000,
		metric.BenchItemBytes: 96256, metric.BenchPython: 0.00213})
	if e.Facts.Extension != ".jpg" {
		t.Errorf("extension %q", e.Facts.Extension)
	}
}

// Pictures of two formats take what one process took for all as they are mixed.
func TestEvidenceOfMixedPictures(t *testing.T) {
	png := probed(report.ProbeDecode, metric.DecodeTime, 0.012, "decoder", "go/png", "format", "png")
	jpeg := probed(report.ProbeDecode, metric.DecodeTime, 0.002, "decoder", "libjpeg-turbo", "format", "jpeg")
	read := probed(report.ProbeRead, metric.ItemTime, 0.001, "cache", "warm", "order", "random")
	rate := probed(report.ProbeScaling, metric.ItemRate, 200, "cache", "warm", "order", "random", "workers", "1")
	for name, c := range map[string]struct {
		kind         string
		rows         []report.Measurement
		item, decode float64
	}{
		"mixed":           {"image", []report.Measurement{png, jpeg, read, rate}, 0.005, 0.004},
		"one format":      {"image", []report.Measurement{jpeg, read, rate}, 0.003, 0.002},
		"mixed archive":   {"tar", []report.Measurement{png, jpeg, read, rate}, 0.005, 0.004},
		"no process":      {"image", []report.Measurement{png, jpeg, read}, 0.008, 0.007},
		"tar, no process": {"tar", []report.Measurement{jpeg, read}, 0.003, 0.002},
	} {
		t.Log(name)
		e := fromReport(benchOf(report.Benchmark{Kind: c.kind, Format: "jpeg", Files: 1000, FilesExact: true,
			Bytes: 94 << 20}, c.rows...))
		inOrder(t, e)
		near(t, e, 0, map[metric.Desc]float64{metric.BenchItem: c.item, metric.BenchDecode: c.decode})
		if v, _ := e.Get(metric.BenchDecode); name == "no process" && (v.Lo > 0.002 || v.Hi < 0.012 ||
			v.Basis != metric.Inferred) {
			t.Errorf("%s: %+v does not span both formats", name, v)
		}
	}
}

// Only what decodes a picture is compared as a decoder.
func TestDecodersDecode(t *testing.T) {
	e := fromReport(benchOf(report.Benchmark{Kind: "tar", Files: 1, FilesExact: true, Bytes: 94 << 20},
		probed(report.ProbePython, metric.ItemTime, 20e-6, "decoder", "python", "cache", "warm", "order", "random",
			"handle", "reopened"),
		probed(report.ProbePython, metric.ItemTime, 10e-6, "decoder", "torch as_tensor", "cache", "warm"),
		probed(report.ProbePython, metric.ItemTime, 0.002, "decoder", "torchvision", "cache", "warm", "order",
			"random"),
		probed(report.ProbePython, metric.ItemTime, 0.003, "decoder", "pillow", "cache", "warm", "order", "random")))
	if d := e.Bench.Decoders; len(d) != 2 || d[0].Name != "torchvision" || d[1].Name != "pillow" {
		t.Errorf("got %+v", d)
	}
}

// What is absent says why: the probe that would have given it was refused, was not asked for, or could not be cold.
func TestEvidenceSaysWhyNot(t *testing.T) {
	r := inflated(t)
	r.Measurements = nil
	r.Benchmark.Cold = report.Cold{Reason: "a tmpfs has no storage behind it"}
	r.Abstained = []report.Abstained{{Missing: []string{report.ProbeDevice}, Reason: "direct I/O is refused",
		Cure: "another file system"}, {Missing: []string{metric.BenchLock.Name}, Reason: "somebody writes"}}
	e := fromReport(r)
	for _, c := range []struct {
		d            metric.Desc
		reason, cure string
	}{
		{metric.BenchColdItem, "a tmpfs has no storage behind it", ""},
		{metric.BenchLatency, "direct I/O is refused", "another file system"},
		{metric.BenchLock, "somebody writes", ""},
		{metric.BenchTryGain, "not asked for", "--try"},
		{metric.BenchItem, "read probe", "--budget"},
	} {
		reason, cure := e.WhyMissing(c.d)
		if !strings.Contains(reason, c.reason) || !strings.Contains(cure, c.cure) {
			t.Errorf("%s: %q, cure %q", c.d.Name, reason, cure)
		}
	}
	if fromReport(&report.Report{}).Bench == nil {
		t.Error("a report without a benchmark gives no evidence of one")
	}
}

// Reads that were neither warm nor cold are taken for neither.
func TestUnlabelledReadsAreNeitherWarmNorCold(t *testing.T) {
	r := benchOf(report.Benchmark{Kind: "npy"}, probed(report.ProbeRead, metric.ItemTime, 0.001, "order", "random",
		"handle", "kept"))
	for _, d := range []metric.Desc{metric.BenchItem, metric.BenchColdItem} {
		if v, ok := fromReport(r).Get(d); ok {
			t.Errorf("%s = %v", d.Name, v.Center)
		}
	}
}

// Whatever a report holds, evidence is finite, in order, and within bounds.
func FuzzEvidence(f *testing.F) {
	f.Add(0.0168, 0.02, "1048576", int64(1), int64(1)<<40)
	f.Add(math.Inf(1), -1.0, "x", int64(0), int64(-5))
	f.Add(math.NaN(), 1e308, "1e400", int64(math.MaxInt64), int64(math.MinInt64))
	whole := inflated(f)
	f.Fuzz(func(t *testing.T, a, b float64, label string, n, m int64) {
		r, about, layout := *whole, *whole.Benchmark, *whole.Benchmark.Layout
		r.Benchmark, about.Layout, r.Measurements = &about, &layout, slices.Clone(whole.Measurements)
		r.Benchmark.Files, r.Benchmark.Bytes, r.Benchmark.Items, r.Benchmark.ItemBytes = n, m, &m, &n
		r.Benchmark.Layout.ChunkBytes, r.Benchmark.Layout.ChunksPerItem, r.Benchmark.Layout.Shape = &m, &n,
			[]int64{n, m}
		for i := range r.Measurements {
			x := &r.Measurements[i]
			labels := map[string]string{}
			maps.Copy(labels, x.Labels)
			x.Labels = labels
			if i%3 == 0 {
				x.Value.Center, x.Value.Lo = a, b
			}
			if _, ok := x.Labels[report.LabelChunkCache]; ok && i%2 == 0 {
				x.Labels[report.LabelChunkCache] = label
			}
			if i%5 == 0 {
				x.Labels[report.LabelWorkers], x.Labels[report.LabelBlock] = label, label
			}
		}
		e := fromReport(&r)
		inOrder(t, e)
		for _, d := range metric.All() {
			v, _ := e.Get(d)
			if strings.HasSuffix(d.Name, "_ratio") && !strings.Contains(d.Name, "gain") &&
				d.Name != metric.BenchEfficiency.Name && d.Name != metric.BenchMemory.Name &&
				d.Name != metric.BenchDeviceRatio.Name && (v.Lo < 0 || v.Hi > 1) {
				t.Errorf("%s = %+v is no share", d.Name, v)
			}
		}
	})
}

// An interval that reaches down to 0 makes a quotient vague, not absent and not infinite.
func TestQuotientOfVagueFigures(t *testing.T) {
	r := benchOf(report.Benchmark{Kind: "npy"},
		probed(report.ProbeRead, metric.ItemTime, 0.001, "cache", "warm", "order", "random"),
		probed(report.ProbeRead, metric.ItemTime, 0.002, "cache", "cold", "order", "random"))
	r.Measurements[1].Value.Lo = 0
	v, ok := fromReport(r).Get(metric.BenchStorage)
	if !ok || v.Center != 0.5 || v.Lo != 0 || v.Hi <= v.Center || v.Hi > 1 {
		t.Errorf("got %+v, %v", v, ok)
	}
}

// Where items are datasets of their own and were not counted, as many are in each file as in the one described.
func TestDatasetsThatAreItems(t *testing.T) {
	r := inflated(t)
	r.Benchmark.Items, r.Benchmark.Files, r.Benchmark.Dataset = nil, 80, "/*/image"
	l := r.Benchmark.Layout
	l.Members, l.Shape, l.ItemShape, l.Chunk = true, []int64{50, 64, 64, 3}, []int64{64, 64, 3}, []int64{1, 64, 64, 3}
	e := fromReport(r)
	near(t, e, 1e-9, map[metric.Desc]float64{metric.BenchPerFile: 50})
	if e.OpensPerItem() || !e.Facts.HDF5.Members {
		t.Errorf("each opens a file: %v, %+v", e.OpensPerItem(), e.Facts.HDF5)
	}
}

// The libhdf5 of the user's Python has a chunk cache of its own: what one that is no larger would bring is had already.
func TestTheChunkCacheOfTheUsersPython(t *testing.T) {
	r := inflated(t)
	for i, m := range r.Measurements {
		if m.Labels[report.LabelDecoder] == "h5py" {
			r.Measurements[i].Labels["version"] = "3.16.0 with HDF5 2.0.0"
		}
	}
	near(t, fromReport(r), 1e-9, map[metric.Desc]float64{metric.HDF5Cache: 8 << 20,
		metric.BenchCacheSize: 256 << 20, metric.BenchCacheGain: 1 - 0.00031/0.0164, metric.BenchCacheOrdered: 16 << 20,
		metric.BenchCacheOrderedGain: 1 - 0.00028/0.00029})
}
