package hooked

import (
	"math"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/recording"
)

func TestEpochCost(t *testing.T) {
	first := watched.Epoch{Epoch: recording.Epoch{Create: 3, FirstWait: new(2.0), Drain: new(0.1), WorkersBorn: 2,
		Steps: 40}}
	usual := watched.Epoch{Epoch: recording.Epoch{Create: 0.03, FirstWait: new(0.4), Drain: new(0.01), WorkersBorn: 2,
		Steps: 40}}
	kept := watched.Epoch{Epoch: recording.Epoch{Create: 0.004, FirstWait: new(0.2), Drain: new(0.001), Steps: 40}}
	left := watched.Epoch{Epoch: recording.Epoch{Create: 0.03, FirstWait: new(0.4), WorkersBorn: 2, Steps: 7}}
	for _, c := range []struct {
		name                         string
		epochs                       []watched.Epoch
		batches, create, drain, draw float64
	}{
		{"none", nil, 0, 0, 0, 0},
		{"only the first", []watched.Epoch{first}, 40, 3, 0.1, 0},
		{"restarts", []watched.Epoch{first, usual, usual}, 40, 0.03, 0.01, 0},
		{"persistent", []watched.Epoch{first, kept, kept}, 40, 3, 0.1, 0.004},
		{"left in the middle", []watched.Epoch{first, usual, left}, 40, 0.03, 0.055, 0},
	} {
		got := (&Trainer{Training: &Loop{}, Epochs: c.epochs}).Cost()
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

// TestManyEpochsAreToldInPart: of 50 epochs of 2 s each tenth is reported.
func TestManyEpochsAreToldInPart(t *testing.T) {
	h := &Trainer{w: &watched.Watch{Steady: watched.Span{From: 0, To: 100}}}
	for i := range 5 {
		h.Epochs = append(h.Epochs, watched.Epoch{Entity: "loop/1.1.0", Epoch: recording.Epoch{Number: 200 + 10*i,
			Begun: 20 * float64(i), Create: 0.1, FirstWait: new(0.2), Drain: new(0.3), WorkersBorn: 2}})
	}
	gaps, _, epochs := h.Between()
	if got := slices.Concat(gaps, epochs); len(gaps) != 4 || len(epochs) != 4 || slices.Min(epochs) != 2 ||
		slices.Max(epochs) != 2 || math.Abs(slices.Min(gaps)-0.6) > 1e-9 || math.Abs(slices.Max(gaps)-0.6) > 1e-9 {
		t.Errorf("restarts and epochs of %v s", got)
	}
}

// TestEarlier moves what has no room into the window before, and no further.
func TestEarlier(t *testing.T) {
	for _, c := range []struct{ held, room, want []float64 }{
		{[]float64{0, 0.2, 1.3}, []float64{1, 1, 1}, []float64{0, 0.5, 1}},
		{[]float64{0.5, 1, 1.4}, []float64{1, 1, 1}, []float64{0.5, 1, 1}},
		{[]float64{0, 1.4, 1.4, 0.3}, []float64{1, 1, 1, 0}, []float64{0.4, 1, 1, 0}},
		{[]float64{0.5, 0.25}, []float64{1, 1}, []float64{0.5, 0.25}},
	} {
		if got := earlier(c.held, c.room); !slices.EqualFunc(got, c.want, func(x, y float64) bool {
			return math.Abs(x-y) < 1e-12
		}) {
			t.Errorf("%v of %v: %v, want %v", c.held, c.room, got, c.want)
		}
	}
}
