package report

import (
	"slices"
	"testing"
)

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		u        Unhelpful
		from, to string
		want     bool
	}{
		{Unhelpful{Direction: Up}, "2", "4", true},
		{Unhelpful{Direction: Up}, "4", "2", false},
		{Unhelpful{Direction: Up}, "4", "4", false},
		{Unhelpful{Direction: Up}, "", "4", false}, // above what is not known
		{Unhelpful{Direction: Up}, "10", "9", false},
		{Unhelpful{Direction: Down}, "4", "2", true},
		{Unhelpful{Direction: To, To: "True"}, "False", "true", true},
		{Unhelpful{Direction: To, To: "3"}, "1", "4", false},
		{Unhelpful{Direction: Any}, "", "spawn", true},
	} {
		c.u.Setting = "x"
		if got := c.u.Covers("x", c.from, c.to); got != c.want {
			t.Errorf("%+v: %q → %q: %v", c.u, c.from, c.to, got)
		}
		if c.u.Covers("y", c.from, c.to) {
			t.Errorf("%+v covers another setting", c.u)
		}
	}
}

// Findings without a plan decide too: but not to change as it stands what brings nothing, nor what another finding
// rules out.
func TestDecidedOfFindings(t *testing.T) {
	change := func(setting, to string, after float64) Finding {
		return Finding{Rule: "a/" + setting, Severity: Error, Recommendations: []Recommendation{{Setting: setting,
			From: new("1"), To: to, Effect: &Effect{Metric: "samples_per_s", Before: 100, After: after, Lo: 90, Hi: 200,
				Basis: Modelled}}}}
	}
	r := &Report{Job: &Job{Loader: &Loader{PrefetchFactor: new(2)}},
		Findings: []Finding{change("num_workers", "4", 103), change("pin_memory", "True", 140)}}
	r.Findings = append(r.Findings, Finding{Rule: "c/d", Severity: Info, Unhelpful: []Unhelpful{{Setting: "batch_size",
		Direction: Up, Why: "no"}, {Setting: "prefetch_factor", Direction: Up, Why: "no"}}})
	if got := r.Ready(); len(got) != 1 || got[0].Setting != "pin_memory" ||
		!slices.Equal(got[0].Rules, []string{"a/pin_memory"}) {
		t.Errorf("%+v", got)
	}
	if d := r.Decision("batch_size"); d == nil || d.Outcome != ToLeave || d.Why != "no" {
		t.Errorf("%+v", d)
	}
	if r.RuledOut("prefetch_factor", nil, "4") == nil || r.RuledOut("prefetch_factor", nil, "1") != nil {
		t.Error("the present value is the loader's where nobody says it")
	}
	r.Findings = []Finding{change("num_workers", "4", 104)}
	if len(r.Ready()) != 1 {
		t.Errorf("4 %% more is worth a change: %+v", r.Decided())
	}
	r.Verdict = &Verdict{Class: Inconclusive}
	if len(r.Ready()) != 0 || r.Decision("num_workers").Outcome != NotKnown {
		t.Errorf("nothing was concluded: %+v", r.Decided())
	}
}

// Without workers PyTorch refuses what is about workers: of two such changes the one that comes first is made.
func TestDecidedTogether(t *testing.T) {
	none, keep := Recommendation{Setting: "num_workers", To: "0"}, Recommendation{Setting: "persistent_workers",
		To: "True"}
	for _, list := range [][]Recommendation{{none, keep}, {keep, none}} {
		r := &Report{Findings: []Finding{{Rule: "a/a", Severity: Error, Recommendations: list[:1]},
			{Rule: "b/b", Severity: Error, Recommendations: list[1:]}}}
		if ready := r.Ready(); len(ready) != 1 || ready[0].Setting != list[0].Setting ||
			r.Decision(list[1].Setting).Hold != HoldInstead {
			t.Errorf("%+v", r.Decided())
		}
	}
}

// The recommended plan has the last word on what it is about, and none on the rest; what only another plan changes is
// held.
func TestDecidedOfPlans(t *testing.T) {
	change := func(setting, to string) Recommendation { return Recommendation{Setting: setting, To: to} }
	r := &Report{Findings: []Finding{{Rule: "a/b", Severity: Error,
		Recommendations: []Recommendation{change("num_workers", "6"), change("pin_memory", "True")}}},
		Plans: []Plan{{Name: Conservative, Changes: []Recommendation{change("num_workers", "2")}},
			{Name: Moderate, Changes: []Recommendation{change("num_workers", "2"), change("prefetch_factor", "4")}},
			{Name: Aggressive, Changes: []Recommendation{change("num_workers", "2"), change("prefetch_factor", "4"),
				change("in_order", "False")}}}}
	for setting, want := range map[string][2]string{"num_workers": {"2", ""}, "pin_memory": {"True", ""},
		"prefetch_factor": {"4", ""}, "in_order": {"False", HoldFurther}} {
		if d := r.Decision(setting); d == nil || d.To != want[0] || d.Hold != want[1] || d.Outcome != ToChange {
			t.Errorf("%s: %+v", setting, d)
		}
	}
}

// A finding's change needs no plan that is recommended: what only a further plan changes is held, and no more.
func TestDecidedWithoutRecommendedPlan(t *testing.T) {
	workers := Recommendation{Setting: "num_workers", To: "4", Effect: &Effect{Before: 100, After: 150}}
	kept := Recommendation{Setting: "persistent_workers", To: "True"}
	further := []Plan{{Name: Aggressive, Changes: []Recommendation{workers, kept}}}
	for severity, hold := range map[Severity]string{Error: "", Info: HoldCostsNothing} {
		r := &Report{Plans: further, Findings: []Finding{{Rule: "loader/workers-too-few", Severity: severity,
			Recommendations: []Recommendation{workers}}}}
		if d := r.Decision("num_workers"); d == nil || d.Hold != hold || d.To != "4" || d.Effect == nil {
			t.Errorf("%s: %+v", severity, d)
		}
		if d := r.Decision("persistent_workers"); d == nil || d.Hold != HoldFurther {
			t.Errorf("%s: %+v", severity, d)
		}
	}
}
