package watch

import (
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestAWatchEndsWhereItsVerdictIsClear: only a verdict of high confidence ends a watch, not before its time, and only
// one whose length is nobody's wish.
func TestAWatchEndsWhereItsVerdictIsClear(t *testing.T) {
	of := func(class report.Class, c report.Confidence) *report.Verdict {
		return &report.Verdict{Class: class, Confidence: c}
	}
	for name, c := range map[string]struct {
		mayEnd      bool
		at          time.Duration
		v           *report.Verdict
		shown, ends string
	}{
		"high, in time": {true, soonEnough, of(report.InputBound, report.High), "so far input-bound (high)",
			recording.EndClear},
		"too early": {true, soonEnough - 1, of(report.InputBound, report.High),
			"so far input-bound (high)", ""},
		"not certain": {true, time.Minute, of(report.GPUBound, report.Medium), "so far gpu-bound (medium)",
			""},
		"a length was asked for": {false, time.Minute, of(report.GPUBound, report.High), "so far gpu-bound (high)", ""},
		"nothing is known":       {true, time.Minute, of(report.Inconclusive, report.High), "", ""},
		"nothing to judge":       {true, time.Minute, nil, "", ""},
	} {
		shown := ""
		p := &provisional{Options: Options{MayEnd: c.mayEnd,
			Words: func(words string, _ time.Duration) { shown = words }}}
		if ends := p.take(Interim{At: c.at, Verdict: c.v}, c.at); ends != c.ends || shown != c.shown {
			t.Errorf("%s: %q, shown %q", name, ends, shown)
		}
	}
}

// TestGlancesAreTakenBesideTheWatch: what is judged is what was seen until then, the watch goes on meanwhile, and the
// next one comes later.
func TestGlancesAreTakenBesideTheWatch(t *testing.T) {
	rec := must.Get(recording.NewRecorder(recording.Header{}, nil))(t)
	amended := 0
	p := &provisional{Options: Options{Duration: time.Minute}, next: firstInterim,
		amend: func(h *recording.Header) { amended++; h.Warmup = time.Second }}
	at := firstInterim - time.Second
	if reason := p.enough(at, rec); reason != "" || p.interim != nil {
		t.Fatalf("%q, or a glance before the first", reason)
	}
	rec.Add(metric.CPUBusy, "cpu/0", 1)
	at = firstInterim
	p.enough(at, rec)
	if p.interim == nil || amended != 1 || rec.Header().Warmup != 0 {
		t.Fatalf("amended %d times, the recording's own warm-up is %v", amended, rec.Header().Warmup)
	}
	if p.next != 2*firstInterim {
		t.Errorf("the next glance at %v", p.next)
	}
	for end := time.Now().Add(time.Minute); p.interim != nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
		at += time.Millisecond
		p.enough(at, rec)
	}
	if p.interim != nil {
		t.Error("a glance has not come back")
	}
	if p.enough(p.Duration, rec); p.interim != nil {
		t.Error("a glance beside the report")
	}
}
