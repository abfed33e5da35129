package document

import (
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// The recommended plan has the last word on what it is about, and none on the rest. Where none is recommended, what a
// finding asks for stands, with the value of the plan that names one.
func TestTryLineIsThePlans(t *testing.T) {
	plan := func(name, workers string) report.Plan {
		return report.Plan{Name: name, Changes: []report.Recommendation{recommend("num_workers", workers)}}
	}
	for _, c := range []struct {
		plans []report.Plan
		want  string
	}{
		{nil, "num_workers=6, prefetch_factor=8, pin_memory=True"},
		{[]report.Plan{plan("conservative", "2"), plan("aggressive", "9")},
			"num_workers=2, prefetch_factor=8, pin_memory=True"},
		{[]report.Plan{plan("moderate", "2"), plan("aggressive", "9")},
			"num_workers=2, prefetch_factor=8, pin_memory=True"},
		{[]report.Plan{plan("aggressive", "9")}, "num_workers=9, prefetch_factor=8, pin_memory=True"},
	} {
		r := &report.Report{Plans: c.plans, Findings: []report.Finding{{Severity: report.Error,
			Recommendations: []report.Recommendation{recommend("num_workers", "6"), recommend("prefetch_factor", "8"),
				recommend("pin_memory", "True")}}}}
		if got := tryLine(r); got != "DataLoader(..., "+c.want+")" {
			t.Errorf("with %+v: %s", c.plans, got)
		}
	}
}

func recommend(name, to string) report.Recommendation {
	return report.Recommendation{Setting: name, To: to}
}

// A line to copy holds nothing that may make training see each sample several times: with no worker, or one, nothing
// shows whether an iterable dataset shares itself out.
func TestTryLineOfAnIterable(t *testing.T) {
	plan := func(changes ...report.Recommendation) []report.Plan {
		return []report.Plan{{Name: report.Moderate, Changes: changes}}
	}
	several, deeper := plan(recommend("num_workers", "4"), recommend("persistent_workers", "True")),
		plan(recommend("prefetch_factor", "8"))
	pinned := []report.Finding{{Severity: report.Error,
		Recommendations: []report.Recommendation{recommend("pin_memory", "True")}}}
	for _, c := range []struct {
		workers  int
		iterable bool
		shards   *int
		plans    []report.Plan
		findings []report.Finding
		want     string
	}{
		{0, true, nil, several, nil, ""},
		{0, true, nil, several, pinned, "DataLoader(..., pin_memory=True)"},
		{1, true, nil, several, nil, ""},
		{1, true, nil, deeper, nil, "DataLoader(..., prefetch_factor=8)"},
		// whatever it does, it does already
		{2, true, nil, several, nil, "DataLoader(..., num_workers=4, persistent_workers=True)"},
		{0, false, nil, several, nil, "DataLoader(..., num_workers=4, persistent_workers=True)"},
		{1, true, new(8), several, nil, "DataLoader(..., num_workers=4, persistent_workers=True)"}, // it divides those
	} {
		r := &report.Report{Job: &report.Job{Loader: &report.Loader{NumWorkers: &c.workers, Iterable: c.iterable,
			Shards: c.shards}}, Plans: c.plans, Findings: c.findings}
		if got := tryLine(r); got != c.want {
			t.Errorf("%d workers, iterable %v: %q, want %q", c.workers, c.iterable, got, c.want)
		}
	}
}
