package evidence

import (
	"math"
	"testing"

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

func TestEpochCost(t *testing.T) {
	first := reportedEpoch{Epoch: recording.Epoch{Create: 3, FirstWait: new(2.0), Drain: new(0.1), WorkersBorn: 2,
		Steps: 40}}
	usual := reportedEpoch{Epoch: recording.Epoch{Create: 0.03, FirstWait: new(0.4), Drain: new(0.01), WorkersBorn: 2,
		Steps: 40}}
	kept := reportedEpoch{Epoch: recording.Epoch{Create: 0.004, FirstWait: new(0.2), Drain: new(0.001), Steps: 40}}
	left := reportedEpoch{Epoch: recording.Epoch{Create: 0.03, FirstWait: new(0.4), WorkersBorn: 2, Steps: 7}}
	for _, c := range []struct {
		name                         string
		epochs                       []reportedEpoch
		batches, create, drain, draw float64
	}{
		{"none", nil, 0, 0, 0, 0},
		{"only the first", []reportedEpoch{first}, 40, 3, 0.1, 0},
		{"restarts", []reportedEpoch{first, usual, usual}, 40, 0.03, 0.01, 0},
		{"persistent", []reportedEpoch{first, kept, kept}, 40, 3, 0.1, 0.004},
		{"left in the middle", []reportedEpoch{first, usual, left}, 40, 0.03, 0.055, 0},
	} {
		got := (&hooked{training: &hookLoop{}, epochs: c.epochs}).cost()
		for _, x := range []struct {
			what      string
			got, want float64
		}{{"batches", got.Batches.Center, c.batches}, {"create", got.Create.Center, c.create},
			{"drain", got.Drain.Center, c.drain}, {"draw", got.Draw.Center, c.draw}} {
			if math.Abs(x.got-x.want) > 1e-9 {
				t.Errorf("%s: %s %g, want %g", c.name, x.what, x.got, x.want)
			}
		}
	}
}
