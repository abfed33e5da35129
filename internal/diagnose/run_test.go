package diagnose

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// readings are derived signals by name.
type readings = map[string]float64

// saw is evidence of these signals, each with a narrow interval.
func saw(facts evidence.Facts, signals readings) *evidence.Evidence {
	values := map[string]evidence.Value{}
	for name, x := range signals {
		values[name] = evidence.Value{Summary: stat.Summary{Center: x, Lo: x * 0.98, Hi: x * 1.02, Confidence: 0.95,
			N: 20}, Basis: metric.Measured}
	}
	return evidence.New(values, facts)
}

// always is a rule that finds the same in whatever was seen.
func always(id string, resource report.Resource, f report.Finding) Rule {
	f.Summary = id + " was found"
	return Rule{ID: id, Resource: resource, Eval: func(p *Pass) {
		f := f
		f.Evidence, f.Recommendations = slices.Clone(f.Evidence), slices.Clone(f.Recommendations)
		f.Unhelpful = slices.Clone(f.Unhelpful)
		p.Report(f)
	}}
}

func finds(id string, score float64, resource report.Resource, explains ...string) Rule {
	rule := always(id, resource, report.Finding{Score: score})
	rule.Explains = explains
	return rule
}

func ids(findings []report.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.Rule)
	}
	return out
}

var steady = readings{"window_s": 25, "look_coverage_ratio": 0.99, "syscall_visible_ratio": 1,
	"batches_per_s": 10, "num_workers": 2}

// with adds signals to a steady watch; the last one counts.
func with(extra ...readings) readings { return together(append([]readings{steady}, extra...)...) }

