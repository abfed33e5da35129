package replay

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// What the reports from the field claim with a figure, held against what was measured on the same jobs.

func measuredIn(t *testing.T, name string, d metric.Desc) float64 {
	t.Helper()
	v, ok := evidenceOf(t, "../../testdata/cases/"+name).Get(d)
	if !ok {
		t.Fatalf("%s has no %s", name, d.Name)
	}
	return v.Center
}

// "mp.set_start_method('spawn')  # Faster than fork on Linux"
func TestSpawnedWorkersStartSlower(t *testing.T) {
	forked, spawned := measuredIn(t, "a-bags.jsonl", metric.RestartGap), measuredIn(t, "d-volumes.jsonl",
		metric.RestartGap)
	if spawned < 3*forked {
		t.Errorf("starting workers takes %.3f s by spawn and %.3f s by fork", spawned, forked)
	}
}

// "Each file open/close can take 10-100ms": on a local file system, two of them took less than a fifth of the lower
// figure.
func TestOpeningIsMeasured(t *testing.T) {
	if opens := measuredIn(t, "a-bags.jsonl", metric.MadeOpen); opens <= 0 || opens > 2e-3 {
		t.Errorf("opening and closing two times takes %g s", opens)
	}
}

// "Use compressed formats (e.g., compressed HDF5) if I/O is the bottleneck": a random item out of a compressed chunk
// larger than the cache costs a hundred times one that is alone in its chunk, and a thousand times one that is not
// compressed.
func TestCompressedChunksCost(t *testing.T) {
	alone, plain := 0.0, 0.0
	for _, c := range finding(fieldReport(t, "b-mels-bench.json"), "hdf5/chunk-exceeds-cache").Recommendations {
		switch {
		case c.Effect == nil || c.Effect.Basis != report.Measured:
			t.Errorf("%s → %s was not measured: %+v", c.Setting, c.To, c.Effect)
		case c.Setting == "HDF5 layout":
			plain = c.Effect.After / c.Effect.Before
		case c.Setting == "HDF5 chunk shape":
			alone = c.Effect.After / c.Effect.Before
		}
	}
	if alone < 20 || plain < 200 {
		t.Errorf("one item per chunk is %.0f times as fast, no compression %.0f times", alone, plain)
	}
}

// "Use JPEG instead of PNG: JPEGs load ~2x faster": what these pictures give is measured on them.
func TestJPEGIsMeasured(t *testing.T) {
	f := finding(fieldReport(t, "e-faces-bench.json"), "image/png-decode")
	if e := f.Recommendations[0].Effect; e == nil || e.Basis != report.Measured || e.After < 2*e.Before {
		t.Errorf("%+v", e)
	}
}

// "num_workers = num_CPUs / 2": with the CPUs of the report, the costs and the step give another number.
func TestWorkersFollowFromCosts(t *testing.T) {
	const cpus = 12
	rec := readRecording(t, "../../testdata/cases/d-volumes.jsonl")
	had := float64(rec.Header.Host.CPUsPresent)
	for i, s := range rec.Series {
		for j, p := range s.Points {
			switch s.Metric {
			case metric.CPUUsable.Name, metric.CPUPresent.Name:
				rec.Series[i].Points[j].Value = cpus
			case metric.CPUIdle.Name: // those that are new do nothing
				rec.Series[i].Points[j].Value += (cpus - had) * p.At.Seconds()
			}
		}
	}
	r := reportOf(t, rec)
	f := finding(r, "loader/workers-too-few")
	if f == nil {
		t.Fatalf("findings with %d CPUs: %v", cpus, found(r))
	}
	if n, err := strconv.Atoi(f.Recommendations[0].To); err != nil || n < 7 || n > 9 {
		t.Errorf("%s workers on %d CPUs, where a worker takes 99 ms for a batch and the step 13",
			f.Recommendations[0].To, cpus)
	}
}

// "RTX 5090 24GB": the memory is what the driver reports, and no card's name stands for it.
func TestMemoryIsWhatTheDriverTells(t *testing.T) {
	rec := readRecording(t, "../../testdata/cases/c-mels-later-fed.jsonl")
	if len(rec.Header.Host.GPUs) != 1 {
		t.Fatalf("%+v", rec.Header.Host.GPUs)
	}
	rec.Header.Host.GPUs[0].MemoryBytes = 24 << 30
	for i, s := range rec.Series {
		for j := range s.Points {
			if s.Metric == metric.GPUMemTotal.Name {
				rec.Series[i].Points[j].Value = 24 << 30
			}
		}
	}
	r := reportOf(t, rec)
	if f := finding(r, "gpu/batch-headroom"); f == nil ||
		!strings.Contains(f.Summary, "33 % of the 24 GiB of NVIDIA GeForce RTX 5090") {
		t.Errorf("%+v", f)
	}
}

// Every claim that does not hold is answered, and the page for users has each.
func TestEveryWrongClaimIsAnswered(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/field-reports.md"))(t)
	answered := map[int]bool{}
	for _, c := range fieldCases {
		for _, claim := range c.claims {
			answered[claim.number] = answered[claim.number] || len(claim.words) > 0
		}
	}
	const claims = 13
	for n := 1; n <= claims; n++ {
		if !answered[n] {
			t.Errorf("claim %d is answered by no report", n)
		}
		if !strings.Contains(string(page), fmt.Sprintf("\n| %d |", n)) {
			t.Errorf("docs/field-reports.md has no row for claim %d", n)
		}
	}
}
