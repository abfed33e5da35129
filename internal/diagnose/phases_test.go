package diagnose

import (
	"cmp"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// item is an item of 2.5 ms as the hook times it, 32 of them in a batch of 80 ms.
var item = readings{"made_item_s": 0.0025, "made_item_open_s": 0.0005, "made_item_read_s": 0.001,
	"made_item_decode_s": 0, "made_item_other_s": 0.00075, "made_item_collate_s": 0.00025, "batch_fetch_s": 0.080,
	"batches_per_s": 20, "free_step_time_s": 0.02, "input_wait_ratio": 0.6}

// The hook takes the making of batches apart; what it cannot see stays as seen from outside.
func TestPhases(t *testing.T) {
	outside := readings{"num_workers": 2, "worker_running_ratio": 0.5, "worker_storage_wait_ratio": 0.2,
		"worker_other_wait_ratio": 0.1, "worker_hand_over_ratio": 0.05, "worker_idle_ratio": 0.15,
		"worker_stopped_ratio": 0}
	aside := together(item, readings{"num_workers": 0, "batches_per_s": 12})
	delete(aside, "input_wait_ratio")
	delete(aside, "free_step_time_s")
	for name, c := range map[string]struct {
		facts      evidence.Facts
		seen, want readings
	}{
		"workers, with the hook": {launched("", 0), together(item, outside), readings{"opening HDF5 files": 0.16,
			"reading HDF5": 0.32, "transforms, other code": 0.24, "collating": 0.08, "handing a batch over": 0.05,
			"idle, ahead": 0.15}},
		"workers, from outside": {evidence.Facts{}, outside, readings{"computing": 0.5, "waiting for storage": 0.2,
			"idle, ahead": 0.15, "waiting elsewhere": 0.1, "handing a batch over": 0.05}},
		"workers, by their libraries": {evidence.Facts{Code: []evidence.Code{{Library: "libjpeg", Share: 0.6},
			{Library: "PIL", Share: 0.2}, {Library: metric.CodeOther, Share: 0.15}, {Library: "libz", Share: 0.05}}},
			outside, readings{"computing: libjpeg": 0.3, "computing: PIL": 0.1, "computing: other code": 0.1,
				"waiting for storage": 0.2, "idle, ahead": 0.15, "waiting elsewhere": 0.1,
				"handing a batch over": 0.05}},
		"without workers the trainer is its own": {launched("", 0), together(item, readings{"num_workers": 0}),
			readings{"opening HDF5 files": 0.12, "reading HDF5": 0.24, "transforms, other code": 0.18,
				"collating": 0.06, "training, not loading": 0.4}},
		// no wait says how long it is at it
		"a thread of the trainer's own that makes batches ahead": {launched("", 0), aside, readings{
			"opening HDF5 files": 0.192, "reading HDF5": 0.384, "transforms, other code": 0.288, "collating": 0.096,
			"not loading": 0.04}},
	} {
		shares, list := readings{}, phases(saw(c.facts, c.seen))
		for _, p := range list {
			shares[p.Name] = math.Round(p.Ratio*1e6) / 1e6
		}
		sorted := slices.IsSortedFunc(list, func(a, b report.Phase) int { return cmp.Compare(b.Ratio, a.Ratio) })
		if diff := gocmp.Diff(c.want, shares); diff != "" || !sorted {
			t.Errorf("%s: the largest first: %t (-want +got):\n%s", name, sorted, diff)
		}
		if p := list[0]; p.Name == "reading HDF5" && (p.ItemS != 0.001 || math.Abs(p.BatchS-0.032) > 1e-12 ||
			p.Basis != report.Measured) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestLoaderAsItWasCalled(t *testing.T) {
	facts := launched("train.py", 88)
	facts.Hook.Loader.Dataset, facts.Hook.Loader.Sampler, facts.Hook.Loader.InOrder = "train.Pictures", "RandomSampler",
		new(true)
	facts.Hook.Steps, facts.Hook.Epochs = 500, 2.98
	r := describe(saw(facts, item))
	want := &report.Loader{Source: "hook", Location: &report.Location{File: "train.py", Line: 88},
		Dataset: "train.Pictures", Sampler: "RandomSampler", InOrder: new(true)}
	if diff := gocmp.Diff(want, r.Job.Loader); diff != "" {
		t.Error(diff)
	}
	if *r.Window.Steps != 500 || *r.Window.Epochs != 3 {
		t.Errorf("%v steps, %v epochs", *r.Window.Steps, *r.Window.Epochs)
	}
	if m, ok := r.Metrics["made_item_s"]; !ok || m.Center != 0.0025 {
		t.Errorf("made_item_s is %+v", m)
	}
	if l := describe(saw(evidence.Facts{}, steady)).Job.Loader; l.Source != "observed" || l.Location != nil {
		t.Errorf("from outside: %+v", l)
	}
}

// While an evaluation goes on the workers of training idle, which makes their batches no cheaper.
func TestModelOfAJobThatEvaluates(t *testing.T) {
	seen := together(steady, readings{"num_workers": 2, "worker_busy_ratio": 0.3, "worker_run_delay_ratio": 0,
		"batches_per_s": 20, "free_step_time_s": 0.03, "worker_cpu_per_batch_s": 0.06, "worker_wait_per_batch_s": 0.04})
	for _, facts := range []evidence.Facts{launched("", 0), {}} {
		if l := modelOf(t, facts, seen); l.CPU.Center != 0.06 || l.Wait.Center != 0.04 {
			t.Errorf("got %v and %v", l.CPU, l.Wait)
		}
	}
}
