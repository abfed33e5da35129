package evidence

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

func TestWarmupIsDropped(t *testing.T) {
	s := twoWorkers(t, recording.Header{Warmup: 2 * time.Second})
	cold := inputBound
	cold.wait, cold.asleep, cold.batches = 0.9, 0, 2
	s.run(8, cold)
	s.run(22, inputBound)
	e := s.evidence()
	if e.Window.Warmup != 8*time.Second || !e.Window.Detected {
		t.Errorf("warm-up %v, detected %v; want 8s", e.Window.Warmup, e.Window.Detected)
	}
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20})
}

func TestGapsAreCutOut(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.run(10, inputBound)
	// pipetune is stopped for 8 s: the job goes on, so CPU time and tensors grow, but no samples are taken.
	for _, w := range s.workers["100.1"] {
		s.sums[metric.ProcCPU.Name+" process/"+w] += 8 * 0.9
	}
	s.sums[metric.LoaderTensors.Name+" loader/100.1"] += 8 * 500
	s.gap(8)
	s.run(12, inputBound)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20, metric.WorkerCPU: 0.5})
	if !warned(e, "did not run") {
		t.Errorf("the gap was not told: %q", e.Warnings)
	}
}

func TestCountersThatRunBackwards(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.run(15, inputBound)
	s.sums[metric.LoaderTensors.Name+" loader/100.1"] = 0
	s.run(15, inputBound)
	e := s.evidence()
	// The tick of the reset has no batches, so the cost of taking them is missing from one tick in 300.
	want(t, e, map[metric.Desc]float64{metric.BatchesPerS: 20, metric.InputWait: 0.599957})
	if !warned(e, "backwards") {
		t.Errorf("the reset was not told: %q", e.Warnings)
	}
}

// TestIowaitMayFall lets the kernel take back time it had counted as waiting for a disk and count it as idle: no
// counter ran backwards, and no time was there twice.
func TestIowaitMayFall(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	for range 15 {
		s.run(1, inputBound)
		s.sums[metric.CPUIdle.Name+" host"] -= 0.5
		s.sums[metric.CPUIowait.Name+" host"] += 0.5
		s.run(1, inputBound)
		s.sums[metric.CPUIdle.Name+" host"] += 0.5
		s.sums[metric.CPUIowait.Name+" host"] -= 0.5
	}
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.CPUBusyRatio: 1.6 / 8})
	if len(e.Warnings) != 0 {
		t.Errorf("warnings %q", e.Warnings)
	}
}

func TestCutOffAndShortRecordings(t *testing.T) {
	s := twoWorkers(t, recording.Header{Warmup: 5 * time.Second})
	s.run(4, inputBound)
	rec := s.recording("duration")
	rec.End = nil
	e := s.derive(rec)
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.NumWorkers: 2})
	if !warned(e, "cut off") || !warned(e, "watch for longer, --duration 60s") {
		t.Errorf("warnings: %q", e.Warnings)
	}
	if v, _ := e.Get(metric.InputWait); v.Confidence != 0 {
		t.Errorf("2 s gave an interval at %v", v.Confidence)
	}
}

func TestJobThatEndsInTheWatch(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.run(20, inputBound)
	s.bury("100.1")
	s.run(2, moment{run: 1, gpu: -1})
	s.r.Event(recording.EventJobEnded, "", nil)
	s.at += 5
	e := s.derive(s.recording("job-ended"))
	if !e.Window.Ended || e.Window.End > 20100*time.Millisecond {
		t.Errorf("window %+v, want its end at the workers' end", e.Window)
	}
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6})
}

// TestJobThatFails: how a launched job failed is the first warning, and no longer watch is advised against it.
func TestJobThatFails(t *testing.T) {
	s := twoWorkers(t, recording.Header{Mode: "launch"})
	s.run(4, inputBound)
	s.r.Event(recording.EventJobEnded, "", recording.Attrs(recording.JobEnd{Status: 139, Signal: "SIGSEGV",
		LastedS: 5.21}))
	e := s.derive(s.recording("job-ended"))
	const failure = "was ended by SIGSEGV after 5.2 s"
	if e.Window.Failure != failure || len(e.Warnings) == 0 || e.Warnings[0] != "the job "+failure {
		t.Errorf("failure %q, warnings %q", e.Window.Failure, e.Warnings)
	}
	if warned(e, "longer") {
		t.Errorf("a longer watch would cure nothing: %q", e.Warnings)
	}
}

// fill leaves a recording no room for further processes.
func (s *simulation) fill() {
	for i := range recording.MaxProcesses {
		s.r.Event(recording.EventProcess, fmt.Sprintf("process/%d.7", 5000+i), map[string]string{"role": "other"})
	}
}

