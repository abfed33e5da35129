//go:build e2e

package e2e

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// loaderTolerance is how far bench-io's rates may be from those of a real DataLoader.
const loaderTolerance = 0.15

// inProcessTolerance is that of quick items without workers: of runs in turn one gave 20,318 items/s and the next
// 33,961, as glibc gave the memory of each batch back or kept it.
const inProcessTolerance = 0.4

// loaderLayouts are datasets of slow items and of quick ones.
var loaderLayouts = []string{"chunk_item_gzip", "photographs", "healthy_hdf5"}

// TestDataLoader holds what bench-io says of a DataLoader without workers, with one and two against a real one over the
// same files, in the page cache.
func TestDataLoader(t *testing.T) {
	m := findMachine(t)
	for _, layout := range loaderLayouts {
		t.Run(layout, func(t *testing.T) {
			path := m.layout(t, layout)
			r, _ := m.bench(t, "loader-"+layout, path, "--workers", "2", "--no-cold", "--budget", "20s")
			if r.Forecast == nil {
				t.Fatalf("no forecast; abstained: %+v; warnings: %v", r.Abstained, r.Warnings)
			}
			for _, row := range r.Forecast.Rows {
				if row.NumWorkers > 2 {
					continue
				}
				real := m.dataLoader(t, path, row.NumWorkers)
				off, most, outside := row.SamplesPerS/real-1, loaderTolerance, real < row.Lo || real > row.Hi
				if row.NumWorkers == 0 && layout == "healthy_hdf5" {
					most, outside = inProcessTolerance, false
				}
				t.Logf("%d workers: told %.0f items/s (%.0f to %.0f), a DataLoader gives %.0f: %+.1f %%",
					row.NumWorkers, row.SamplesPerS, row.Lo, row.Hi, real, 100*off)
				if outside || math.Abs(off) > most {
					t.Errorf("%d workers: want within the interval and %.0f %%", row.NumWorkers, 100*most)
				}
			}
		})
	}
}

// figure returns the center of a measurement whose labels include these, each a name and a value.
func figure(t *testing.T, r *report.Report, probe, metric string, labels ...string) float64 {
	t.Helper()
	i := slices.IndexFunc(r.Measurements, func(m report.Measurement) bool {
		for label := range slices.Chunk(labels, 2) {
			if m.Labels[label[0]] != label[1] {
				return false
			}
		}
		return m.Probe == probe && m.Metric == metric
	})
	if i < 0 {
		t.Fatalf("no %s %s %q among the measurements; abstained: %+v; warnings: %v", probe, metric, labels, r.Abstained,
			r.Warnings)
	}
	return r.Measurements[i].Value.Center
}

// dataLoader returns the items per second of a real DataLoader, the median of three runs.
func (m machine) dataLoader(t *testing.T, path string, workers int) float64 {
	t.Helper()
	var rates []float64
	for range 3 {
		printed := outputOf(t, m.python, "../../testdata/jobs/dataloader_rate.py", path, strconv.Itoa(workers), "4")
		rates = append(rates, must.Get(strconv.ParseFloat(strings.TrimSpace(string(printed)), 64))(t))
	}
	return median(rates)
}
