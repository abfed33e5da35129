package document

import (
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// The recommended plan has the last word on what it is about, and none on the rest.
func TestTryLineIsThePlans(t *testing.T) {
	change := func(name, to string) report.Recommendation { return report.Recommendation{Setting: name, To: to} }
	r := &report.Report{Findings: []report.Finding{{Severity: report.Error,
		Recommendations: []report.Recommendation{change("num_workers", "6"), change("prefetch_factor", "8"),
			change("pin_memory", "True")}}}}
	if got := tryLine(r); got != "DataLoader(..., num_workers=6, prefetch_factor=8, pin_memory=True)" {
		t.Errorf("without a plan: %s", got)
	}
	r.Plans = []report.Plan{{Name: "conservative", Changes: []report.Recommendation{change("num_workers", "2")}},
		{Name: "aggressive", Changes: []report.Recommendation{change("num_workers", "9")}}}
	if got := tryLine(r); got != "DataLoader(..., num_workers=2, prefetch_factor=8, pin_memory=True)" {
		t.Errorf("with a conservative one: %s", got)
	}
	r.Plans[0].Name = "moderate"
	if got := tryLine(r); got != "DataLoader(..., num_workers=2, prefetch_factor=8, pin_memory=True)" {
		t.Errorf("with a moderate one: %s", got)
	}
	r.Plans = r.Plans[1:]
	if got := tryLine(r); got != "DataLoader(..., prefetch_factor=8, pin_memory=True)" {
		t.Errorf("with an aggressive one alone: %s", got)
	}
}

// A line to copy holds nothing that may make training see each sample several times: with no worker, or one, nothing
// shows whether an iterable dataset shares itself out.
func TestTryLineOfAnIterable(t *testing.T) {
	zero, one, two := 0, 1, 2
	change := func(name, to string) report.Recommendation { return report.Recommendation{Setting: name, To: to} }
	plan := func(changes ...report.Recommendation) []report.Plan {
		return []report.Plan{{Name: report.Moderate, Changes: changes}}
	}
	several, deeper := plan(change("num_workers", "4"), change("persistent_workers", "True")),
		plan(change("prefetch_factor", "8"))
	pinned := []report.Finding{{Severity: report.Error, Recommendations: []report.Recommendation{change("pin_memory",
		"True")}}}
	for _, c := range []struct {
		workers  *int
		iterable bool
		plans    []report.Plan
		findings []report.Finding
		want     string
	}{
		{&zero, true, several, nil, ""},
		{&zero, true, several, pinned, "DataLoader(..., pin_memory=True)"},
		{&one, true, several, nil, ""},
		{&one, true, deeper, nil, "DataLoader(..., prefetch_factor=8)"},
		// whatever it does, it does already
		{&two, true, several, nil, "DataLoader(..., num_workers=4, persistent_workers=True)"},
		{&zero, false, several, nil, "DataLoader(..., num_workers=4, persistent_workers=True)"},
	} {
		r := &report.Report{Job: &report.Job{Loader: &report.Loader{NumWorkers: c.workers, Iterable: c.iterable}},
			Plans: c.plans, Findings: c.findings}
		if got := tryLine(r); got != c.want {
			t.Errorf("%d workers, iterable %v: %q, want %q", *c.workers, c.iterable, got, c.want)
		}
	}
}
