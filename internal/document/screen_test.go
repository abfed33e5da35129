package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// What will not help is named without its reason, and without what stands in parentheses, a colon there or not.
func TestUselessNamesAreWhole(t *testing.T) {
	f := &report.Finding{WontHelp: []string{"a larger cache, unless it holds all (62 MiB; slots some hundred times " +
		"that: 8009): the next item lies elsewhere", "faster storage: it waits for none"}}
	if got := useless(f); len(got) != 1 || got[0].Text != "a larger cache, unless it holds all; faster storage" {
		t.Errorf("%+v", got)
	}
}

// The first screen repeats nothing that its fix has along with it, gives no effect alone to what needs workers, and
// says where a fix may bring nothing.
func TestFixAndWhatFollows(t *testing.T) {
	effect := func(lo, hi float64) *report.Effect {
		return &report.Effect{Metric: "samples_per_s", Before: 100, After: lo, Lo: lo, Hi: hi, Unit: "1/s",
			Basis: report.Modelled}
	}
	screen := func(lo float64) (string, string) {
		r := &report.Report{
			Job:     &report.Job{Loader: &report.Loader{NumWorkers: new(0)}},
			Verdict: &report.Verdict{Class: report.InputBound, Rule: "loader/workers-zero"},
			Findings: []report.Finding{{Rule: "loader/workers-zero", Severity: report.Error,
				Recommendations: []report.Recommendation{{Setting: "num_workers", From: new("0"), To: "2",
					With: []report.Value{{Setting: "persistent_workers", To: "True"}}, Effect: effect(lo, 190)}}}},
			Plans: []report.Plan{{Name: report.Moderate, Effect: effect(lo, 200), Changes: []report.Recommendation{
				{Setting: "num_workers", To: "2", Effect: effect(lo, 190)}, {Setting: "persistent_workers", To: "True"},
				{Setting: "prefetch_factor", To: "8"}}}},
		}
		var lines []string
		for _, l := range fix(r) {
			lines = append(lines, l.Label+" "+l.Text)
		}
		return strings.Join(lines, "\n"), fmt.Sprint(afterwardsSection(r))
	}
	first, then := screen(90)
	if !strings.Contains(first, "with persistent_workers=True") || !strings.Contains(first, "may bring nothing") {
		t.Error(first)
	}
	if strings.Contains(then, "persistent_workers") ||
		!strings.Contains(then, "prefetch_factor → 8: only along with num_workers") {
		t.Error(then)
	}
	if first, _ := screen(110); strings.Contains(first, "may bring nothing") {
		t.Error(first)
	}
}

// A plan that is recommended is the fix where the verdict rests on no finding, and no other change is.
func TestFixIsThePlans(t *testing.T) {
	change := report.Recommendation{Setting: "num_workers", From: new("1"), To: "2", Effect: &report.Effect{
		Metric: "samples_per_s", Unit: "1/s", Before: 100, After: 116, Lo: 110, Hi: 120, Basis: report.Modelled}}
	for _, c := range []struct{ name, want string }{
		{report.Conservative, "num_workers: 1 → 2 (train.py:9)"},
		{report.Aggressive, ""},
	} {
		r := &report.Report{Verdict: &report.Verdict{Class: report.Balanced},
			Findings: []report.Finding{
				{Rule: "host/sync-points", Severity: report.Warning, Recommendations: []report.Recommendation{
					{Setting: "calls that wait for the GPU", To: "once per epoch"}}},
				{Rule: "loader/workers-too-few", Severity: report.Warning, Location: &report.Location{File: "train.py",
					Line: 9}, Recommendations: []report.Recommendation{change}}},
			Plans: []report.Plan{{Name: c.name, Changes: []report.Recommendation{change}, Effect: change.Effect}}}
		lines, then := fix(r), fmt.Sprint(afterwardsSection(r))
		if c.want == "" {
			if len(lines) != 0 || !strings.Contains(then, "num_workers") {
				t.Errorf("%s: %+v %s", c.name, lines, then)
			}
			continue
		}
		if len(lines) != 2 || lines[0].Text != c.want || lines[1].Text != "100 → 110 – 120 samples/s, modelled" ||
			strings.Contains(then, "num_workers") || !strings.Contains(then, "calls that wait") {
			t.Errorf("%s: %+v %s", c.name, lines, then)
		}
	}
}

// What was measured of two changes together is no effect of either.
func TestMeasuredTogether(t *testing.T) {
	e := &report.Effect{Metric: "batches_per_s", Unit: "1/s", Before: 16, After: 33, Lo: 31, Hi: 35,
		Basis: report.Measured}
	r := &report.Report{Decisions: []report.Decision{
		{Outcome: report.ToChange, Recommendation: report.Recommendation{Setting: "prefetch_factor", From: new("2"),
			To: "4", Effect: e, With: []report.Value{{Setting: "persistent_workers", To: "True"}}}},
		{Outcome: report.ToChange, Recommendation: report.Recommendation{Setting: "persistent_workers",
			From: new("False"), To: "True", Effect: e, With: []report.Value{{Setting: "prefetch_factor", To: "4"}}}},
	}}
	got := fmt.Sprint(afterwardsSection(r))
	if strings.Count(got, "31 – 35") != 1 ||
		!strings.Contains(got, "prefetch_factor: 2 → 4, persistent_workers: False → True: 31 – 35 batches/s, "+
			"measured") {
		t.Error(got)
	}
}

// Changes whose effect is known are in its order; what cannot be predicted, as of memory, keeps its place.
func TestByGain(t *testing.T) {
	change := func(setting string, after float64) report.Decision {
		d := report.Decision{}
		if d.Setting = setting; after > 0 {
			d.Effect = &report.Effect{Before: 100, After: after}
		}
		return d
	}
	list := []report.Decision{change("ulimit -n", 0), change("a", 110), change("/dev/shm", 0), change("b", 150)}
	byGain(list)
	var got []string
	for _, d := range list {
		got = append(got, d.Setting)
	}
	if want := "ulimit -n b /dev/shm a"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// num_workers is of one trainer.
func TestSubjectOfRanks(t *testing.T) {
	for ranks, want := range map[int]string{1: "train.py · 2 loader workers (spawn)",
		2: "train.py · 2 ranks · 2 loader workers per rank (spawn)"} {
		j := &report.Job{Command: []string{"python", "train.py"}, Ranks: ranks,
			Loader: &report.Loader{NumWorkers: new(2), StartMethod: "spawn"}}
		if got := Subject(j); got != want {
			t.Errorf("%d ranks: %s", ranks, got)
		}
	}
}
