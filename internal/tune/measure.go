package tune

import (
	"errors"
	"math"
	"time"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// workersPerCPU bounds the workers that are tried where they mostly wait; where they compute, one per CPU and a half
// are.
const workersPerCPU, computingPerCPU = 4, 1.5

// Measure searches in the job that e is of, and puts what came of it into out. Of job it needs Now, Epoch, Batches and
// Left; gone says why nothing more can be measured, "" where it can.
func Measure(e *evidence.Evidence, bench Bench, job Job, gone func() string, out *report.Tuning) error {
	rate, ok := e.Get(metric.BatchesPerS)
	if !ok {
		return errors.New("how fast the loop is now could not be measured")
	}
	free, _ := e.Get(metric.FreeRate)
	usable, _ := e.Get(metric.UsableCPUs)
	job.Rate, job.Free, job.Pins = rate.Summary, free.Summary, e.Facts.GPUName != ""
	job.Most = max(int(math.Ceil(usable.Center*workersPerCPU)), 1)
	job.Fits = func(Setting) string { return gone() }
	left := job.Left
	job.Left = func() time.Duration {
		if gone() != "" {
			return 0
		}
		return left()
	}
	job.model(e)
	result := Search(bench, job)
	if why := gone(); why != "" {
		result.Ended = why
	}
	fill(out, result, job)
	return nil
}

// model lets the search begin where the model of the loader points, and keep to what fits here.
func (job *Job) model(e *evidence.Evidence) {
	m, ok := diagnose.LoaderOf(e, diagnose.OwnError(e))
	if !ok {
		return
	}
	if needed, ok := m.WorkersNeeded(false); ok {
		job.First = needed.Workers
	}
	if m.Wait.Center < m.CPU.Center { // they compute
		job.Most = max(int(math.Ceil(m.UsableCPUs*computingPerCPU)), 2)
	}
	plain := func(set Setting) predict.Setting {
		if set.Workers == 0 {
			return predict.Setting{}
		}
		set.Unordered = m.Setting.Unordered
		return set.Setting
	}
	gone := job.Fits
	job.Fits = func(set Setting) string {
		if why := gone(set); why != "" {
			return why
		}
		reach := predict.Reach{Memory: 0.75, PerCore: workersPerCPU, Waiting: workersPerCPU}
		if limit := m.Limit(plain(set), reach); limit != predict.NoClamp {
			return "beyond " + string(limit)
		}
		return ""
	}
	if m.Metric == diagnose.Relative {
		return
	}
	job.Forecast = func(set Setting) *report.Interval {
		_, effect, ok := m.Predict(plain(set), predict.Remedy{})
		if !ok {
			return nil
		}
		return &report.Interval{Center: effect.After / m.PerBatch, Lo: effect.Lo / m.PerBatch,
			Hi: effect.Hi / m.PerBatch}
	}
}
