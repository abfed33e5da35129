package compare

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

const fixtures = "../../testdata/comparisons/"

func load(t testing.TB, path string) *report.Report {
	t.Helper()
	return must.Get(report.Decode(bytes.NewReader(must.Get(os.ReadFile(path))(t))))(t)
}

// workers are reports of one job with one worker and with two.
func workers(t testing.TB) (one, two *report.Report) {
	t.Helper()
	return load(t, fixtures+"workers-1.json"), load(t, fixtures+"workers-2.json")
}

func run(t testing.TB, before, after *report.Report, o Options) *report.Comparison {
	t.Helper()
	return must.Get(Run([]Input{{"before.json", before}}, []Input{{"after.json", after}}, o))(t)
}

func change(t testing.TB, c *report.Comparison, key string) report.Change {
	t.Helper()
	i := slices.IndexFunc(c.Changes, func(x report.Change) bool { return x.Key == key })
	if i < 0 {
		t.Fatalf("no %s among %d changes", key, len(c.Changes))
	}
	return c.Changes[i]
}

// TestSwappedSidesTurnAround: what was better is worse by the same factor, with the same p.
func TestSwappedSidesTurnAround(t *testing.T) {
	one, two := workers(t)
	there, back := run(t, one, two, Options{}), run(t, two, one, Options{})
	turned := map[report.Answer]report.Answer{report.Better: report.Worse, report.Worse: report.Better,
		report.Higher: report.Lower, report.Lower: report.Higher, report.Unclear: report.Unclear}
	close := func(a, b float64) bool { return math.Abs(a-b) < 1e-9*max(1, math.Abs(a)) }
	for _, x := range there.Changes {
		y := change(t, back, x.Key)
		if turned[x.Answer] != y.Answer || x.P != nil && !close(*x.P, *y.P) {
			t.Errorf("%s: %s, p %v; swapped %s, p %v", x.Key, x.Answer, x.P, y.Answer, y.P)
		}
		if x.Difference && !(close(*x.Change, -*y.Change) && close(*x.Lo, -*y.Hi)) || !x.Difference &&
			!(close((1+*x.Change)*(1+*y.Change), 1) && close((1+*x.Lo)*(1+*y.Hi), 1)) {
			t.Errorf("%s: %v (%v – %v), swapped %v (%v – %v)", x.Key, *x.Change, *x.Lo, *x.Hi, *y.Change, *y.Lo, *y.Hi)
		}
	}
	if change(t, there, "samples_per_s").Answer != report.Better {
		t.Error("two workers instead of one are not better")
	}
}

func TestTheSameReportHoldsNoChange(t *testing.T) {
	for _, path := range []string{fixtures + "workers-1.json", "../../testdata/reports/reopened.json",
		"../../testdata/reports/bench-gzip-chunk64.json"} {
		c := run(t, load(t, path), load(t, path), Options{Gate: new(0.0)})
		for _, x := range c.Changes {
			if x.Answer != report.Unclear || x.Change != nil && *x.Change != 0 || x.P != nil && *x.P < 0.99 {
				t.Errorf("%s: %s: %+v", path, x.Key, x)
			}
		}
		if len(c.Warnings) == 0 || c.Comparable != report.Comparable || len(c.Conditions)+len(c.Settings)+
			len(c.Rules.New)+len(c.Rules.Resolved) > 0 || c.Tally != nil && c.Tally.Judged > 0 {
			t.Errorf("%s: %+v", path, c)
		}
		if c.Gate.Answer == report.GateFailed {
			t.Errorf("%s: gate %+v", path, c.Gate)
		}
	}
}

// TestFalseAlarmsAreRare compares 2,000 pairs of runs of one job whose windows resemble their neighbours and which
// differ from run to run as real ones do: at most 5 % may come out as changed, and p must not be smaller than chance
// would have it.
func TestFalseAlarmsAreRare(t *testing.T) {
	for _, c := range []struct {
		name                        string
		windows                     int
		correlation, noise, between float64
	}{
		{"20 windows, alike from run to run", 20, 0.4, 0.05, 0},
		{"20 windows, runs 2 % apart", 20, 0.4, 0.05, 0.02},
		{"25 noisy windows, runs 2 % apart", 25, 0.6, 0.2, 0.02},
		{"100 windows, runs 2 % apart", 100, 0.4, 0.03, 0.02},
	} {
		rng := rand.New(rand.NewPCG(11, uint64(c.windows)))
		const pairs = 2000
		alarms, half := 0, 0
		for range pairs {
			one := func() []report.Metric {
				return []report.Metric{simulated(rng, c.windows, c.correlation, c.noise, c.between)}
			}
			x := pair{unit: "1/s", better: more, before: one(), after: one()}.change()
			if x.Answer != report.Unclear {
				alarms++
			}
			if *x.P < 0.5 {
				half++
			}
		}
		t.Logf("%s: %.3f false alarms, p below 0.5 in %.2f", c.name, float64(alarms)/pairs, float64(half)/pairs)
		if alarms > pairs*55/1000 || half > pairs*53/100 {
			t.Errorf("%s: %d false alarms of %d, p below 0.5 in %d", c.name, alarms, pairs, half)
		}
	}
}

