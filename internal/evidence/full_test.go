package evidence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestFullRecordingIsJudgedUntilThen: once a recording has no room for new processes, what their workers did is
// missing, and the figures are of the time before.
func TestFullRecordingIsJudgedUntilThen(t *testing.T) {
	s := simulate(t, recording.Header{})
	s.trainer("100.1")
	s.bear("100.1", 2, 50)
	s.run(15, inputBound)
	for i := range recording.MaxProcesses {
		s.r.Event(recording.EventProcess, fmt.Sprintf("process/%d.7", 5000+i), map[string]string{"role": "other"})
	}
	other := inputBound
	other.wait, other.asleep = 0.9, 0
	s.run(10, other)
	s.at += 8 // pipetune is stopped, after the time that is judged
	s.r.Tick(time.Duration(s.at * 1e9))
	s.r.Event(recording.EventGap, "", map[string]string{"lasted_s": "8"})
	s.run(20, other)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20})
	if e.Window.End.Round(time.Second) != 15*time.Second {
		t.Errorf("judged until %v", e.Window.End)
	}
	if text := strings.Join(e.Warnings, "\n"); !strings.Contains(text, "1024 processes") ||
		!strings.Contains(text, "of the 15s until then") {
		t.Errorf("not told: %q", e.Warnings)
	}
}

// TestFullAtOnceIsJudgedWhole: a job with more processes than a recording holds from the start leaves no time before to
// judge.
func TestFullAtOnceIsJudgedWhole(t *testing.T) {
	s := simulate(t, recording.Header{})
	s.trainer("100.1")
	s.bear("100.1", 2, 50)
	for i := range recording.MaxProcesses {
		s.r.Event(recording.EventProcess, fmt.Sprintf("process/%d.7", 5000+i), map[string]string{"role": "other"})
	}
	s.run(30, inputBound)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20})
	if text := strings.Join(e.Warnings, "\n"); !strings.Contains(text, "of the first of them") ||
		e.Window.End < 29*time.Second {
		t.Errorf("judged until %v, told %q", e.Window.End, e.Warnings)
	}
}
