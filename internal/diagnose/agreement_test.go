package diagnose

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// fed is a loader of six workers that is close to what its step takes: a simulation gives no worker more than one per
// cent.
var fed = with(starvingLoader, readings{"num_workers": 6, "batches_per_s": 70, "free_step_time_s": 0.0145,
	"input_wait_ratio": 0.1, "usable_cpus": 16, "present_cpus": 16, "job_cpu_cores": 6})

const moreIsNoUse = "more workers: the same bytes come no faster"

var noMoreWorkers = report.Unhelpful{Setting: "num_workers", Direction: report.Up, Why: moreIsNoUse}

// What gave way to a finding has its say back when the simulation leaves that finding without a cure.
func TestWhatGaveWayComesBack(t *testing.T) {
	r := planned(t, fed, evidence.Facts{}, advises("loader/workers-too-few", 0.5, workers("6", "7")),
		speaksAgainst("storage/saturated", 0.3, noMoreWorkers))
	if f := findingOf(t, r, "loader/workers-too-few"); len(f.Recommendations) != 0 || f.Score != 0 {
		t.Fatalf("the simulation has not denied it: %+v", f)
	}
	f := findingOf(t, r, "storage/saturated")
	if f.Unhelpful[0].Within != "" || !slices.Contains(f.WontHelp, moreIsNoUse) {
		t.Errorf("limited to %q, said %q: the finding that it gave way to recommends nothing", f.Unhelpful[0].Within,
			f.WontHelp)
	}
}

// A plan is made of what findings say in the end: not of what one of them said before the simulation denied another its
// only cure.
func TestPlansAreOfTheLastWord(t *testing.T) {
	no := report.Unhelpful{Setting: "num_workers", Direction: report.Any,
		Why: "any number of workers: the same bytes come no faster"}
	r := planned(t, starvingLoader, evidence.Facts{}, advises("loader/workers-too-many", 0.6, workers("1", "0")),
		speaksAgainst("storage/saturated", 0.3, no))
	for _, p := range r.Plans {
		for _, c := range p.Changes {
			if c.Setting == "num_workers" {
				t.Errorf("the %s plan has num_workers=%s; %+v", p.Name, c.To, findingOf(t, r, "storage/saturated"))
			}
		}
	}
	if f := findingOf(t, r, "storage/saturated"); !slices.Contains(f.WontHelp, no.Why) {
		t.Errorf("said %q", f.WontHelp)
	}
}

// What was taken back for a finding that has nothing at stake in the end is recommended again, and planned.
func TestWhatWasDeniedForNothingComesBack(t *testing.T) {
	r := planned(t, starvingLoader, evidence.Facts{}, advises("loader/workers-too-few", 0.3, workers("1", "4")),
		advises("loader/holds-back", 0.6, workers("1", "0"), noMoreWorkers))
	if f := findingOf(t, r, "loader/holds-back"); len(f.Recommendations) != 0 || f.Score != 0 {
		t.Fatalf("the simulation has not denied it: %+v", f)
	}
	f := findingOf(t, r, "loader/workers-too-few")
	if len(f.Recommendations) != 1 || len(r.Plans) == 0 || slices.ContainsFunc(f.WontHelp,
		func(s string) bool { return strings.Contains(s, "holds-back") }) {
		t.Errorf("%+v, %d plans, verdict by %q", f, len(r.Plans), r.Verdict.Rule)
	}
}

// However often findings are weighed, each reason is said once, and what was abstained from is listed once.
func TestNothingIsSaidTwice(t *testing.T) {
	var rules []Rule
	for _, id := range []string{"a/first", "a/second", "a/third"} {
		rules = append(rules, advises(id, 0.3, workers("6", "7")))
	}
	r := planned(t, fed, evidence.Facts{}, rules...)
	said := map[string]int{}
	for _, f := range r.Findings {
		if len(f.Recommendations) > 0 {
			t.Errorf("%s still recommends %+v", f.Rule, f.Recommendations)
		}
		for _, line := range f.WontHelp {
			said[line]++
		}
	}
	for _, a := range r.Abstained {
		said[a.Rule]++
	}
	for line, n := range said {
		if n > 1 {
			t.Errorf("%d times: %s", n, line)
		}
	}
}
