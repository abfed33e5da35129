package document

import (
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// Blocks of a file are nobody's samples.
func TestBlocksAreNotCalledSamples(t *testing.T) {
	r := &report.Report{Benchmark: &report.Benchmark{Kind: "other"}, Forecast: &report.Forecast{Confidence: 0.9,
		Rows: []report.ForecastRow{{NumWorkers: 1, SamplesPerS: 100, Lo: 90, Hi: 110}}}}
	if got := forecastSection(r).Parts[0].(*Table).Columns[1].Name; got != "blocks/s" {
		t.Errorf("%q", got)
	}
	r.Benchmark.Kind = "hdf5"
	if got := forecastSection(r).Parts[0].(*Table).Columns[1].Name; got != "samples/s" {
		t.Errorf("%q", got)
	}
}
