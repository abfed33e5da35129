package evidence

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestHookLoaderOfNoDataLoader: of a loader that is no DataLoader waits and steps are exact. That no workers of
// PyTorch's are seen does not say that the trainer loads by itself.
func TestHookLoaderOfNoDataLoader(t *testing.T) {
	l := launch(t, recording.Header{})
	l.r.Event(recording.EventLoader, l.loop(0), map[string]string{"class": "torchdata.nodes.loader.Loader",
		"file": "train.py", "line": "9"})
	l.begin(0, 0, 0)
	for range 20 {
		l.plain(0, 1, 0.03, 0.01)
	}
	e := l.evidence()
	if wait, ok := e.Get(metric.InputWait); !ok || math.Abs(wait.Center-0.75) > 0.02 {
		t.Errorf("waits %+v, %v", wait, ok)
	}
	for _, d := range []metric.Desc{metric.NumWorkers, metric.InWorkerless, metric.WorkerBusy} {
		if v, ok := e.Get(d); ok {
			t.Errorf("%s is %+v", d.Name, v)
		}
	}
	if !warned(e, "torchdata.nodes.loader.Loader, which is no DataLoader") {
		t.Errorf("warnings: %q", e.Warnings)
	}
}
