package diagnose

import (
	"math"
	"slices"
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
		{"in sequence", recording.Loader{Sampler: evidence.InSequence}, 0, 101},
		{"shuffled", recording.Loader{Sampler: evidence.AtRandom, Given: []string{"dataset", "shuffle"}}, 0, 101},
		{"a random sampler of its own", recording.Loader{Sampler: evidence.AtRandom, Given: own}, 0, 0},
		{"distributed over eight trainers", recording.Loader{Sampler: distributed, Given: own}, 8, 13},
		{"distributed, and one trainer here", recording.Loader{Sampler: distributed}, 1, 0},
		{"weighted", recording.Loader{Sampler: "torch.utils.data.sampler.WeightedRandomSampler"}, 0, 0},
		{"a batch sampler of its own", recording.Loader{Sampler: "torch.utils.data.sampler.BatchSampler"}, 0, 0},
		{"the sampler is not told", recording.Loader{}, 0, 0},
		{"iterable", recording.Loader{Sampler: evidence.InSequence, Iterable: true}, 0, 0},
	} {
		c.call.Items, c.call.BatchSize = new(1001), new(10)
		m := &Loader{ranks: c.ranks}
		if got := m.epochAhead(evidence.LoaderCall{Loader: c.call}); got != c.want {
			t.Errorf("%s: %d batches, want %d", c.name, got, c.want)
		}
	}
}

// What the hook told of the trainer's own part in loading stands in place of what is assumed: taking a batch, and
// drawing an epoch's first indices, for new workers twice. None of it is training.
func TestTrainersPartIsMeasured(t *testing.T) {
	hook := &evidence.Hook{Epoch: evidence.EpochCost{Batches: stat.Exact(100), Create: stat.Exact(0.02),
		Draw: stat.Exact(2), Redraw: stat.Exact(1.5)}}
	loader := func(signals readings) *Loader {
		return modelOf(t, evidence.Facts{Hook: hook}, with(starvingLoader, signals))
	}
	told := loader(readings{"take_cpu_s": 0.002, "trainer_cpu_cores": 0.5, "sampler_ratio": 0.3})
	if got := told.Receive + told.Dispatch; math.Abs(got-0.002) > 1e-9 || slices.Contains(told.assumed,
		"what taking a batch costs") {
		t.Errorf("taking a batch costs %g s, assumed: %q", got, told.assumed)
	}
	if told.Draw != 2 || told.Redraw != 1.5 || told.Epoch != 100 {
		t.Errorf("draws %g and %g s for an epoch of %d", told.Draw, told.Redraw, told.Epoch)
	}
	if got, want := told.TrainerCPU.Center, (0.5-0.3)/9.8-0.002; math.Abs(got-want) > 1e-9 {
		t.Errorf("%g s of CPU are training's, want %g", got, want)
	}
	if got := loader(nil); math.Abs(got.Receive+got.Dispatch-takingCPU) > 1e-9 {
		t.Errorf("taking a batch costs %g s", got.Receive+got.Dispatch)
	}
}

// TestForkedStart: from outside, what births tell is the trainer's, for each worker, and the rest all workers' at once.
func TestForkedStart(t *testing.T) {
	for _, c := range []struct {
		name    string
		signals readings
		start   float64 // of all workers
	}{
		{"several", readings{"num_workers": 2, "restart_start_s": 0.02}, 0.02},
		{"a single one", readings{"restart_start_s": 0.016}, 0.016},
		{"more than there are CPUs", readings{"num_workers": 4, "usable_cpus": 2, "present_cpus": 2,
			"restart_start_s": 0.04}, 0.04},
		{"births were not seen", readings{"num_workers": 2}, 2 * forkCPU},
		{"births in one clock tick", readings{"num_workers": 2, "restart_start_s": 0}, 2 * forkCPU},
		{"births of a second loader were taken for its own", readings{"num_workers": 2, "restart_start_s": 3}, 0.4},
	} {
		got := modelOf(t, evidence.Facts{StartMethod: "fork"}, with(starvingLoader, c.signals,
			readings{"epoch_time_s": 5, "restart_gap_s": 0.4}))
		workers := float64(got.Setting.Workers)
		trainer := c.start * got.pace(1) / workers
		worker := max((0.4-c.start)*got.pace(workers)-joinTime-got.Making(), 0)
		if math.Abs(got.Start.Trainer-trainer) > 1e-9 || math.Abs(got.Start.Worker-worker) > 1e-9 ||
			got.Start.End != joinTime {
			t.Errorf("%s: %+v, want %g s of the trainer and %g s of a worker", c.name, got.Start, trainer, worker)
		}
	}
}
