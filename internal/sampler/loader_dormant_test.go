package sampler

import (
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
)

// TestLoaderNotInUse: the persistent workers of a validation loader do not make the training loader look idle.
func TestLoaderNotInUse(t *testing.T) {
	m := newJob(t, 2) // 101 trains, 102 validates
	w := m.watch()
	m.thread(101, 101, running, "0", 'R')
	for i := range 2 * restSamples {
		m.writes(101, int64(5*i), 300)
		w.samples(2 * accountEvery)
		w.book()
	}
	before := w.book()
	before.want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 1})
	w.samples(10)
	after := w.book()
	for d, want := range map[metric.Desc]float64{metric.LoaderSamples: 10, metric.LoaderAliveSum: 10,
		metric.LoaderIdleSum: 0, metric.LoaderBlocked: 0} {
		if got := after.get(t, d, loader100) - before.get(t, d, loader100); got != want {
			t.Errorf("%s grew by %v, want %v", d.Name, got, want)
		}
	}
	// Validation begins: its worker is at work, and counts at once.
	m.thread(102, 102, running, "0", 'R')
	w.samples(1)
	w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 2})
}

// TestSlowSampleIsNoLoaderOfItsOwn: workers held up by one slow sample stay part of the loader.
func TestSlowSampleIsNoLoaderOfItsOwn(t *testing.T) {
	m := newJob(t, 2)
	m.thread(101, 101, running, "0", 'R')
	w := m.watch()
	for range 2 * restSamples {
		w.samples(accountEvery)
		w.book()
	}
	m.writes(101, 9, 600) // at last
	w.samples(2 * accountEvery)
	w.book().want(t, loader100, map[metric.Desc]float64{metric.LoaderWorkers: 2})
}
