package evidence

import (
	"math"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence/hooked"
	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

func TestSpreadOfARecording(t *testing.T) {
	e := derive(t, recordings+"/launched-hdf5-per-item.jsonl")
	classes := e.Spread(metric.HookFetchSpread)
	if len(classes) < 3 {
		t.Fatalf("%d classes of times to make a batch", len(classes))
	}
	counted, took := 0.0, 0.0
	for i, c := range classes {
		if i > 0 && c.K <= classes[i-1].K || c.Count <= 0 {
			t.Errorf("class %d of %g comes after %d", c.K, c.Count, classes[i-1].K)
		}
		counted += c.Count
		took += c.Count * c.At(0.5)
	}
	mean, _ := e.Get(metric.FetchTime)
	if got := took / counted; math.Abs(got/mean.Center-1) > 0.1 {
		t.Errorf("the classes' mean is %g s, that of the batches %g s", got, mean.Center)
	}
	if derive(t, recordings+"/one-worker.jsonl").Spread(metric.HookFetchSpread) != nil {
		t.Error("classes without a hook")
	}
}

// TestHookJobThatEndsLate: after its last step a job without workers writes for as long as half of its training took.
// That is no training, and what the hook reported stands; where it is more than the training, who knows what it is.
func TestHookJobThatEndsLate(t *testing.T) {
	for after, want := range map[float64]bool{0: true, 8: true, 40: false} {
		l := launch(t, afterFive)
		l.loader(0, 88, 0)
		l.begin(0, 0, 0)
		l.samples = moment{run: 1, gpu: -1}
		l.plain(0, 21, 0.03, 0.02)
		l.end(0, 0)
		l.pass(after + 1)
		e := l.derive(l.recording("job-ended"))
		if got := e.Facts.Hook != nil; got != want {
			t.Errorf("%.0f s after the last step: told by the hook: %t, %q", after, got, e.Warnings)
		}
		if want {
			near(t, e, 0.02, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20})
		}
		said := strings.Join(e.Warnings, "\n")
		if strings.Contains(said, "after the last step") != (after == 8) || strings.Count(said, "told of only") > 1 {
			t.Errorf("%.0f s after the last step: %q", after, e.Warnings)
		}
	}
}

// Two workers are restarted for each of ten epochs of 20 batches, a batch takes 30 ms of CPU, and their processes
// took that and 0.6 ms for each batch and what it took to start and end them. A real run with one spawned worker was
// seen with 50 ms of importing torch in each batch.
func TestCostOfBatchWithoutStarts(t *testing.T) {
	for name, c := range map[string]struct {
		starts, threads float64 // seconds of CPU of each worker's start and end, and of threads of their own per batch
		restarts        float64
		want            float64
	}{
		"imports":             {starts: 1.2, restarts: 10, want: 0.030},
		"kept workers":        {starts: 0, threads: 0.02, restarts: 0, want: 0.0506},
		"threads and imports": {starts: 1.2, threads: 0.02, restarts: 10, want: 0.0506 + (1.2-1.32)*20/200},
	} {
		t.Run(name, func(t *testing.T) {
			two, batches := 2, []float64{100, 100}
			l := &hooked.Loop{Call: watched.LoaderCall{Loader: recording.Loader{NumWorkers: &two}}}
			h := &hooked.Trainer{Training: l}
			for range 10 {
				h.Epochs = append(h.Epochs, watched.Epoch{Epoch: recording.Epoch{Create: 0.02, FirstWait: new(1.23),
					Drain: new(0.1), WorkersBorn: 2, Steps: 20}})
			}
			b := &builder{ev: &Evidence{}, Watch: &watched.Watch{Spans: []watched.Span{{From: 0, To: 10},
				{From: 10, To: 20}}}}
			b.ev.row(metric.Restarts).figure = exact(c.restarts)
			seen := 0.0306 + c.threads + c.starts*2*c.restarts/200
			b.ev.row(metric.WorkerCPUBatch).figure = exact(seen)
			b.costOfBatch(&rank{hook: h}, batches, []float64{3, 3}, []float64{3, 3})
			if got := b.ev.read(metric.WorkerCPUBatch).Center; math.Abs(got-c.want) > 1e-9 {
				t.Errorf("a batch costs %g s of CPU, want %g s", got, c.want)
			}
		})
	}
}