// TestChangesAreFound is the other half: a change of 20 % in such runs is seen.
func TestChangesAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	found := 0
	for range 500 {
		a := simulated(rng, 20, 0.4, 0.05, 0.02)
		for i := range a.Windows {
			a.Windows[i] *= 1.2
		}
		a.Center, a.Lo, a.Hi = a.Center*1.2, a.Lo*1.2, a.Hi*1.2
		if (pair{unit: "1/s", better: more, before: []report.Metric{simulated(rng, 20, 0.4, 0.05, 0.02)},
			after: []report.Metric{a}}).change().Answer == report.Better {
			found++
		}
	}
	if found < 475 {
		t.Errorf("a gain of 20 %% was found in %d of 500", found)
	}
}

// simulated is a rate of about 100 whose windows are a first-order autoregression.
func simulated(rng *rand.Rand, n int, correlation, noise, between float64) report.Metric {
	m := report.Metric{Confidence: 0.95, N: n, Unit: "1/s", Basis: report.Measured}
	level := 100 * math.Exp(between*rng.NormFloat64())
	x := rng.NormFloat64()
	for range n {
		w := level * math.Exp(noise*x)
		m.Windows = append(m.Windows, w)
		m.Center += w / float64(n)
		x = correlation*x + math.Sqrt(1-correlation*correlation)*rng.NormFloat64()
	}
	m.Lo, m.Hi = m.Center*0.98, m.Center*1.02
	return m
}

func TestMethods(t *testing.T) {
	runs := func(centers ...float64) (out []report.Metric) {
		for _, c := range centers {
			out = append(out, report.Metric{Center: c, Lo: c * 0.99, Hi: c * 1.01, Confidence: 0.95, Unit: "s"})
		}
		return out
	}
	for _, c := range []struct {
		name          string
		before, after []report.Metric
		others        float64
		method        string
		answer        report.Answer
		p             bool
	}{
		{"four runs on each side", runs(10, 10.1, 9.9, 10.2), runs(8, 8.1, 7.9, 8.2), 0, report.ByRuns, report.Better,
			true},
		{"four runs that overlap", runs(10, 10.1, 9.9, 10.2), runs(10.05, 9.95, 10.15, 9.8), 0, report.ByRuns,
			report.Unclear, true},
		{"intervals apart", runs(10), runs(12), 0, report.ByIntervals, report.Worse, false},
		{"intervals apart by less than runs differ", runs(10), runs(10.4), 0, report.ByIntervals, report.Unclear,
			false},
		{"three runs that vary by more than usual", runs(10, 12, 8), runs(8.4, 8.2, 8.3), 0, report.ByIntervals,
			report.Unclear, false},
		{"slower while others took a quarter of the CPUs", runs(10), runs(12), 0.25, report.ByIntervals, report.Unclear,
			false},
		{"faster although others took more", runs(12), runs(10), 0.25, report.ByIntervals, report.Better, false},
		{"no interval", []report.Metric{{Center: 10, Unit: "s"}}, runs(20), 0, report.ByIntervals, report.Unclear,
			false},
		{"from nothing", []report.Metric{{Unit: "s", Confidence: 1}}, runs(20), 0, report.ByIntervals, report.Unclear,
			false},
	} {
		x := pair{unit: "s", better: less, before: c.before, after: c.after, others: c.others}.change()
		if x.Method != c.method || x.Answer != c.answer || (x.P != nil) != c.p {
			t.Errorf("%s: %s by %s, p %v", c.name, x.Answer, x.Method, x.P)
		}
	}
}

func TestGateJudgesTheInterval(t *testing.T) {
	for _, c := range []struct {
		metric string
		lo, hi *float64
		want   report.GateAnswer
	}{
		{"samples_per_s", new(-0.04), new(0.2), report.GatePassed},
		{"samples_per_s", new(-0.3), new(-0.06), report.GateFailed},
		{"samples_per_s", new(-0.3), new(-0.02), report.GateUnclear},
		{"samples_per_s", new(-0.06), new(0.2), report.GateUnclear},
		{"samples_per_s", nil, nil, report.GateUnclear},
		{"step_time_s", new(-0.3), new(0.04), report.GatePassed},
		{"step_time_s", new(0.06), new(0.3), report.GateFailed},
		{"input_wait_ratio", new(0.02), new(0.08), report.GateUnclear},
	} {
		if got, why := judge(report.Change{Key: c.metric, Metric: c.metric, Lo: c.lo, Hi: c.hi}, 0.05); got != c.want {
			t.Errorf("%s %v..%v: %s (%s), want %s", c.metric, c.lo, c.hi, got, why, c.want)
		}
	}
	one, two := workers(t)
	two.Host.CPUsUsable = 4
	limit := 0.05
	if c := run(t, two, one, Options{Gate: &limit}); c.Gate.Answer != report.GateUnclear ||
		!strings.Contains(c.Gate.Why, "usable CPUs") {
		t.Errorf("another machine: %+v", c.Gate)
	}
	if _, err := Run([]Input{{"b", one}}, []Input{{"a", two}},
		Options{Gate: &limit, GateMetric: "nonsense"}); !errors.Is(err, ErrUnknownMetric) {
		t.Errorf("unknown metric: %v", err)
	}
	delete(one.Metrics, "samples_per_s")
	if c := run(t, one, load(t, fixtures+"workers-2.json"),
		Options{Gate: &limit, GateMetric: "samples_per_s"}); c.Gate.Answer != report.GateUnclear {
		t.Errorf("measured on one side: %+v", c.Gate)
	}
}

