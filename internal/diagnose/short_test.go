package diagnose

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// shortOf is what a watch of a few hundred milliseconds gives: shares of 0 and 100 % from one window, without
// intervals.
func shortOf(window float64) *evidence.Evidence {
	values := map[string]evidence.Value{"window_s": {Summary: stat.Exact(window), Basis: metric.Measured},
		"num_workers": {Summary: stat.Exact(2), Basis: metric.Measured}}
	for name, x := range map[string]float64{"input_wait_ratio": 0, "host_ratio": 1, "device_ratio": 0,
		"worker_running_ratio": 1, "batches_per_s": 50} {
		values[name] = evidence.Value{Summary: stat.Summary{Center: x, Lo: x, Hi: x, N: 1}, Basis: metric.Measured}
	}
	return evidence.New(values, evidence.Facts{Framework: "torch"})
}

func shortRules() []Rule {
	return []Rule{finds("host/main-thread-bound", 1, report.CPU), finds("cpu/noisy-neighbour", 0.2, report.CPU),
		{ID: "hdf5/reopened-per-item", Needs: []metric.Desc{metric.HDF5Opens},
			Eval: func(*Pass) {}}, {ID: "bench/only"}, finds(tooShort, 0, report.NoResource)}
}

// TestShortWatchConcludesNothing: below the line there is one finding, that it was short; at the line the rules judge.
func TestShortWatchConcludesNothing(t *testing.T) {
	r := Run(shortOf(0.42), shortRules())
	if got := ids(r.Findings); !slices.Equal(got, []string{tooShort}) {
		t.Errorf("found %q, want %s alone", got, tooShort)
	}
	reasons := map[string]bool{}
	for _, a := range r.Abstained {
		reasons[a.Reason] = true
	}
	if len(r.Abstained) != 3 || len(reasons) != 1 {
		t.Errorf("abstained %+v, want three rules with one reason", r.Abstained)
	}
	if r.Verdict.Class != report.Inconclusive || r.Verdict.Step != (report.Step{}) || len(r.Phases) != 0 ||
		len(r.Plans) != 0 {
		t.Errorf("verdict %+v, phases %+v, plans %+v: want none of them", r.Verdict, r.Phases, r.Plans)
	}
	for name, want := range map[string]bool{"window_s": true, "num_workers": true, "input_wait_ratio": false,
		"batches_per_s": false} {
		if _, kept := r.Metrics[name]; kept != want {
			t.Errorf("figure %s kept: %t, want %t", name, kept, want)
		}
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	r = Run(shortOf(leastWindow), shortRules())
	if len(r.Findings) != 3 || len(r.Abstained) != 2 || len(r.Phases) == 0 || r.Verdict.Step.HostRatio == nil {
		t.Errorf("with the least window: findings %q, abstained %+v, phases %+v, step %+v", ids(r.Findings),
			r.Abstained, r.Phases, r.Verdict.Step)
	}
}

// TestLongerFitsHowTheWatchEnded: a cure that cannot cure is none.
func TestLongerFitsHowTheWatchEnded(t *testing.T) {
	for _, c := range []struct {
		name, mode, by string
		ended          bool
		steps          float64
		setting, to    string
		next           string
	}{
		{"attached", "attach", "duration", false, 0, "--duration", "60s", "pipetune diagnose --duration 60s"},
		{"attached, slow steps", "attach", "duration", false, 400, "--duration", "400s",
			"pipetune diagnose --duration 60s"},
		{"attached, the job ended", "attach", "job-ended", true, 0, "start of the watch",
			"with it: pipetune diagnose --", "pipetune diagnose -- COMMAND"},
		{"launched, to its end", "launch", "job-ended", true, 0, "length of the job", "at least 30 s",
			"# let the job run longer: at least 30 s of training"},
		{"launched, slow steps", "launch", "job-ended", true, 400, "length of the job", "at least 400 s",
			"at least 30 s"},
		{"launched, interrupted", "launch", "interrupted", false, 0, "length of the job", "at least 30 s",
			"let the job run longer"},
		{"launched, for a time", "launch", "duration", false, 0, "--duration", "60s",
			"pipetune diagnose --duration 60s -- COMMAND"},
		{"launched, for some steps", "launch", "steps", false, 0, "--steps", "3000",
			"pipetune diagnose --steps 3000 -- COMMAND"},
	} {
		e := shortOf(2)
		e.Header.Mode, e.Window.By, e.Window.Ended = c.mode, c.by, c.ended
		if setting, to := Longer(e, c.steps); setting != c.setting || !strings.Contains(to, c.to) {
			t.Errorf("%s: %s: %s, want %s: %s", c.name, setting, to, c.setting, c.to)
		}
		r := Run(e, shortRules())
		if len(r.Next) != 1 || !strings.Contains(r.Next[0], c.next) {
			t.Errorf("%s: next %q lacks %q", c.name, r.Next, c.next)
		}
	}
}

// TestFailureIsTheFirstReason: of a job that failed, that is said before that too little was seen of it, and nothing is
// advised that would only watch longer. A report that concludes something stays as it is.
func TestFailureIsTheFirstReason(t *testing.T) {
	e := shortOf(0.42)
	e.Header.Mode, e.Window.Ended, e.Window.Failure = "launch", true, "ended with status 1 after 5.2 s"
	r := Run(e, shortRules())
	if !strings.HasPrefix(r.Verdict.Doubts[0], "the job ended with status 1") ||
		!strings.Contains(r.Verdict.Statement, "back: the job ended with status 1 after 5.2 s; only") {
		t.Errorf("%q of %q", r.Verdict.Statement, r.Verdict.Doubts)
	}
	if len(r.Next) > 0 {
		t.Errorf("advises %q", r.Next)
	}
	e.Window.Failure = ""
	whole := Run(e, shortRules())
	if len(whole.Next) == 0 || strings.Contains(whole.Verdict.Statement, "status") {
		t.Errorf("without a failure: %q, next %q", whole.Verdict.Statement, whole.Next)
	}
}
