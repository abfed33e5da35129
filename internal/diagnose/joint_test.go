package diagnose

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// twoCPUs are all that a loader has whose batches take 100 ms of one: no number of workers makes more than 20 a second,
// where the step could take 100.
var twoCPUs = with(starvingLoader, readings{"batches_per_s": 9.9, "free_step_time_s": 0.01,
	"worker_wait_per_batch_s": 0.0005, "input_wait_ratio": 0.9, "device_ratio": 0.08, "usable_cpus": 2,
	"present_cpus": 2})

func brings(setting, to string, after, hi float64) report.Recommendation {
	return report.Recommendation{Setting: setting, To: to, Effect: &report.Effect{Metric: "batches_per_s", Unit: "1/s",
		Before: 9.9, After: after, Lo: 9.9, Hi: hi, Basis: report.Modelled, Limit: "the workers"}}
}

// What several changes bring together is simulated together, and ends at what still binds: workers and CPUs that none
// of them makes more of, not always the training step, and at 2 % more, as runs of one job differ by so much.
func TestJointEndsAtWhatBinds(t *testing.T) {
	e := saw(evidence.Facts{Framework: "pytorch"}, twoCPUs)
	for _, c := range []struct {
		name  string
		list  []report.Recommendation
		plan  []report.Recommendation
		hi    float64
		limit string
	}{
		{"settings, as the plan has them", []report.Recommendation{brings("num_workers", "2", 17, 19),
			brings("prefetch_factor", "4", 10.5, 11)},
			[]report.Recommendation{{Setting: "num_workers", To: "2"}}, 20.7, "the workers"},
		{"settings, and no plan", []report.Recommendation{brings("num_workers", "2", 17, 19), brings("prefetch_factor",
			"4", 10.5, 11)}, nil, 20.7, "the workers"},
		{"a batch that is half as dear", []report.Recommendation{brings("num_workers", "2", 17, 19),
			brings("decoder", "another", 18, 19.8)}, nil, 41.4, "the workers"},
		{"a batch that costs a twentieth", []report.Recommendation{brings("num_workers", "2", 17, 19),
			brings("opening the HDF5 file", "once", 90, 198)}, nil, 198, "the workers"},
		{"two that make a batch cheaper by far", []report.Recommendation{brings("decoder", "another", 40, 45),
			brings("opening the HDF5 file", "once", 50, 60)}, nil, 97.8, "the training step itself"},
	} {
		r := &report.Report{}
		for _, x := range c.list {
			r.Findings = append(r.Findings, report.Finding{Rule: "a/b", Recommendations: []report.Recommendation{x}})
		}
		if c.plan != nil {
			r.Plans = []report.Plan{{Name: report.Moderate, Changes: c.plan}}
		}
		got := subjectOf(e).joint(r)
		if got == nil || math.Abs(got.Hi-c.hi) > 0.01*c.hi || got.Limit != c.limit || got.After > got.Hi ||
			got.Lo > got.After {
			t.Errorf("%s: %+v, want up to %g, then limited by %s", c.name, got, c.hi, c.limit)
		}
	}
}