func TestRefused(t *testing.T) {
	job, bench := load(t, fixtures+"workers-1.json"), load(t, fixtures+"bench-rewritten.json")
	for name, c := range map[string]struct{ before, after []Input }{
		"nothing before":  {nil, []Input{{"a", job}}},
		"kinds mixed":     {[]Input{{"b", bench}}, []Input{{"a", job}}},
		"a run twice":     {[]Input{{"b", job}, {"c", load(t, fixtures+"workers-1.json")}}, []Input{{"a", job}}},
		"a kind in a row": {[]Input{{"b", job}}, []Input{{"a", job}, {"c", bench}}},
	} {
		if _, err := Run(c.before, c.after, Options{}); err == nil {
			t.Errorf("%s was compared", name)
		}
	}
}

func FuzzCompare(f *testing.F) {
	seed := func(r *report.Report) []byte {
		for name, m := range r.Metrics { // small seeds: the fuzzer spends its time on what a byte changes
			if m.Windows = m.Windows[:min(len(m.Windows), 6)]; name != "samples_per_s" && name != "step_time_s" &&
				name != "batches_per_s" {
				delete(r.Metrics, name)
			}
		}
		r.Findings, r.Measurements, r.Abstained, r.Phases = r.Findings[:min(1, len(r.Findings))],
			r.Measurements[:min(3, len(r.Measurements))], nil, nil
		var b bytes.Buffer
		must.Do(f, report.Encode(&b, r))
		return b.Bytes()
	}
	f.Add(seed(load(f, fixtures+"workers-1.json")), seed(load(f, fixtures+"workers-2.json")))
	f.Add(seed(load(f, "../../testdata/reports/bench-gzip-chunk64.json")),
		seed(load(f, fixtures+"bench-rewritten.json")))
	f.Add([]byte(`{"schema":"pipetune.report","schema_version":"1.2.0","kind":"diagnose","metrics":{"samples_per_s":{"center":1e-308,"lo":-1,"hi":1e308,"confidence":0.95,"unit":"1/s","basis":"measured","windows":[0,-1,1e308]}}}`),
		[]byte(`{"schema":"pipetune.report","schema_version":"1.0.0","kind":"diagnose","metrics":{"samples_per_s":{"center":1e308,"lo":1e308,"hi":1e308,"confidence":7,"unit":"1/s","basis":"measured","windows":[1,1,1]}},"findings":[{"rule":"a","severity":"info","recommendations":[{"setting":"b","to":"c","effect":{"metric":"samples_per_s","lo":1,"hi":2,"unit":"1/s","basis":"modelled"}}]}]}`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		b, err := report.Decode(bytes.NewReader(before))
		a, err2 := report.Decode(bytes.NewReader(after))
		if err != nil || err2 != nil {
			return
		}
		c, err := Run([]Input{{"b", b}}, []Input{{"a", a}}, Options{Gate: new(0.05)})
		if err != nil {
			return
		}
		if err := report.EncodeComparison(&bytes.Buffer{}, c); err != nil {
			t.Errorf("a comparison breaks its contract: %v", err)
		}
		for _, x := range c.Changes {
			if x.Answer != report.Unclear && x.Lo != nil && !(*x.Lo > 0 || *x.Hi < 0) {
				t.Errorf("%s is %s although its interval %v..%v holds no change", x.Key, x.Answer, *x.Lo, *x.Hi)
			}
		}
	})
}

// Samples that each worker gives anew are no gain, and no figure shows it: the person is reported.
func TestMoreWorkersOfAnIterable(t *testing.T) {
	for _, iterable := range []bool{true, false} {
		b, a := workers(t)
		b.Job.Loader.Iterable, a.Job.Loader.Iterable = iterable, iterable
		warnings := strings.Join(run(t, b, a, Options{}).Warnings, "\n")
		if got := strings.Contains(warnings, "get_worker_info"); got != iterable {
			t.Errorf("iterable %v: warned %v", iterable, got)
		}
	}
}
