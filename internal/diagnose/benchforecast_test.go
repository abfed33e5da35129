package diagnose

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/benchmark/benchmarktest"
	"github.com/pipetune/pipetune/internal/evidence/bench"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

func benchmarked(t *testing.T, name string) *report.Report {
	t.Helper()
	f := must.Get(os.Open("../../testdata/reports/" + name))(t)
	defer f.Close()
	return must.Get(report.Decode(f))(t)
}

func forecast(r *report.Report, with TrainingAhead) {
	Forecast(r, bench.Evidence(r, benchmarktest.Rows(r.Measurements)), with)
}

func ahead(t *testing.T, name string, with TrainingAhead) *report.Forecast {
	t.Helper()
	r := benchmarked(t, name)
	forecast(r, with)
	if r.Forecast == nil {
		t.Fatalf("%s: no forecast", name)
	}
	must.Do(t, r.Validate())
	return r.Forecast
}

// TestForecastOfABenchmark holds the table to what must be so: never faster than the CPUs and the step allow, no
// slower by more workers, and the needed number among its rows.
func TestForecastOfABenchmark(t *testing.T) {
	for _, name := range []string{"bench-gzip-chunk64.json", "bench-small-pngs.json", "bench-contiguous.json"} {
		for _, with := range []TrainingAhead{{}, {BatchSize: 64, Step: 30 * time.Millisecond,
			Transform: 2 * time.Millisecond}, {BatchSize: 1, Step: time.Hour}} {
			f := ahead(t, name, with)
			cpus := benchmarked(t, name).Host.CPUsUsable
			needed, last := false, 0.0
			for _, w := range f.Rows {
				needed = needed || w.NumWorkers == *f.Needed
				if !(w.Lo <= w.SamplesPerS && w.SamplesPerS <= w.Hi && w.SamplesPerS > 0) {
					t.Errorf("%s %+v: %+v", name, with, w)
				}
				if with.Step > 0 && w.SamplesPerS > float64(f.BatchSize)/with.Step.Seconds()*1.0001 {
					t.Errorf("%s: %g/s, faster than the step", name, w.SamplesPerS)
				}
				if with.Transform > 0 && w.SamplesPerS > cpus/with.Transform.Seconds()*1.0001 {
					t.Errorf("%s: %g/s with transforms of %s on %g CPUs", name, w.SamplesPerS, with.Transform, cpus)
				}
				if w.NumWorkers > 1 && w.SamplesPerS < 0.97*last {
					t.Errorf("%s: %d workers give %g/s, fewer %g/s", name, w.NumWorkers, w.SamplesPerS, last)
				}
				if w.NumWorkers > 0 {
					last = w.SamplesPerS
				}
				if (w.WaitS != nil) != (with.Step > 0) {
					t.Errorf("%s: a wait per step: %v, a step: %v", name, w.WaitS != nil, with.Step > 0)
				}
			}
			if !needed || f.BatchSizeGiven != (with.BatchSize > 0) {
				t.Errorf("%s: %+v", name, f)
			}
			if diff := cmp.Diff(f, ahead(t, name, with)); diff != "" {
				t.Errorf("%s: not the same twice: %s", name, diff)
			}
		}
	}
}

// What the statement says of the intervals and of more workers is so.
func TestForecastSaysWhatWasDone(t *testing.T) {
	f := ahead(t, "bench-gzip-chunk64.json", TrainingAhead{})
	own := unit.Percent(ModelError.Of(predict.Exposure{Pace: 1})) // nothing but inflating limits it
	if !strings.Contains(f.Statement, "hold the model's own error, "+own+" ") ||
		strings.Contains(f.Statement, "not in the intervals") {
		t.Errorf("%q", f.Statement)
	}
	for name, want := range map[string]string{"bench-gzip-chunk64.json": "Collating and handing over are in it",
		"bench-contiguous.json": "was not timed"} {
		if got := ahead(t, name, TrainingAhead{}).Statement; !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for limit, want := range map[predict.Term]string{predict.Workers: "more than 64, which may bring more, were not " +
		"tried", predict.CPUs: "more bring less than 3 %"} {
		if got := beyond(64, limit); got != want {
			t.Errorf("limited by %s: %q", limit, got)
		}
	}
	// On 256 CPUs 64 workers, the most that are tried, are still what limits.
	r := benchmarked(t, "bench-gzip-chunk64.json")
	r.Host.CPUsUsable = 256
	forecast(r, TrainingAhead{})
	if last := r.Forecast.Rows[len(r.Forecast.Rows)-1]; last.Limit != "the workers" ||
		!strings.Contains(r.Forecast.Statement, "were not tried") {
		t.Errorf("%+v, %q", last, r.Forecast.Statement)
	}
}

// A DataLoader with one worker that read the sample is what one worker gives, be it slower or faster than the parts.
func TestForecastGoesByAWorkerThatRead(t *testing.T) {
	for _, each := range []float64{0.010, 0.030} {
		r := benchmarked(t, "bench-gzip-chunk64.json")
		r.Measurements = append(r.Measurements, report.Measurement{Probe: report.ProbePython,
			Metric: metric.ItemTime.Name, Labels: map[string]string{report.LabelDecoder: report.TorchReading},
			Value: report.Metric{Center: each, Lo: each, Hi: each, N: 10, Confidence: 0.95}})
		forecast(r, TrainingAhead{BatchSize: 64})
		i := slices.IndexFunc(r.Forecast.Rows, func(row report.ForecastRow) bool { return row.NumWorkers == 1 })
		if got := r.Forecast.Rows[i].SamplesPerS; math.Abs(got*each-1) > 0.05 {
			t.Errorf("an item each %g s: %g/s by one worker", each, got)
		}
	}
}

// A DataLoader without workers that read the sample is what one gives, be it slower or faster than the parts.
func TestForecastGoesByALoaderWithoutWorkers(t *testing.T) {
	for _, each := range []float64{0.0005, 0.030} {
		r := benchmarked(t, "bench-gzip-chunk64.json")
		r.Measurements = append(r.Measurements, report.Measurement{Probe: report.ProbePython,
			Metric: metric.ItemTime.Name, Labels: map[string]string{report.LabelDecoder: report.TorchInProcess},
			Value: report.Metric{Center: each, Lo: each, Hi: each, N: 10, Confidence: 0.95}})
		forecast(r, TrainingAhead{BatchSize: 64})
		if row := r.Forecast.Rows[0]; row.NumWorkers != 0 || math.Abs(row.SamplesPerS*each-1) > 0.02 {
			t.Errorf("an item each %g s: %+v", each, row)
		}
	}
}

func TestForecastNeedsAnItem(t *testing.T) {
	r := benchmarked(t, "bench-contiguous.json")
	r.Measurements = nil
	forecast(r, TrainingAhead{})
	if r.Forecast != nil {
		t.Errorf("%+v from nothing", r.Forecast)
	}
	r = benchmarked(t, "reopened.json")
	forecast(r, TrainingAhead{})
	if r.Forecast != nil {
		t.Error("a forecast of a job that was watched")
	}
}
