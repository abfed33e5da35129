package compare

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// A share cannot change by more than there is of it, in either direction.
func TestSharesStayWithinTheWhole(t *testing.T) {
	b, a := load(t, fixtures+"workers-1.json"), load(t, fixtures+"workers-1-again.json")
	figure := func(unit string, x, lo, hi float64) report.Metric {
		return report.Metric{Center: x, Lo: lo, Hi: hi, Confidence: 0.95, Unit: unit, Basis: report.Measured}
	}
	for _, c := range []struct{ before, after report.Metric }{
		{figure("ratio", 1, 1, 1), figure("ratio", 0.96, 0.9, 1)},
		{figure("ratio", 0.01, 0, 0.02), figure("ratio", 0, 0, 0.01)},
		{figure("ratio", 0.5, 0.1, 0.9), figure("ratio", 0.6, 0.1, 1)},
	} {
		b.Metrics["input_wait_ratio"], a.Metrics["input_wait_ratio"] = c.before, c.after
		x := change(t, run(t, b, a, Options{}), "input_wait_ratio")
		if *x.Lo < -c.before.Hi || *x.Hi > 1-c.before.Lo || *x.Change < *x.Lo || *x.Change > *x.Hi {
			t.Errorf("from %g to %g: %g, %g to %g", c.before.Center, c.after.Center, *x.Change, *x.Lo, *x.Hi)
		}
	}
	if f := acrossRuns(report.Figure{Center: 0.99, Lo: 0.98, Hi: 1}, true); f.Hi > 1 {
		t.Errorf("a share of up to %g", f.Hi)
	}
	b.Metrics["read_bytes_per_s"] = figure("bytes/s", 100, 0, 400)
	a.Metrics["read_bytes_per_s"] = figure("bytes/s", 10, 0, 30)
	if x := change(t, run(t, b, a, Options{}), "read_bytes_per_s"); *x.Lo < -1 {
		t.Errorf("a loss of %g of what was read", -*x.Lo)
	}
}

// Of two data sets neither is better: the figures stand, and no word on them.
func TestNoAnswerWithoutComparability(t *testing.T) {
	b, a := workers(t)
	if x := change(t, run(t, b, a, Options{}), "samples_per_s"); x.Answer != report.Better {
		t.Fatalf("the fixture shows no gain: %+v", x)
	}
	b.Job.Dataset, a.Job.Dataset = "/data/one", "/data/two"
	for _, x := range run(t, b, a, Options{}).Changes {
		if x.Answer != report.Unclear {
			t.Errorf("%s: %s between two data sets", x.Key, x.Answer)
		}
	}
	x := change(t, run(t, b, a, Options{}), "samples_per_s")
	if x.After.Center <= x.Before.Center || x.Change == nil {
		t.Errorf("%+v", x)
	}
}

func TestBenchmarksOfOtherItems(t *testing.T) {
	b, a := load(t, "../../testdata/reports/bench-gzip-chunk64.json"), load(t, fixtures+"bench-rewritten.json")
	if c := run(t, b, a, Options{}); c.Comparable == report.NotComparable {
		t.Fatalf("the fixtures are not comparable: %+v", c.Conditions)
	}
	a.Benchmark.Layout.ItemShape = []int64{1, 32, 32}
	if c := run(t, b, a, Options{}); c.Comparable != report.NotComparable || !strings.Contains(c.Conditions[0].After,
		"32 x 32") {
		t.Errorf("%s: %+v", c.Comparable, c.Conditions)
	}
}

// Files of one name are distinguished by the folders that they were given with.
func TestFilesOfOneNameAreToldApart(t *testing.T) {
	b, a := workers(t)
	c, err := Run([]Input{{"monday/r.json", b}}, []Input{{"tuesday/r.json", a}}, Options{})
	if err != nil || c.Before.Files[0] != "monday/r.json" || c.After.Files[0] != "tuesday/r.json" {
		t.Errorf("%v, %v, %v", c.Before.Files, c.After.Files, err)
	}
	c, err = Run([]Input{{"runs/b.json", b}}, []Input{{"runs/a.json", a}}, Options{})
	if err != nil || c.Before.Files[0] != "b.json" {
		t.Errorf("%v, %v", c.Before.Files, err)
	}
}

// Steps of five seconds leave most windows of a second without a batch. That two such runs are the same to a few
// percent cannot be determined from 25 of them.
func TestSlowStepsAreNotTheSame(t *testing.T) {
	slow := func(at int) report.Metric {
		m := report.Metric{Center: 0.2, Lo: 0.13, Hi: 0.27, Confidence: 0.95, N: 25, Basis: report.Measured}
		for i := range 25 {
			m.Windows = append(m.Windows, 0)
			if i%5 == at {
				m.Windows[i] = 1
			}
		}
		return m
	}
	x := pair{unit: "1/s", better: more, before: []report.Metric{slow(4)}, after: []report.Metric{slow(2)}}.change()
	if x.Method != report.ByIntervals || x.Answer != report.Unclear || x.Lo == nil || *x.Lo > -0.4 || *x.Hi < 0.4 {
		t.Errorf("%+v", x)
	}
	for name, c := range map[string]struct {
		windows []float64
		want    bool
	}{"none": {nil, true}, "half": {[]float64{0, 1, 0, 2}, false}, "more than half": {[]float64{0, 1, 0}, true},
		"all": {[]float64{3, 3}, true}, "one": {[]float64{3}, true}} {
		if mostlyTied(c.windows) != c.want {
			t.Errorf("%s of %v", name, c.windows)
		}
	}
}