func together(all ...readings) readings {
	out := readings{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

func TestFindingsAreRankedByStake(t *testing.T) {
	e := saw(evidence.Facts{}, with(readings{"input_wait_ratio": 0.6, "device_ratio": 0.35,
		"host_ratio": 0.05}))
	r := Run(e, []Rule{finds("a/small", 0.1, report.Workers), finds("a/none", 0, ""),
		finds("a/large", 0.5, report.OnStorage)})
	if diff := cmp.Diff([]string{"a/large", "a/small", "a/none"}, ids(r.Findings)); diff != "" {
		t.Error(diff)
	}
	if r.Verdict.Resource != report.OnStorage || r.Verdict.Rule != "a/large" || r.Verdict.Class != report.InputBound {
		t.Errorf("verdict %+v, want input-bound on storage by a/large", r.Verdict)
	}
}

func TestSpecialCauseOutranksTheGeneralOne(t *testing.T) {
	e := saw(evidence.Facts{}, with(readings{"input_wait_ratio": 0.6, "device_ratio": 0.4}))
	r := Run(e, []Rule{finds("x/general", 0.58, report.Workers), finds("x/special", 0.4, report.HDF5, "x/general")})
	if diff := cmp.Diff([]string{"x/special", "x/general"}, ids(r.Findings)); diff != "" {
		t.Error(diff)
	}
	if s := r.Findings[1]; math.Abs(s.Score-0.18) > 1e-9 || s.Severity != report.Warning {
		t.Errorf("the general finding keeps score %.2f, %s; want what is left, 0.18, a warning", s.Score, s.Severity)
	}
	r = Run(e, []Rule{finds("x/general", 0.58, report.Workers), finds("x/special", 0.05, report.HDF5, "x/general")})
	if r.Findings[0].Rule != "x/general" {
		t.Error("a special cause that costs little must not lead")
	}
}

func TestRuleWithoutItsSignalsAbstainsWithTheCure(t *testing.T) {
	e := saw(evidence.Facts{GPUWhyNot: "no NVIDIA driver"}, steady)
	e.Unseen = []recording.Unseen{{Signal: "worker_run_delay_ratio", Reason: "the kernel keeps no run-queue times",
		Cure: "boot with schedstats=enable"}}
	fails := func(*Pass) { t.Error("asked without its signals") }
	r := Run(e, []Rule{
		{ID: "cpu/x", Needs: []metric.Desc{metric.NumWorkers, metric.WorkerRunDelay}, Eval: fails},
		{ID: "gpu/x", Needs: []metric.Desc{metric.GPUBusy}, Eval: fails},
		{ID: "hdf5/x", Needs: []metric.Desc{metric.HDF5Chunk}, Applies: func(*Pass) bool { return false },
			Eval: fails},
	})
	want := []report.Abstained{
		{Rule: "cpu/x", Missing: []string{"worker_run_delay_ratio"}, Reason: "the kernel keeps no run-queue times",
			Cure: "boot with schedstats=enable"},
		{Rule: "gpu/x", Missing: []string{"gpu_busy_ratio"}, Reason: "no NVIDIA driver"},
	}
	if diff := cmp.Diff(want, r.Abstained); diff != "" {
		t.Error(diff)
	}
}

// TestHookThatToldNothing: a person who has launched the job is not told to launch it, nor where the hook reported.
func TestHookThatToldNothing(t *testing.T) {
	for _, c := range []struct {
		mode         string
		facts        evidence.Facts
		reason, cure string
	}{
		{"attach", evidence.Facts{}, "from inside", "start the job with pipetune: pipetune diagnose -- COMMAND"},
		{"launch", evidence.Facts{}, "from inside", ""},
		{"launch", launched("", 0), "this watch gave too little", ""},
	} {
		e := saw(c.facts, steady)
		e.Header.Mode = c.mode
		r := Run(e, []Rule{{ID: "loader/x", Needs: []metric.Desc{metric.MadeCollate}, Eval: func(*Pass) {}}})
		if len(r.Abstained) != 1 || r.Abstained[0].Cure != c.cure || !strings.Contains(r.Abstained[0].Reason,
			c.reason) {
			t.Errorf("%+v: %+v", c, r.Abstained)
		}
	}
}

func TestNumbersThatAreNoneNeverReachTheReport(t *testing.T) {
	e := saw(evidence.Facts{}, with(readings{"input_wait_ratio": 1.04, "host_ratio": -0.02,
		"device_ratio": math.NaN(), "step_time_s": math.Inf(1), "worker_running_ratio": 1.2}))
	r := Run(e, []Rule{always("a/b", "", report.Finding{Severity: report.Info, Score: math.NaN(),
		Evidence: []report.Evidence{{Metric: "x", Value: math.Inf(1), Basis: report.Measured}},
		Recommendations: []report.Recommendation{{Setting: "x", To: "y", Effect: &report.Effect{After: math.NaN(),
			Basis: report.Modelled}}}})})
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if r.Findings[0].Recommendations[0].Effect != nil || len(r.Findings[0].Evidence) != 0 {
		t.Errorf("a number that is none was kept: %+v", r.Findings[0])
	}
}

func TestNextIsSafeToCopy(t *testing.T) {
	e := saw(evidence.Facts{Dataset: "/data/it's $(rm -rf ~)"}, with(readings{"input_wait_ratio": 0.6,
		"device_ratio": 0.4}))
	r := Run(e, []Rule{finds("x/y", 0.5, report.Workers)})
	want := []string{"pipetune explain x/y", `pipetune bench-io '/data/it'\''s $(rm -rf ~)'`}
	if diff := cmp.Diff(want, r.Next); diff != "" {
		t.Error(diff)
	}
}

func TestPassPanicsOnARulesMistake(t *testing.T) {
	p := &Pass{Evidence: saw(evidence.Facts{}, steady), rule: &Rule{ID: "a/b"}}
	for name, f := range map[string]func(){
		"a signal it does not need": func() { p.Get(metric.NumWorkers) },
		"a limit it does not have":  func() { p.Limit(Moderate) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("reading %s did not panic", name)
				}
			}()
			f()
		}()
	}
}
