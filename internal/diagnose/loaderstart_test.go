package diagnose

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// Until an epoch has ended its length follows from the dataset only where the sampler is known to go over all of it, or
// over each trainer's share.
func TestEpochAhead(t *testing.T) {
	items, size := 1001, 10
	for _, c := range []struct {
		name  string
		call  evidence.LoaderCall
		ranks float64
		want  int
	}{
		{"in sequence", evidence.LoaderCall{Loader: recording.Loader{Sampler: inSequence}}, 0, 101},
		{"shuffled", evidence.LoaderCall{Loader: recording.Loader{Sampler: atRandom, Given: []string{"dataset",
			"shuffle"}}}, 0, 101},
		{"a random sampler of its own", evidence.LoaderCall{Loader: recording.Loader{Sampler: atRandom,
			Given: []string{"dataset", "sampler"}}}, 0, 0},
		{"distributed over eight trainers", evidence.LoaderCall{Loader: recording.Loader{Sampler: distributed,
			Given: []string{"dataset", "sampler"}}}, 8, 13},
		{"distributed, and one trainer here", evidence.LoaderCall{Loader: recording.Loader{Sampler: distributed}}, 1,
			0},
		{"weighted", evidence.LoaderCall{
			Loader: recording.Loader{Sampler: "torch.utils.data.sampler.WeightedRandomSampler"},
		}, 0, 0},
		{"a batch sampler of its own",
			evidence.LoaderCall{Loader: recording.Loader{Sampler: "torch.utils.data.sampler.BatchSampler"}}, 0, 0},
		{"the sampler is not told", evidence.LoaderCall{}, 0, 0},
		{"iterable", evidence.LoaderCall{Loader: recording.Loader{Sampler: inSequence, Iterable: true}}, 0, 0},
	} {
		c.call.Items, c.call.BatchSize = &items, &size
		m := &Loader{ranks: c.ranks}
		if got := m.epochAhead(c.call); got != c.want {
			t.Errorf("%s: %d batches, want %d", c.name, got, c.want)
		}
	}
}

// The first batch of a new set is seen late. What an epoch of 3 s leaves beside its 40 batches of 70 ms is 0.2 s,
// whatever the gap seems to be, and forking is known to take 12 ms.
func TestStartsAreNoLongerThanTheEpochLeaves(t *testing.T) {
	for _, tt := range []struct {
		name         string
		epoch, batch float64
		want         float64
	}{
		{"the epoch leaves less than the gap", 3, 0.070, 0.2},
		{"and nothing at all", 3, 0.080, forkCPU},
	} {
		l := &Loader{}
		l.Setting.Workers, l.Epoch = 1, 40
		l.Wait, l.FreeStep = stat.Exact(tt.batch), stat.Exact(0.01)
		if got := l.startBudget(tt.epoch); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %g s, want %g", tt.name, got, tt.want)
		}
	}
}