// TestFullRecordingIsJudgedUntilThen: once a recording has no room for new processes, what their workers did is
// missing, and the figures are of the time before.
func TestFullRecordingIsJudgedUntilThen(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.run(15, inputBound)
	s.fill()
	other := inputBound
	other.wait, other.asleep = 0.9, 0
	s.run(10, other)
	s.gap(8) // after the time that is judged
	s.run(20, other)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20})
	if e.Window.End.Round(time.Second) != 15*time.Second {
		t.Errorf("judged until %v", e.Window.End)
	}
	if !warned(e, "1024 processes") || !warned(e, "of the 15s until then") {
		t.Errorf("not told: %q", e.Warnings)
	}
}

// TestFullAtOnceIsJudgedWhole: a job with more processes than a recording holds from the start leaves no time before to
// judge.
func TestFullAtOnceIsJudgedWhole(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.fill()
	s.run(30, inputBound)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20})
	if !warned(e, "of the first of them") || e.Window.End < 29*time.Second {
		t.Errorf("judged until %v, told %q", e.Window.End, e.Warnings)
	}
}

// stopped is a watch of 20 s over a trainer and a worker, sampled 50 times a second, of which some are found stopped
// for a while.
func stopped(t *testing.T, from, to time.Duration, who ...string) *Evidence {
	t.Helper()
	rec := must.Get(recording.NewRecorder(recording.Header{Interval: 200 * time.Millisecond,
		SampleInterval: 20 * time.Millisecond}, nil))(t)
	const trainer, worker = "process/100.1", "process/101.1"
	rec.Event(recording.EventProcess, trainer, map[string]string{"role": "trainer", "pid": "100", "start_s": "1"})
	rec.Event(recording.EventProcess, worker, map[string]string{"role": "worker", "pid": "101", "start_s": "1",
		"trainer": trainer})
	samples, lost := 0.0, map[string]float64{}
	const length = 20 * time.Second
	for at := time.Duration(0); at <= length; at += 200 * time.Millisecond {
		rec.Tick(at)
		for _, entity := range []string{trainer, worker} {
			rec.Add(metric.ThreadSamples, entity, samples)
			rec.Add(metric.ThreadStopped, entity, lost[entity])
			rec.Add(metric.ThreadSleep, entity, samples-lost[entity])
			if at >= from && at < to && slices.Contains(who, entity) {
				lost[entity] += 10
			}
		}
		samples += 10
	}
	seen := must.Get(rec.Finish(recording.End{At: length, Reason: "duration"}))(t)
	e := must.Get(FromRecording(seen))(t)
	return e
}

func TestHaltsAreToldAndLeftOut(t *testing.T) {
	const trainer, worker = "process/100.1", "process/101.1"
	for name, c := range map[string]struct {
		from, to time.Duration
		who      []string
		says     string
		halted   time.Duration
		clean    float64 // seconds of the windows
		share    float64 // of the trainer's samples
	}{
		"nobody": {0, 0, nil, "", 0, 20, 0},
		"a worker for a while": {5 * time.Second, 9 * time.Second, []string{worker},
			"loader worker 101 was stopped or frozen from 4.5 s to 9.0 s", 4500 * time.Millisecond, 15.5, 0},
		"all to the end": {15 * time.Second, 30 * time.Second, []string{trainer, worker},
			"the job has been stopped or frozen since 14.5 s", 5500 * time.Millisecond, 14.5, 0.25},
		"shorter than a second": {5 * time.Second, 5800 * time.Millisecond, []string{trainer}, "", 0, 20, 0.04},
	} {
		t.Run(name, func(t *testing.T) {
			e := stopped(t, c.from, c.to, c.who...)
			if said := strings.Join(e.Warnings, "\n"); !strings.Contains(said, c.says) || c.says == "" &&
				strings.Contains(said, "stopped") {
				t.Errorf("warnings:\n%s", said)
			}
			if d := e.Window.Halted - c.halted; d < -time.Millisecond || d > time.Millisecond {
				t.Errorf("halted for %s, want %s", e.Window.Halted, c.halted)
			}
			if v, ok := e.Get(metric.WindowTime); !ok || v.Center < c.clean-0.01 || v.Center > c.clean+0.01 {
				t.Errorf("%.2f s are left (%t), want %.2f", v.Center, ok, c.clean)
			}
			if v, ok := e.Get(metric.TrainerStopped); !ok || v.Center < c.share-0.01 || v.Center > c.share+0.01 {
				t.Errorf("the trainer was stopped in %.3f of the samples (%t), want %.3f", v.Center, ok, c.share)
			}
		})
	}
}

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
	s := withWorkers(t, 0, recording.Header{})
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
	want(t, e, map[metric.Desc]float64{metric.Restarts: 2}) // from the first restart to the third
	// Waited: 0.1 s at the end of an epoch, 2 s until the first batch.
	if v, _ := e.Get(metric.InputWait); math.Abs(v.Center-2.1/10) > 0.015 {
		t.Errorf("input wait %v, want %v", v.Center, 2.1/10)
	}
}
