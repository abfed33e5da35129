package diagnose

import (
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
)

// Until an epoch has ended its length follows from the dataset only where the sampler is known to go over all of it, or over each trainer's share.
func TestEpochAhead(t *testing.T) {
	items, size := 1001, 10
	for _, c := range []struct {
		name  string
		call  evidence.LoaderCall
		ranks float64
		want  int
	}{
		{"in sequence", evidence.LoaderCall{Sampler: inSequence}, 0, 101},
		{"shuffled", evidence.LoaderCall{Sampler: atRandom, Given: []string{"dataset", "shuffle"}}, 0, 101},
		{"a random sampler of its own", evidence.LoaderCall{Sampler: atRandom, Given: []string{"dataset", "sampler"}}, 0, 0},
		{"distributed over eight trainers", evidence.LoaderCall{Sampler: distributed, Given: []string{"dataset", "sampler"}}, 8, 13},
		{"distributed, and one trainer here", evidence.LoaderCall{Sampler: distributed}, 1, 0},
		{"weighted", evidence.LoaderCall{Sampler: "torch.utils.data.sampler.WeightedRandomSampler"}, 0, 0},
		{"a batch sampler of its own", evidence.LoaderCall{Sampler: "torch.utils.data.sampler.BatchSampler"}, 0, 0},
		{"the sampler is not told", evidence.LoaderCall{}, 0, 0},
		{"iterable", evidence.LoaderCall{Sampler: inSequence, Iterable: true}, 0, 0},
	} {
		c.call.Items, c.call.BatchSize = &items, &size
		m := &Loader{ranks: c.ranks}
		if got := m.epochAhead(c.call); got != c.want {
			t.Errorf("%s: %d batches, want %d", c.name, got, c.want)
		}
	}
}
