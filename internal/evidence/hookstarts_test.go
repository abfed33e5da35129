package evidence

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

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
			l := &hookLoop{call: LoaderCall{Loader: recording.Loader{NumWorkers: &two}}, grown: map[string][]float64{}}
			h := &hooked{training: l}
			for range 10 {
				h.epochs = append(h.epochs, reportedEpoch{Epoch: recording.Epoch{Create: 0.02, FirstWait: new(1.23),
					Drain: new(0.1), WorkersBorn: 2, Steps: 20}})
			}
			b := &builder{ev: &Evidence{}, frame: frame{spans: []span{{0, 10}, {10, 20}}}}
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
