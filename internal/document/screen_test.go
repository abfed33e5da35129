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
	none, one := 0, "0"
	effect := func(lo, hi float64) *report.Effect {
		return &report.Effect{Metric: "samples_per_s", Before: 100, After: lo, Lo: lo, Hi: hi, Unit: "1/s",
			Basis: report.Modelled}
	}
	screen := func(lo float64) (string, string) {
		r := &report.Report{
			Job:     &report.Job{Loader: &report.Loader{NumWorkers: &none}},
			Verdict: &report.Verdict{Class: report.InputBound, Rule: "loader/workers-zero"},
			Findings: []report.Finding{{Rule: "loader/workers-zero", Severity: report.Error,
				Recommendations: []report.Recommendation{{Setting: "num_workers", From: &one, To: "2",
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
