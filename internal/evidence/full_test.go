package evidence

import (
	"fmt"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

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
