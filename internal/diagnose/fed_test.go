package diagnose

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// fedEvidence is a job that two processes of its own feed.
func fedEvidence(wait, busy float64) *evidence.Evidence {
	return saw(evidence.Facts{Framework: "pytorch", Fed: &evidence.Fed{Name: "python3"}}, readings{"num_workers": 2,
		"input_wait_ratio": wait, "data_stall_ratio": wait, "worker_busy_ratio": busy, "worker_idle_ratio": 1 - busy,
		"worker_running_ratio": busy, "worker_cpu_ratio": busy, "usable_cpus": 8, "window_s": 20, "host_ratio": 0.05,
		"device_ratio": 0.95 - wait})
}

// advice is a rule that recommends arguments of a DataLoader and something else.
func advice(id string) Rule {
	return always(id, "", report.Finding{Score: 0.3,
		Recommendations: []report.Recommendation{{Setting: "num_workers", To: "4"}, {Setting: "CPU time per batch",
			To: "less"}, {Setting: "batch_size", To: "64"}},
		Unhelpful: []report.Unhelpful{{Setting: "prefetch_factor", Direction: report.Any,
			Why: "a deeper prefetch_factor"}, {Setting: "storage", Direction: report.Any, Why: "faster storage"}}})
}

// TestFedByOthers: the verdict names who feeds the trainer, and nothing is said of a DataLoader that the job has not.
func TestFedByOthers(t *testing.T) {
	for _, c := range []struct {
		wait, busy float64
		class      report.Class
		says       string
	}{
		{0.8, 0.97, report.InputBound, "it is fed by 2 processes of the job's own (python3), busy 97 % of the time"},
		{0.01, 0.1, report.GPUBound, "It is fed by 2 processes of the job's own (python3), busy 10 % of the time"},
	} {
		r := Run(fedEvidence(c.wait, c.busy), []Rule{advice("loader/of-torch"), advice("cpu/of-any")})
		if r.Verdict.Class != c.class || !strings.Contains(r.Verdict.Statement, c.says) {
			t.Errorf("%s: %s", r.Verdict.Class, r.Verdict.Statement)
		}
		if r.Job.Loader.NumWorkers != nil || !strings.HasPrefix(r.Job.Loader.FedBy, "2 processes") || len(r.Plans) > 0 {
			t.Errorf("loader %+v, plans %+v", r.Job.Loader, r.Plans)
		}
		if len(r.Findings) != 1 || r.Findings[0].Rule != "cpu/of-any" {
			t.Fatalf("findings %+v", r.Findings)
		}
		f := r.Findings[0]
		if len(f.Recommendations) != 2 || f.Recommendations[0].Setting != "CPU time per batch" ||
			f.Recommendations[1].Setting != "batch_size" {
			t.Errorf("recommends %+v", f.Recommendations)
		}
		if len(f.Unhelpful) != 1 || len(f.WontHelp) != 1 || f.WontHelp[0] != "faster storage" {
			t.Errorf("speaks against %+v, in words %q", f.Unhelpful, f.WontHelp)
		}
	}
}

// TestStillStartingUp: a watch that ended before the first step gives no verdict, and no rule judges it.
func TestStillStartingUp(t *testing.T) {
	e := fedEvidence(0.8, 1)
	e.Window.Startup = evidence.Startup{From: 5, To: 30, Whole: true, Doing: "the main thread computes"}
	r := Run(e, []Rule{advice("cpu/of-any")})
	if r.Verdict.Class != report.Inconclusive || !strings.Contains(r.Verdict.Statement,
		"no step was seen in 25 s: still starting up, or in one long step") {
		t.Errorf("%s: %s", r.Verdict.Class, r.Verdict.Statement)
	}
	if len(r.Findings) > 0 || len(r.Abstained) == 0 || !strings.Contains(r.Abstained[0].Reason, "starting up") {
		t.Errorf("findings %+v, abstained %+v", r.Findings, r.Abstained)
	}
}
