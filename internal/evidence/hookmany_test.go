package evidence

import (
	"strconv"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestHookLoadersThatShareALoop: each epoch makes a loader of its own, of another length, with workers that would
// persist; the first three are loops of their own, the later ones share one.
func TestHookLoadersThatShareALoop(t *testing.T) {
	l := launch(t, recording.Header{})
	for i := range 10 {
		n := min(i, 3)
		if i <= 3 {
			items := strconv.Itoa(5000 + i)
			if n == 3 {
				items = ""
			}
			l.loader(n, 88, 2, "persistent_workers", "1", "items", items)
		}
		l.bear("100.1", 2, 0)
		l.grow(metric.HookLoaders, l.loop(n), 1)
		l.begin(n, 0.3, 2)
		l.step(n, true, 0.5, 0)
		l.plain(n, 2, 0.01, 0.04)
		l.end(n, 0.2)
		l.bury("100.1")
	}
	e := l.evidence()
	sound(t, e)
	want(t, e, map[metric.Desc]float64{metric.Restarts: 9, metric.EpochTime: 3, metric.RestartGap: 1})
	near(t, e, 1e-6, map[metric.Desc]float64{metric.InputWait: (10*1.0 + 20*0.2) / 30,
		metric.BatchesPerS: 41 * 10 / 30.0})
	if h := e.Facts.Hook; h == nil || !h.Loader.RecreatedEachEpoch || h.Loader.Made != 10 || h.Loader.Items != nil ||
		h.Loader.BatchSize == nil || len(h.Others) != 0 {
		t.Errorf("%+v", h)
	}
}

// TestHookSaysWhatItDidNotTell: what the hook or its receiver left out is said in the report.
func TestHookSaysWhatItDidNotTell(t *testing.T) {
	l := launch(t, afterFive)
	l.loader(0, 88, 2)
	l.r.Unseen("hook_*", "process/100.1", "of some loaders nothing is told", "")
	l.bear("100.1", 2, 50)
	l.begin(0, 0, 2)
	l.plain(0, 29.9, 0.03, 0.02)
	if w := l.evidence().Warnings; len(w) != 1 || !strings.Contains(w[0], "of some loaders nothing is told") {
		t.Errorf("warnings: %q", w)
	}
}
