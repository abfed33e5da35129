package evidence

import (
	"math"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// about checks signals to within so much of each.
func about(t *testing.T, e *Evidence, figures map[metric.Desc][2]float64) {
	t.Helper()
	for d, x := range figures {
		if v, ok := e.Get(d); !ok || math.Abs(v.Center-x[0]) > x[1] {
			t.Errorf("%s = %v (%v), want %v", d.Name, v.Center, ok, x[0])
		}
	}
}

// TestEpochRestarts lets the workers be replaced every 6 s: 0.2 s without any while the main thread sleeps, then 0.8 s
// until the first batch of which the main thread waits half and starts workers the other half.
func TestEpochRestarts(t *testing.T) {
	s := withWorkers(t, 0, recording.Header{})
	for range 5 {
		s.bear("100.1", 2, 0)
		s.run(0.8, moment{wait: 0.5, run: 0.5, work: 1, gpu: -1})
		s.run(5, moment{wait: 0.2, run: 0.1, asleep: 0.7, work: 0.8, idle: 0.2, batches: 10, gpu: -1})
		s.bury("100.1")
		s.run(0.2, moment{wait: 0, run: 0, gpu: -1})
	}
	e := s.evidence()
	if e.Window.Detected {
		t.Errorf("the first epoch was taken for a warm-up of %v", e.Window.Warmup)
	}
	about(t, e, map[metric.Desc][2]float64{
		metric.Restarts:   {3, 0}, // from the second set's birth to the last one's
		metric.EpochTime:  {6, 0.05},
		metric.RestartGap: {1.0, 0.11}, // 0.2 s without workers, 0.8 s without a batch; ticks are 0.1 s
		metric.EpochGap:   {1.0 / 6, 0.02},
		metric.InputWait:  {(1.0 + 5*0.2) / 6, 0.02}, // the gap and a fifth of the rest
	})
	if e.Facts.Persistent == nil || *e.Facts.Persistent {
		t.Error("persistent_workers must be seen to be off")
	}
	want(t, e, map[metric.Desc]float64{metric.NumWorkers: 2})
}

// TestValidationLoaderIsNoRestart lets a second set of workers live beside the first: once standing by, once for a
// while.
func TestValidationLoaderIsNoRestart(t *testing.T) {
	s := withWorkers(t, 4, recording.Header{})
	s.run(10, inputBound)
	main := s.workers["100.1"]
	validation := s.bear("100.1", 4, 0)
	s.run(3, inputBound)
	for _, id := range validation {
		s.r.Event(recording.EventExit, "process/"+id, nil)
	}
	s.workers["100.1"] = main
	s.run(17, inputBound)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.Restarts: 0, metric.NumWorkers: 4, metric.EpochGap: 0})
	if e.Facts.Persistent != nil {
		t.Error("nothing is known of persistent_workers")
	}
}

// TestFirstBatchWithoutTensors restarts workers before any tensor was seen: the end of the wait says when the first
// batch came.
func TestFirstBatchWithoutTensors(t *testing.T) {
	s := simulate(t, recording.Header{})
	s.tensors = 0
	s.trainer("100.1")
	for range 5 {
		s.bear("100.1", 2, 0)
		s.run(1.5, moment{wait: 1, work: 1, gpu: -1})
		s.run(4.5, moment{asleep: 1, idle: 1, gpu: -1})
		s.bury("100.1")
	}
	e := s.derive(s.withoutTensors())
	near(t, e, 0.1, map[metric.Desc]float64{metric.RestartGap: 1.5, metric.EpochGap: 1.5 / 6,
		metric.InputWait: 1.5 / 6})
	if reason, _ := e.WhyMissing(metric.BatchesPerS); reason == "" {
		t.Error("no reason why batches were not counted")
	}
}

// TestTrainerThatAlwaysWaitsStartsOnce has the first workers born in the watch and their tensors reported late; the
// trainer waits for four fifths of all its steps, so that its start must not seem to last until then.
func TestTrainerThatAlwaysWaitsStartsOnce(t *testing.T) {
	s := withWorkers(t, 0, recording.Header{})
	s.run(2, moment{run: 1, gpu: -1})
	s.bear("100.1", 1, 0)
	s.run(1, moment{wait: 1, work: 1, gpu: -1})
	for range 27 {
		s.run(0.8, moment{wait: 0.9, asleep: 0.1, work: 1, batches: 10, gpu: -1})
		s.run(0.2, moment{wait: 0.4, asleep: 0.6, work: 1, batches: 10, gpu: -1})
	}
	rec := s.recording("duration")
	edit(rec, metric.LoaderTensors, func(points []recording.Point) []recording.Point { return points[120:] })
	e := s.derive(rec)
	v, _ := e.Get(metric.InputWait)
	seconds := (e.Window.End - e.Window.Start).Seconds()
	if inside := 0.8 * 27 / seconds; v.Center < inside || v.Center > inside+0.06 {
		t.Errorf("input wait %v, want about %v", v.Center, inside)
	}
}

