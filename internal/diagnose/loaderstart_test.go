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
	own := []string{"dataset", "sampler"}
	for _, c := range []struct {
		name  string
		call  recording.Loader
		ranks float64
		want  int
	}{
		{"in sequence", recording.Loader{Sampler: inSequence}, 0, 101},
		{"shuffled", recording.Loader{Sampler: atRandom, Given: []string{"dataset", "shuffle"}}, 0, 101},
		{"a random sampler of its own", recording.Loader{Sampler: atRandom, Given: own}, 0, 0},
		{"distributed over eight trainers", recording.Loader{Sampler: distributed, Given: own}, 8, 13},
		{"distributed, and one trainer here", recording.Loader{Sampler: distributed}, 1, 0},
		{"weighted", recording.Loader{Sampler: "torch.utils.data.sampler.WeightedRandomSampler"}, 0, 0},
		{"a batch sampler of its own", recording.Loader{Sampler: "torch.utils.data.sampler.BatchSampler"}, 0, 0},
		{"the sampler is not told", recording.Loader{}, 0, 0},
		{"iterable", recording.Loader{Sampler: inSequence, Iterable: true}, 0, 0},
	} {
		c.call.Items, c.call.BatchSize = new(1001), new(10)
		m := &Loader{ranks: c.ranks}
		if got := m.epochAhead(evidence.LoaderCall{Loader: c.call}); got != c.want {
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
