package diagnose

import (
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/recording"
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
