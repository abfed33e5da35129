package rules

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// said is the headline and the statement of a benchmark.
func said(r *report.Report) string {
	judgeBench(r)
	return r.Benchmark.Headline + "\n" + r.Benchmark.Statement
}

// holds checks that a text has some words and lacks others, which it marks by a "!".
func holds(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if not, absent := strings.CutPrefix(w, "!"); absent == strings.Contains(text, not) {
			t.Errorf("%q: want %q", text, w)
		}
	}
}

// A run that ended before the filters were timed gives no all-clear, and does not book their time as reading.
func TestNoAllClearWithoutFilters(t *testing.T) {
	r := benchmark(arrays([]int64{64, 64, 128}, 2<<20, 64, 1, "gzip-4"), new(figures).read(0.0107, 0.0111))
	r.Benchmark.Interrupted = true
	holds(t, said(r), "!reading it from memory", "filters, whose part was not measured",
		"!Nothing in how the data is stored", "interrupted",
		"rules could not judge: hdf5/cache-too-small, hdf5/chunk-exceeds-cache", " more.", "!….")
	if len(r.Phases) != 1 || r.Phases[0].Name != "reading and HDF5 filters" {
		t.Errorf("phases are %+v", r.Phases)
	}
	r = benchmark(arrays([]int64{64, 64, 128}, 2<<20, 64, 1, "gzip-4"), new(figures).read(0.0107, 0.0111))
	r.Abstained = []report.Abstained{{Missing: []string{report.ProbeHDF5}, Reason: "its worker died"}}
	holds(t, said(r), "!Nothing in how the data is stored", "!interrupted", "could not judge: hdf5/")
}

// An interrupted run whose rules all spoke is still one that looked at a part only.
func TestNoAllClearAfterAnInterrupt(t *testing.T) {
	for _, l := range layouts() {
		if l.name == contiguous {
			r := l.report
			r.Benchmark.Interrupted = true
			holds(t, said(r), "The run was interrupted", "!Nothing in how the data is stored")
		}
	}
}

var tarball = report.Benchmark{Path: "/data/x.tar", Kind: "tar", Format: "tar", Files: 1, Bytes: 100 << 20,
	Items: new(int64(4000))}

// Pictures of which decoding was not timed have a rate of reading, and no item time that rules could judge by.
func TestHeadlineWithoutDecoding(t *testing.T) {
	undecoded := func() *report.Report {
		return benchmark(pictures("jpeg", 5000, 94<<10, 5000), new(figures).read(4.7e-6, 300e-6).open(4e-6,
			200e-6).disk("98304"))
	}
	r := undecoded()
	r.Benchmark.Interrupted = true
	holds(t, said(r), "reading alone", "decoding was not measured",
		"what decoding it takes was not measured (the run was interrupted", "!Nothing in how")
	if _, ok := r.Metrics[metric.BenchItem.Name]; ok || len(r.Findings) > 0 {
		t.Errorf("an item's time without decoding is judged: %+v", r.Findings)
	}
	r = undecoded()
	r.Benchmark.Interrupted = true
	r.Abstained = []report.Abstained{{Missing: []string{report.ProbeDecode}, Reason: "the run was interrupted"}}
	holds(t, said(r), "reading alone", "!could be decoded")
	r = undecoded()
	r.Benchmark.Unread = []report.Unread{{Reason: "cannot be decoded", Count: 5000, Example: "a.jpg"}}
	r.Abstained = []report.Abstained{{Missing: []string{report.ProbeDecode},
		Reason: "decoding: none of the sampled items could be read"}}
	holds(t, said(r), "no item could be decoded", "!items/s", "none of the sampled items")

	// An archive without pictures has nothing to decode.
	tar := benchmark(tarball, new(figures).read(20e-6, 100e-6))
	tar.Abstained = []report.Abstained{{Missing: []string{report.ProbeDecode},
		Reason: "decoding: none of the sampled items could be read"}}
	holds(t, said(tar), "50,000 items/s", "!reading alone")
	tar.Abstained, tar.Findings, tar.Metrics = nil, nil, map[string]report.Metric{}
	holds(t, said(tar), "reading alone")
}

// An archive's pictures are named by their own format, and several are named all.
func TestDecodingNamesTheFormats(t *testing.T) {
	f := new(figures).read(20e-6, 100e-6).decode(0.00126, "libjpeg-turbo", "jpeg")
	holds(t, said(benchmark(tarball, f)), "decoding JPEG", "!tar")
	f.decode(0.0106, "go/png", "png")
	holds(t, said(benchmark(tarball, f)), "decoding JPEG and PNG")
}

// A bend in a single round may be noise: nothing is said of it.
func TestNoBendWithoutAnInterval(t *testing.T) {
	r := benchmark(arrays(nil, 0, 0, 0), new(figures).read(11e-6, 120e-6).processes(90000, 95000, "lock"))
	for i := range r.Measurements {
		if v := &r.Measurements[i].Value; r.Measurements[i].Probe == report.ProbeScaling {
			v.Lo, v.Hi, v.Confidence, v.N = v.Center, v.Center, 0, 1
		}
	}
	holds(t, said(r), "!workers give")
	abstains := false
	for _, a := range r.Abstained {
		abstains = abstains || a.Rule == "cpu/scaling-bend" && strings.Contains(a.Reason, "too few rounds")
	}
	if !abstains {
		t.Errorf("no abstention of cpu/scaling-bend in %+v", r.Abstained)
	}
}

// Names from a program keep their spelling at the begin of a sentence.
func TestIdentifiersKeepTheirSpelling(t *testing.T) {
	f := new(figures).read(40e-6, 60e-6).filter(1e-6).hdf5(40e-6, "chunk_cache_bytes", "1048576").
		hdf5(20e-6, "chunk_cache_bytes", "33554432")
	holds(t, said(benchmark(arrays([]int64{1, 64, 128}, 32<<10, 1, 1, "gzip-4"), f)), "rdcc_nbytes of h5py.File",
		"!Rdcc")
}

// An effect whose interval begins within what there is now is no gain to promise, and one sentence about the first
// epoch is enough.
func TestFirstEpochPromisesClearGainsOnly(t *testing.T) {
	for kind, speaks := range map[string]string{"disk": "storage/cold-cache", "network": "storage/fits-in-memory"} {
		for _, vague := range []bool{false, true} {
			b := arrays(nil, 0, 0, 0)
			b.Bytes, b.Items, b.Storage = 2<<30, new(int64(400000)), &report.Storage{Path: "/", Kind: kind,
				FSType: kind}
			r := benchmark(b, new(figures).read(100e-6, 200e-6))
			if vague {
				r.Measurements[0].Value.Hi = 250e-6
			}
			judgeBench(r)
			found := 0
			for _, f := range r.Findings {
				if f.Rule != "storage/cold-cache" && f.Rule != "storage/fits-in-memory" {
					continue
				}
				found++
				if e := f.Recommendations[0].Effect; f.Rule != speaks || (e == nil) != vague {
					t.Errorf("on %s, vague %v: %s with effect %+v", kind, vague, f.Rule, e)
				}
			}
			if found != 1 {
				t.Errorf("on %s, vague %v: %d findings of the first epoch", kind, vague, found)
			}
		}
	}
}
