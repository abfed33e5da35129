package diagnose

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// promises is a rule that recommends a setting with what it would bring.
var promises = always("a/promise", "", report.Finding{Score: 0.5,
	Recommendations: []report.Recommendation{{Setting: "num_workers", To: "4", Why: "y",
		Effect: &report.Effect{Metric: "batches_per_s", Unit: "1/s", Before: 20, After: 40, Lo: 30, Hi: 50,
			Basis: report.Modelled}}}})

// TestInconclusivePromisesNothing: where nothing follows nothing is advised; a finding stands without what its cure
// would bring.
func TestInconclusivePromisesNothing(t *testing.T) {
	aside := launched("train.py", 88)
	aside.OffMain = evidence.TakenOffMain
	for _, c := range []struct {
		name         string
		e            *evidence.Evidence
		inconclusive bool
		says         string
	}{
		{"sound", saw(launched("train.py", 88), with(readings{"input_wait_ratio": 0.5,
			"free_step_time_s": 0.02})), false, ""},
		{"stopped", saw(launched("train.py", 88), with(readings{"input_wait_ratio": 0.5,
			"free_step_time_s": 0.02, "trainer_stopped_ratio": 0.8})), true, "stopped"},
		{"a prefetcher", saw(aside, with(readings{"free_step_time_s": 0.02})), true,
			"What holds the job back is unknown: batches are taken by another thread than the main one"},
	} {
		c.e.Window.By = byDuration
		r := Run(c.e, []Rule{promises})
		_, free := r.Metrics["free_step_time_s"]
		if len(r.Findings) != 1 {
			t.Fatalf("%s: findings %+v", c.name, r.Findings)
		}
		promised := r.Findings[0].Recommendations[0].Effect != nil
		if got := r.Verdict.Class == report.Inconclusive; got != c.inconclusive || promised == got || free == got ||
			(len(r.Ready()) == 0) != got || len(r.Plans) != 0 {
			t.Errorf("%s: %s, an effect %v, a free step %v, advice %+v, plans %+v", c.name, r.Verdict.Class, promised,
				free, r.Ready(), r.Plans)
		}
		if !strings.Contains(r.Verdict.Statement, c.says) {
			t.Errorf("%s: said %q", c.name, r.Verdict.Statement)
		}
		if c.name == "a prefetcher" && (len(r.Next) != 0 || !slices.Contains(r.Verdict.Doubts, evidence.TakenOffMain)) {
			t.Errorf("next %q, doubts %q", r.Next, r.Verdict.Doubts)
		}
	}
}

// TestHeadroomOfAPrefetchedLoader: whoever takes the batches, those that are always at work make no more of them.
func TestHeadroomOfAPrefetchedLoader(t *testing.T) {
	aside := launched("train.py", 88)
	aside.OffMain = evidence.TakenOffMain
	for _, c := range []struct {
		name, says string
		seen       readings
	}{
		{"two workers", "its 2 workers are busy 50 % of the time, so the loader as it is could give at most 2 times " +
			"as many", readings{"num_workers": 2, "worker_busy_ratio": 0.5}},
		{"none", "the thread that makes batches is busy 96 % of the time, so the loader as it is could give at most " +
			"1.04 times as many",
			readings{"num_workers": 0, "batch_fetch_s": 0.08, "batches_per_s": 12}},
		{"no busy share", "", readings{"num_workers": 2}},
		{"nothing made", "", readings{"num_workers": 0, "batches_per_s": 12}},
	} {
		got := headroom(saw(aside, c.seen))
		if c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestSaturatedPrefetchedLoader: a loader that has nothing to spare sets the pace, and no wait must be known for it; no
// rule is said to explain it.
func TestSaturatedPrefetchedLoader(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		busy         float64
		want         report.Class
	}{
		{"told, at its limit", evidence.TakenOffMain, 0.97, report.InputBound},
		{"seen, at its limit", evidence.SeemsOffMain, 0.97, report.InputBound},
		{"told, with time to spare", evidence.TakenOffMain, 0.6, report.Inconclusive},
	} {
		facts := launched("train.py", 88)
		if c.reason == evidence.SeemsOffMain {
			facts.Hook = nil
		}
		facts.OffMain = c.reason
		seen := with(readings{"worker_busy_ratio": c.busy, "worker_running_ratio": c.busy,
			"worker_idle_ratio": 1 - c.busy})
		for _, unknown := range []string{"input_wait_ratio", "free_step_time_s", "host_time_ratio",
			"device_time_ratio"} {
			delete(seen, unknown)
		}
		r := Run(saw(facts, seen), []Rule{promises})
		v := r.Verdict
		if v.Class != c.want || v.Rule != "" || !slices.Contains(v.Doubts, c.reason) || v.Step.InputWaitRatio != nil {
			t.Errorf("%s: %+v", c.name, v)
		}
		if c.want == report.InputBound && (v.Resource != report.CPU || v.Confidence != report.Medium ||
			!strings.HasPrefix(v.Statement, "The loader gives all it can: its 2 workers are busy 97 %")) {
			t.Errorf("%s: %s, %s, %q", c.name, v.Resource, v.Confidence, v.Statement)
		}
	}
}