// TestCheapRestarts replaces forked workers within a tick: 0.05 s of waiting in a tick of 0.3 s whose rest is the step
// on the device. A real control of 8 s epochs was reported an epoch gap of 4.6 % where it lost half a percent.
func TestCheapRestarts(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.tick, s.samples = 0.3, 15
	steady := moment{asleep: 1, idle: 1, ahead: 1, batches: 20, gpu: -1}
	for range 5 {
		s.run(5.7, steady)
		s.run(0.3, moment{asleep: 5.0 / 6, run: 1.0 / 6, idle: 1, batches: 20, gpu: -1})
		s.bury("100.1")
		s.bear("100.1", 2, 0.2)
	}
	about(t, s.evidence(), map[metric.Desc][2]float64{metric.RestartGap: {0.05, 0.025},
		metric.EpochGap: {0.05 * 5 / 30, 0.01}, metric.InputWait: {0, 0.01}})
}

// TestShortRestartsOfATrainerThatComputes replaces a forked worker in 0.1 s between two readings of 0.25 s, of a
// trainer that computes for 0.4 of its time. What it computes soon after is its own, not the start's. A real loop of 40
// steps an epoch was reported 16 % between epochs for 4 %, and a step of 22 ms for 25.
func TestShortRestartsOfATrainerThatComputes(t *testing.T) {
	s := withWorkers(t, 1, recording.Header{})
	s.tick, s.samples = 0.25, 12
	for range 8 {
		s.run(2.5, moment{wait: 0.6, run: 0.4, work: 0.05, batches: 16, gpu: -1})
		s.run(0.25, moment{wait: 0.6, run: 0.4, work: 0.05, batches: 16 * 0.6, gpu: -1})
		s.bury("100.1")
		s.bear("100.1", 1, 0.2)
	}
	about(t, s.evidence(), map[metric.Desc][2]float64{metric.RestartGap: {0.1, 0.07},
		metric.EpochGap: {0.1 / 2.75, 0.07 / 2.75}, metric.FreeStepTime: {0.4 * 2.75 / (16 * 2.65), 0.0015}})
}

// TestReadsOfWorkersThatEnded hands the trainer what its workers had read as they end, as the kernel does.
func TestReadsOfWorkersThatEnded(t *testing.T) {
	for _, ends := range []bool{false, true} {
		s := twoWorkers(t, recording.Header{})
		m := inputBound
		m.trainerReads = 1 << 20
		s.run(15, m)
		if ends {
			s.bury("100.1")
			s.sums[metric.ProcReadChars.Name+" process/100.1"] += 65 * 200 << 20
			s.bear("100.1", 2, 0)
		}
		s.run(15, m)
		e := s.evidence()
		if !ends {
			want(t, e, map[metric.Desc]float64{metric.MainReadBytes: 1 << 20})
			continue
		}
		want(t, e, map[metric.Desc]float64{metric.MainReadBytes: absent})
		if why, _ := e.WhyMissing(metric.MainReadBytes); !strings.Contains(why, "a worker ended") {
			t.Errorf("missing because %q", why)
		}
	}
}

// TestTimedChangeovers has epochs as short as two readings, whose beginnings samples timed: 0.06 s of 0.5 s, of which
// the trainer starts workers for a third, and as much waiting within. Of a sample of it that the loader counts as a
// wait, the time is not counted twice; and one in which the trainer sleeps is none of the device's.
func TestTimedChangeovers(t *testing.T) {
	const within = 3.0 / 24 // a loader's wait and what it takes to receive, by the simulation
	for name, c := range map[string]struct {
		row          recording.Changeover
		wait, device float64
	}{
		"nothing of it counted": {recording.Changeover{Samples: 3, Running: 1}, within + 0.12, 0.72},
		"a third counted":       {recording.Changeover{Samples: 3, Running: 1, Waiting: 1}, within + 0.08, 0.72},
		"a third asleep":        {recording.Changeover{Samples: 3, Running: 1, Asleep: 1}, within + 0.12, 0.68},
	} {
		t.Run(name, func(t *testing.T) { testTimedChangeovers(t, c.row, c.wait, c.device) })
	}
}

func testTimedChangeovers(t *testing.T, row recording.Changeover, wait, device float64) {
	row.Took, row.Ago = 0.06, 0.19
	s := twoWorkers(t, recording.Header{})
	s.tick, s.samples = 0.25, 12
	for range 40 {
		s.run(0.25, moment{wait: 0.12, asleep: 0.88, idle: 1, batches: 40, gpu: -1})
		s.bury("100.1")
		s.bear("100.1", 2, 0)
		s.run(0.25, moment{wait: 0.12, run: 0.08, asleep: 0.56, idle: 1, batches: 40, gpu: -1})
		s.r.Event(recording.EventChangeover, "loader/100.1", recording.Attrs(row))
	}
	about(t, s.evidence(), map[metric.Desc][2]float64{metric.RestartGap: {0.06, 0.001}, metric.EpochGap: {0.12, 0.005},
		metric.InputWait: {wait, 0.01}, metric.DeviceTime: {device, 0.01}})
}
