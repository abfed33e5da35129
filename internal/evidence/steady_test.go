package evidence

import (
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
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
