package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// What other programs do leads only where taking it away brings more than each cure that the job has in its own hands.
func TestCircumstancesYield(t *testing.T) {
	rules := map[string]*Rule{
		"others":  {ID: "others", Circumstance: true, Explains: []string{"workers", "decoding"}},
		"reopens": {ID: "reopens"}, "workers": {ID: "workers"}, "decoding": {ID: "decoding"},
	}
	finding := func(rule string, score float64, setting string, after float64) report.Finding {
		f := report.Finding{Rule: rule, Score: score, Severity: Grade(score)}
		if after > 0 {
			f.Recommendations = []report.Recommendation{{Setting: setting, Effect: &report.Effect{Before: 10,
				After: after}}}
		}
		return f
	}
	for _, c := range []struct {
		name          string
		others, cause report.Finding
		causeLeads    bool
		score         float64 // of the one that does not
	}{
		{"a cause that brings more leads", finding("others", 0.8, "others", 24), finding("reopens", 0.6, "file", 27),
			true, 0.8},
		{"one that brings less does not", finding("others", 0.8, "others", 24), finding("reopens", 0.6, "file", 20),
			false, 0.6},
		{"nor one whose cure is not predicted", finding("others", 0.8, "others", 24),
			finding("reopens", 0.6, "file", 0), false, 0.6},
		{"a circumstance without a prediction yields", finding("others", 0.8, "others", 0),
			finding("reopens", 0.6, "file", 20), true, 0.8},
		{"but not to what brings nothing", finding("others", 0.8, "others", 0), finding("reopens", 0.6, "file", 10),
			false, 0.6},
		{"a setting is not explained away", finding("others", 0.3, "others", 13),
			finding("workers", 0.5, "num_workers", 14), true, 0.3},
		{"a wish is", finding("others", 0.3, "others", 13), finding("decoding", 0.5, "CPU time per batch", 20),
			false, 0.2},
		{"but not what would stay most of a step", finding("others", 0.6, "others", 13),
			finding("decoding", 0.5, "CPU time per batch", 60), true, 0.6},
	} {
		findings := []report.Finding{c.others, c.cause}
		rank(findings, rules)
		if leads := findings[0].Rule != "others"; leads != c.causeLeads || math.Abs(findings[1].Score-c.score) > 1e-9 {
			t.Errorf("%s: %q, the second with a score of %v, want %v", c.name, ids(findings), findings[1].Score,
				c.score)
		}
	}
}

// What surely brings more comes first, whatever is at stake; where ranges meet, or nothing is predicted, the score
// decides.
func TestWhatSurelyBringsMoreLeads(t *testing.T) {
	finding := func(rule string, score, lo, hi float64) report.Finding {
		f := report.Finding{Rule: rule, Score: score, Severity: Grade(score)}
		if hi > 0 {
			f.Recommendations = []report.Recommendation{{Effect: &report.Effect{Metric: "samples_per_s", Before: 100,
				After: lo, Lo: lo, Hi: hi}}}
		}
		return f
	}
	for _, c := range []struct {
		name     string
		findings []report.Finding
		want     []string
	}{
		{"what explains it, whatever a lower cost would bring", []report.Finding{
			finding("general", 0.9, 600, 700), finding("special", 0.5, 100, 490)}, []string{"special", "general"}},
		{"surely more", []report.Finding{finding("a", 0.9, 120, 490), finding("b", 0.8, 600, 1400)},
			[]string{"b", "a"}},
		{"more at both ends", []report.Finding{finding("a", 0.9, 120, 610), finding("b", 0.8, 600, 1400)},
			[]string{"b", "a"}},
		{"hardly more", []report.Finding{finding("a", 0.9, 120, 610), finding("b", 0.8, 122, 620)},
			[]string{"a", "b"}},
		{"not known", []report.Finding{finding("a", 0.9, 0, 0), finding("b", 0.8, 600, 1400)}, []string{"a", "b"}},
		{"of no weight", []report.Finding{finding("a", 0.9, 120, 490), finding("b", 0.01, 600, 1400)},
			[]string{"a", "b"}},
		{"surely something, where the other may bring nothing", []report.Finding{finding("a", 0.9, 100, 134),
			finding("b", 0.8, 108, 142)}, []string{"b", "a"}},
		{"surely something, but less at best", []report.Finding{finding("a", 0.9, 100, 240),
			finding("b", 0.8, 108, 142)}, []string{"a", "b"}},
		{"three", []report.Finding{finding("a", 0.9, 120, 130), finding("b", 0.8, 0, 0), finding("c", 0.7, 140, 150),
			finding("d", 0.6, 160, 170)}, []string{"b", "d", "c", "a"}},
	} {
		rules := map[string]*Rule{}
		for _, f := range c.findings {
			rules[f.Rule] = &Rule{ID: f.Rule}
			if f.Rule == "special" {
				rules[f.Rule].Explains = []string{"general"}
			}
		}
		rank(c.findings, rules)
		if got := ids(c.findings); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
