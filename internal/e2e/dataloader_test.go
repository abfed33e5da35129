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

// loaderCases are datasets whose items take long enough for the hand-over of batches between processes to be a small
// part.
var loaderCases = []struct {
	layout  string
	decoder string // of the user's own libraries
}{
	{"chunk_item_gzip", "h5py"},
	{"photographs", "pillow"},
}

// What it costs the trainer's process to take a batch of one tensor: measured with three versions of torch
// (internal/evidence/trainer.go). Where there are as many workers as CPUs, they do not have the CPUs to themselves.
const (
	takeBatch = 0.46e-3 // seconds
	batchSize = 32      // of testdata/jobs/dataloader_rate.py
)

// TestDataLoader holds bench-io's rates of one and two worker processes against a real DataLoader with as many workers
// over the same files, in the page cache. What Python adds to an item is taken from bench-io's own timing of the user's
// libraries: their time per item, and that of handing an item over in batches of a real DataLoader, less the time per
// item of one worker of bench-io.
func TestDataLoader(t *testing.T) {
	m := findMachine(t)
	for _, c := range loaderCases {
		t.Run(c.layout, func(t *testing.T) {
			path := m.layout(t, c.layout)
			r, _ := m.bench(t, "loader-"+c.layout, path, "--workers", "2", "--no-cold", "--budget", "20s")
			python := figure(t, r, report.ProbePython, "item_time_s", report.LabelDecoder, c.decoder)
			handed := figure(t, r, report.ProbePython, "item_time_s", report.LabelDecoder, "torch dataloader")
			one := figure(t, r, report.ProbeScaling, "items_per_s", report.LabelWorkers, "1")
			for workers := 1; workers <= 2; workers++ {
				rate := figure(t, r, report.ProbeScaling, "items_per_s", report.LabelWorkers, strconv.Itoa(workers))
				perItem := float64(workers)/rate + python + handed - 1/one
				predicted := min(float64(workers)/perItem, r.Host.CPUsUsable/(perItem+takeBatch/batchSize))
				real := m.dataLoader(t, path, workers)
				t.Logf("%d workers: bench-io %.0f items/s, with Python %.0f; DataLoader %.0f: %+.1f %%", workers, rate,
					predicted, real, 100*(predicted/real-1))
				if math.Abs(predicted/real-1) > loaderTolerance {
					t.Errorf("%d workers: %.0f items/s are predicted, a DataLoader gives %.0f: %+.1f %%, want within "+
						"%.0f %%",
						workers, predicted, real, 100*(predicted/real-1), 100*loaderTolerance)
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
