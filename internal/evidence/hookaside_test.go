package evidence

import (
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
)

// TestHookAside: of batches that a prefetcher takes, counts and costs are told, and no wait of a step; a few of them change nothing.
func TestHookAside(t *testing.T) {
	for _, c := range []struct {
		name  string
		every int // of so many steps one is taken aside
		want  bool
	}{{"a prefetcher", 1, true}, {"one in three", 3, false}} {
		l := launch(t, afterFive, "100.1")
		l.loader(0, 88, 2)
		l.bear("100.1", 2, 50)
		l.looks = inputBound
		l.begin(0, 0.1, 2)
		for i := range 598 {
			if i%c.every == 0 {
				l.grow(metric.HookAside, l.loop(0), 1)
			}
			l.make(0, 1)
			l.step(0, true, 0.03, 0.02)
		}
		e := l.evidence()
		sound(t, e)
		h := e.Facts.Hook
		if h == nil || h.Aside != c.want {
			t.Fatalf("%s: %+v", c.name, h)
		}
		near(t, e, 1e-6, map[metric.Desc]float64{metric.BatchesPerS: 20, metric.MadeItem: 0.0025, metric.FetchTime: 0.08, metric.StepTime: 0.05})
		why, cure := e.WhyMissing(metric.InputWait)
		_, waits := e.Get(metric.InputWait)
		_, free := e.Get(metric.FreeStepTime)
		_, host := e.Get(metric.HostTime)
		if c.want && (waits || free || host || why != TakenAside || cure == "" || e.Ranks[0].InputWait != nil || e.Windows(metric.InputWait) != nil) || !c.want && !(waits && free && host) {
			t.Errorf("%s: input wait %v, free step %v, host %v; %q", c.name, waits, free, host, why)
		}
	}
}
