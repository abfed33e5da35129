package evidence

import (
	"math"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestFreeData: chunks in which the workers still made batches, in which an evaluation ran, and the first one, do not
// count.
func TestFreeData(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.run(30, inputBound)
	chunk := func(entity string, steps int64, seconds float64, filled, void bool) {
		s.r.Event(recording.EventReplay, entity, recording.Attrs(recording.Replay{Steps: steps, Seconds: seconds,
			Filled: filled, Void: void, Kept: 8, Replayed: 1, Trainers: 2}))
	}
	chunk("process/200.1", 90, 1, true, false)
	chunk("process/100.1", 3, 0.001, true, false)
	chunk("process/100.1", 10, 1, false, false)
	for range 6 {
		chunk("process/100.1", 50, 1, true, false)
	}
	chunk("process/100.1", 10, 1, true, true)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.FreeRate: 50, metric.FreeTimes: 2.5})
	if f := e.Facts.FreeData; f == nil || f.Batches != 8 || f.Steps != 300 || f.Seconds != 6 {
		t.Errorf("facts %+v", f)
	}
	if len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "of 2 trainers 1 were handed batches again") {
		t.Errorf("warnings %q", e.Warnings)
	}
}

// TestFreeDataNotMeasured says why, and tells no figure.
func TestFreeDataNotMeasured(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.run(30, inputBound)
	if _, cure := s.evidence().WhyMissing(metric.FreeRate); !strings.Contains(cure, "--headroom") {
		t.Errorf("the cure is %q", cure)
	}
	s.r.Event(recording.EventReplay, "", recording.Attrs(recording.Replay{Why: "the job ended"}))
	e := s.evidence()
	if v, ok := e.Get(metric.FreeTimes); ok || math.IsNaN(v.Center) {
		t.Errorf("headroom %+v", v)
	}
	if why, _ := e.WhyMissing(metric.FreeRate); why != "the job ended" || len(e.Warnings) != 1 {
		t.Errorf("why %q, warnings %q", why, e.Warnings)
	}
}
