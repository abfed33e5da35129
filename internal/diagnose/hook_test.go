package diagnose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

func launched(file string, line int) evidence.Facts {
	return evidence.Facts{Framework: "pytorch", Hook: &evidence.Hook{Torch: "2.6.0",
		Loader: evidence.LoaderCall{Loader: recording.Loader{File: file, Line: line}}}}
}

// recommends is a rule that always recommends one setting, at a place of its own if it has one.
func recommends(setting string, at *report.Location) Rule {
	return always("a/"+setting, "", report.Finding{Score: 0.1, Location: at,
		Recommendations: []report.Recommendation{{Setting: setting, To: "2", Why: "y"}}})
}

func TestSettingsOfTheCallAreLocated(t *testing.T) {
	own := &report.Location{File: "data.py", Line: 7}
	for _, c := range []struct {
		name    string
		facts   evidence.Facts
		setting string
		at      *report.Location
		want    *report.Location
	}{
		{"an argument", launched("train.py", 88), "num_workers", nil, &report.Location{File: "train.py", Line: 88}},
		{"another change", launched("train.py", 88), "HDF5 chunk shape", nil, nil},
		{"the rule knows better", launched("train.py", 88), "num_workers", own, own},
		{"no place was told", launched("", 0), "num_workers", nil, nil},
		{"no hook", evidence.Facts{}, "num_workers", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rule := recommends(c.setting, c.at)
			findings, _ := Judge(&rule, saw(c.facts, steady))
			if len(findings) != 1 {
				t.Fatalf("got %v", findings)
			}
			if diff := cmp.Diff(c.want, findings[0].Location); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Without workers an outside watch gives an upper bound; the hook knows.
func TestInputWaitIsExactWithTheHook(t *testing.T) {
	seen := readings{"num_workers": 0, "input_wait_ratio": 0.30, "loads_in_main_ratio": 0.45}
	outside, _ := InputWait(saw(evidence.Facts{}, seen))
	inside, _ := InputWait(saw(launched("", 0), seen))
	if outside.Center != 0.45 || outside.Basis != metric.Inferred || inside.Center != 0.30 ||
		inside.Basis != metric.Measured {
		t.Errorf("got %+v outside, %+v inside", outside, inside)
	}
	for _, c := range []struct {
		facts evidence.Facts
		upTo  bool // a range
	}{{evidence.Facts{Framework: "pytorch"}, true}, {launched("", 0), false}} {
		r := Run(saw(c.facts, with(seen)), nil)
		doubted := strings.Contains(strings.Join(r.Verdict.Doubts, " "), "loading looks like any other work")
		if said := strings.Contains(r.Verdict.Statement, "45 % (44 % to 46 %) of the time"); said != c.upTo ||
			doubted != c.upTo {
			t.Errorf("hook %v: %q with doubts %q", c.facts.Hook != nil, r.Verdict.Statement, r.Verdict.Doubts)
		}
	}
}

// Batches of a loader without workers can be counted from inside, and then effects are reported in samples per second.
func TestWorkerlessModelIsAbsoluteWithTheHook(t *testing.T) {
	seen := readings{"num_workers": 0, "input_wait_ratio": 0.5, "loads_in_main_ratio": 0.5,
		"free_step_time_s": 0.02, "batch_fetch_s": 0.02, "batch_fetch_cpu_s": 0.015, "batches_per_s": 25,
		"samples_per_s": 800, "usable_cpus": 4}
	l, ok := subjectOf(saw(launched("", 0), seen)).model()
	if !ok || l.Metric != "samples_per_s" || l.CPU.Center != 0.015 || l.Wait.Center < 0.0049 || l.Wait.Center > 0.0051 {
		t.Fatalf("got %+v, %v", l, ok)
	}
	if e := l.WithWorkers(2); e == nil || e.Before != 800 || e.After < 1200 || e.After > 1600 {
		t.Errorf("two workers beside a step as long as loading: got %+v", e)
	}
	if l, ok := subjectOf(saw(evidence.Facts{}, seen)).model(); !ok || l.Metric != Relative {
		t.Errorf("from outside: got %+v, %v", l, ok)
	}
}

// A job that pipetune has launched is not told to be launched.
func TestLaunchedIsNotToldToLaunch(t *testing.T) {
	alone := saw(evidence.Facts{}, readings{"num_workers": 0})
	if a := noModel(alone, nil, "no batch was counted", ""); a.Cure != LaunchCure {
		t.Errorf("attached: %q", a.Cure)
	}
	alone.Header.Mode = "launch"
	if a := noModel(alone, nil, "no batch was counted", ""); a.Cure != "" {
		t.Errorf("launched, without a DataLoader: %q", a.Cure)
	}
}

// From outside a trainer without workers and without a GPU may load whatever it does: while it sleeps as much as while
// it runs. Where its sleep would be a device's, that is no verdict.
func TestATrainerWithoutWorkersMayLoadWhileItSleeps(t *testing.T) {
	seen := readings{"num_workers": 0, "host_ratio": 0.1, "device_ratio": 0.9, "loads_in_main_ratio": 0}
	for most, want := range map[float64]report.Class{0.1: report.GPUBound, 1: report.Inconclusive} {
		e := saw(evidence.Facts{Framework: "pytorch"}, with(seen))
		v, _ := e.Get(metric.InWorkerless)
		v.Hi = most
		e.Set(metric.InWorkerless, v)
		r := Run(e, nil)
		if r.Verdict.Class != want {
			t.Errorf("it may load %g of the time: %s, %q", most, r.Verdict.Class, r.Verdict.Statement)
		}
	}
}
