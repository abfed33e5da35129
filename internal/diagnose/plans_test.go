package diagnose

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// starving is a loader of one worker that takes four times the step, on eight quiet cores.
var starvingLoader = with(map[string]float64{"num_workers": 1, "batches_per_s": 9.8, "free_step_time_s": 0.025, "worker_cpu_per_batch_s": 0.1, "worker_wait_per_batch_s": 0.001,
	"input_wait_ratio": 0.75, "device_ratio": 0.2, "usable_cpus": 8, "present_cpus": 8, "other_cpu_cores": 0, "job_cpu_cores": 1, "worker_busy_ratio": 1, "worker_cpu_ratio": 0.99,
	"worker_run_delay_ratio": 0.001, "batch_bytes": 1 << 20, "worker_private_bytes": 100 << 20})

func planned(t *testing.T, signals map[string]float64, facts evidence.Facts, rules ...Rule) *report.Report {
	t.Helper()
	facts.Framework = "pytorch"
	r := Run(saw(facts, signals), rules)
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPlanOfAStarvingLoader(t *testing.T) {
	r := planned(t, starvingLoader, evidence.Facts{})
	if r.Outlook == nil || len(r.Plans) == 0 {
		t.Fatalf("no plan: %+v, %+v", r.Outlook, r.Abstained)
	}
	p := r.Plans[0]
	if p.Changes[0].Setting != "num_workers" || *p.Changes[0].From != "1" || p.Effect.After < 35 || p.Effect.After > 40 || p.Effect.Limit != "the workers" || p.Next != "the training step itself" {
		t.Errorf("%+v, %+v", p.Changes, p.Effect)
	}
	if p.ExtraMemoryBytes == nil || *p.ExtraMemoryBytes < 3*100<<20 || p.ExtraShmBytes == nil || *p.ExtraShmBytes <= 0 {
		t.Errorf("memory %v, of it in /dev/shm %v", p.ExtraMemoryBytes, p.ExtraShmBytes)
	}
	if r.Outlook.Calibrated == "" || !slices.Contains(r.Outlook.Assumed, "how batches vary") {
		t.Errorf("%+v", r.Outlook)
	}
}

// Each line is one thing that changes what is planned.
func TestPlansFollowTheEvidence(t *testing.T) {
	edited := func(changes map[string]float64) map[string]float64 {
		out := map[string]float64{}
		for k, v := range starvingLoader {
			out[k] = v
		}
		for k, v := range changes {
			if out[k] = v; v < 0 {
				delete(out, k)
			}
		}
		return out
	}
	for _, c := range []struct {
		name    string
		changes map[string]float64
		outcome string // "" for none
		why     string // of the abstention, or in the statement
	}{
		{"the step takes longer than a batch", map[string]float64{"free_step_time_s": 0.5, "batches_per_s": 1.99, "input_wait_ratio": 0.01, "worker_busy_ratio": 0.2}, report.OutcomeStep, "times as much"},
		{"one core", map[string]float64{"usable_cpus": 1, "present_cpus": 1}, report.OutcomeNothing, "Nothing is worth changing"},
		{"no batch was counted", map[string]float64{"batches_per_s": -1}, "", ""},
		{"no step", map[string]float64{"free_step_time_s": -1}, "", ""},
		{"something unknown limits", map[string]float64{"batches_per_s": 3, "worker_busy_ratio": 0.3}, "", "does not know of"},
		{"a watch of four seconds", map[string]float64{"window_s": 4}, "", "short"},
	} {
		r := planned(t, edited(c.changes), evidence.Facts{})
		if c.outcome == "" {
			if r.Outlook != nil || len(r.Plans) > 0 {
				t.Errorf("%s: planned %+v", c.name, r.Outlook)
			}
			said := slices.ContainsFunc(r.Abstained, func(a report.Abstained) bool { return a.Rule == PlansID && strings.Contains(a.Reason, c.why) })
			if !said && c.why != "short" {
				t.Errorf("%s: %+v", c.name, r.Abstained)
			}
			continue
		}
		if r.Outlook == nil || r.Outlook.Outcome != c.outcome || !strings.Contains(r.Outlook.Statement, c.why) {
			t.Errorf("%s: %+v, %+v", c.name, r.Outlook, r.Abstained)
		}
	}
}

// Where the first finding is no setting, plans step back behind it.
func TestPlansNameTheFirstCause(t *testing.T) {
	reopened := Rule{ID: "hdf5/reopened-per-item", Resource: report.HDF5, Eval: func(p *Pass) error {
		p.Report(report.Finding{Severity: report.Error, Score: 0.7, Summary: "x", Recommendations: []report.Recommendation{{Setting: "opening the HDF5 file", To: "once", Why: "y"}}})
		return nil
	}}
	if r := planned(t, starvingLoader, evidence.Facts{}, reopened); r.Outlook.First != "hdf5/reopened-per-item" || !strings.Contains(r.Outlook.Statement, "comes first") {
		t.Errorf("%+v", r.Outlook)
	}
	few := recommends("num_workers", nil)
	few.Resource = report.Workers
	if r := planned(t, starvingLoader, evidence.Facts{}, few); r.Outlook.First != "" {
		t.Errorf("a setting comes before the settings: %+v", r.Outlook)
	}
}

// The command that checks a plan can be copied, whatever the job's arguments are.
func TestCheckCommand(t *testing.T) {
	e := saw(evidence.Facts{}, steady)
	e.Header.Mode, e.Header.Job.Command = "launch", []string{"python", "train.py", "--name", "it's; rm -rf /", "-x"}
	if got, want := checkCommand(e), `pipetune diagnose -o after.json -- python train.py --name 'it'\''s; rm -rf /' -x && pipetune compare before.json after.json`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	e.Header.Mode = "attach"
	if got := checkCommand(e); strings.Contains(got, "train.py") {
		t.Errorf("attached: %s", got)
	}
}
