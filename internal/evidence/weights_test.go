package evidence

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestSamplesAreWeightedByTime lets pipetune take half as many samples while the trainer waits, as it does on full
// cores.
func TestSamplesAreWeightedByTime(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	for range 15 {
		s.samples = 2
		s.run(1, moment{wait: 1, work: 1, batches: 10, gpu: -1})
		s.samples = 5
		s.run(1, moment{asleep: 1, idle: 1, ahead: 1, batches: 10, gpu: -1})
	}
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.5, metric.DeviceTime: 0.5, metric.WorkerIdle: 0.5,
		metric.LoaderIsAhead: 0.5})
	if v, ok := e.Get(metric.SampleCoverage); !ok || math.Abs(v.Center-0.7) > 1e-9 {
		t.Errorf("coverage %v, want 0.7: samples taken, not time", v.Center)
	}
}

// TestTicksWithoutASample lets whole ticks pass without a sample; their time goes by the next one that has some.
func TestTicksWithoutASample(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	for i := range 300 {
		s.samples = float64(i % 3)
		s.run(0.1, inputBound)
	}
	want(t, s.evidence(), map[metric.Desc]float64{metric.InputWait: 0.6, metric.HostTime: 0.1,
		metric.WorkerStorage: 0.3})
}

// TestSpawnedWorkersAreKnownLate is what a real job showed (PyTorch 1.13, spawn, two workers, two full cores): the old
// workers' death is noticed just after the birth of the first new one, and that one is not known to be a worker for a
// second, in which the trainer writes the dataset's pickle to it.
func TestSpawnedWorkersAreKnownLate(t *testing.T) {
	s := simulate(t, recording.Header{})
	s.trainer("100.1")
	s.bear("100.1", 1, 5)
	s.bear("100.1", 1, 4)
	steady := moment{asleep: 1, idle: 0.5, work: 0.5, batches: 20, gpu: -1}
	for range 3 {
		s.run(3.9, steady)
		s.run(0.1, moment{wait: 1, gpu: -1})
		s.bury("100.1")
		s.run(1, moment{gpu: -1}) // born at its beginning, seen as a worker at its end
		s.bear("100.1", 1, 1.01)
		s.run(0.9, moment{work: 1, gpu: -1})
		s.bear("100.1", 1, 0.9)
		s.run(0.1, moment{work: 1, gpu: -1})
		s.run(4, steady)
	}
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.Restarts: 3})
	// Waited: 0.1 s at the end of an epoch, 2 s until the first batch.
	if v, _ := e.Get(metric.InputWait); math.Abs(v.Center-3*2.1/30) > 0.015 {
		t.Errorf("input wait %v, want %v", v.Center, 3*2.1/30)
	}
}
