package report

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// benchmarked is a small report of bench-io with every field of a benchmark set.
func benchmarked() *Report {
	return &Report{
		Schema: Schema, SchemaVersion: SchemaVersion, Kind: "bench-io",
		Benchmark: &Benchmark{
			Headline: "60 items/s in one worker, warm", Statement: "Inflating.", Path: "train.h5", Kind: "hdf5",
			Format: "hdf5", Dataset: "images", Layout: &Layout{Storage: "chunked", Shape: []int64{4000, 64, 128},
				Dtype: "float32", Chunk: []int64{64, 64, 128}, ChunkBytes: new(int64(2 << 20)),
				Filters: []string{"gzip-4"}, StoredBytes: new(int64(117 << 20)), ItemsPerChunk: new(int64(64)),
				ChunksPerItem: new(int64(1)), ItemShape: []int64{1, 64, 128}},
			Files: 1, FilesExact: true, Bytes: 117 << 20, Items: new(int64(4000)), ItemBytes: new(int64(32768)),
			LargestDir: 1, Sample: Sample{Files: 1, Items: 512, Bytes: 117 << 20, Seed: 7},
			Storage: &Storage{Path: "/data", Kind: "disk", FSType: "ext4", Devices: []string{"vda"}},
			Cold:    Cold{Possible: true, How: "cachestat", CachedRatio: new(0.002)},
			BudgetS: 60, UsedS: 41.5, Interrupted: true, Unread: []Unread{{Reason: "truncated", Count: 2,
				Example: "b.h5"}}, Outside: []string{"other.h5"},
			Interpreter: "python3", Libraries: []string{"h5py 3.7.0"},
		},
		Measurements: []Measurement{{Probe: ProbeRead, Labels: map[string]string{LabelCache: "warm",
			LabelOrder: "random"}, Metric: "item_time_s",
			Value: Metric{Center: 0.0168, Lo: 0.0166, Hi: 0.0171, Confidence: 0.95, N: 24, Unit: "s",
				Basis: Measured}}},
	}
}

func TestBenchmarkRoundTrip(t *testing.T) {
	want := benchmarked()
	if d := cmp.Diff(want, again(t, want)); d != "" {
		t.Error(d)
	}
}

// TestUncountedItemsAreNull: what was not counted must not come out as 0.
func TestUncountedItemsAreNull(t *testing.T) {
	r := benchmarked()
	r.Benchmark.Items, r.Benchmark.ItemBytes, r.Benchmark.Storage = nil, nil, nil
	var b bytes.Buffer
	must.Do(t, Encode(&b, r))
	for _, field := range []string{"items", "item_bytes", "storage"} {
		if !strings.Contains(b.String(), "\n    \""+field+"\": null") {
			t.Errorf("%s is not null", field)
		}
	}
}

func TestBenchmarkIsHeldToTheContract(t *testing.T) {
	for name, spoil := range map[string]func(*Report){
		"no benchmark":       func(r *Report) { r.Benchmark = nil },
		"unknown kind":       func(r *Report) { r.Benchmark.Kind = "zip" },
		"unknown storage":    func(r *Report) { r.Benchmark.Layout.Storage = "scattered" },
		"negative count":     func(r *Report) { r.Benchmark.Items = new(int64(-1)) },
		"budget not finite":  func(r *Report) { r.Benchmark.BudgetS = math.Inf(1) },
		"cached above one":   func(r *Report) { r.Benchmark.Cold.CachedRatio = new(1.1) },
		"not finite":         func(r *Report) { r.Measurements[0].Value.Hi = math.NaN() },
		"interval reversed":  func(r *Report) { r.Measurements[0].Value.Lo = 1 },
		"confidence above 1": func(r *Report) { r.Measurements[0].Value.Confidence = 95 },
		"unknown probe":      func(r *Report) { r.Measurements[0].Probe = "write" },
		"unknown label":      func(r *Report) { r.Measurements[0].Labels["colour"] = "red" },
		"unknown basis":      func(r *Report) { r.Measurements[0].Value.Basis = "felt" },
		"no metric":          func(r *Report) { r.Measurements[0].Metric = "" },
	} {
		t.Run(name, func(t *testing.T) {
			r := benchmarked()
			spoil(r)
			var b bytes.Buffer
			if err := Encode(&b, r); !errors.Is(err, ErrInvalid) || b.Len() > 0 {
				t.Errorf("got %v and %d bytes", err, b.Len())
			}
		})
	}
}

// TestNewerMinorMayHaveMoreProbes: additive change must not lock older readers out.
func TestNewerMinorMayHaveMoreProbes(t *testing.T) {
	r := benchmarked()
	r.SchemaVersion = "1.9.0"
	r.Measurements[0].Probe, r.Measurements[0].Labels["colour"] = "write", "red"
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	r.Measurements[0].Value.Lo = math.NaN()
	if err := r.Validate(); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestMinor(t *testing.T) {
	for version, want := range map[string]int{"1.1.0": 1, "1.12": 12, "1": 0, "": 0, "1.x.0": 0} {
		if got := minor(version); got != want {
			t.Errorf("minor(%q) = %d, want %d", version, got, want)
		}
	}
}
