package diagnose

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// rank orders findings by what is at stake. What special causes explain is taken off the general ones first.
func rank(findings []report.Finding, rules map[string]*Rule) {
	own := map[string]float64{}
	for _, f := range findings {
		own[f.Rule] = max(own[f.Rule], f.Score)
	}
	for i := range findings {
		f, explained := &findings[i], 0.0
		for special, score := range own {
			if slices.Contains(rules[special].Explains, f.Rule) {
				explained = max(explained, score)
			}
		}
		if explained > 0 {
			f.Score = max(0, f.Score-explained)
			f.Severity = milder(f.Severity, Grade(f.Score))
		}
	}
	slices.SortStableFunc(findings, func(a, b report.Finding) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(gravity(b.Severity), gravity(a.Severity)),
			cmp.Compare(a.Rule, b.Rule))
	})
}

func milder(a, b report.Severity) report.Severity {
	if gravity(a) < gravity(b) {
		return a
	}
	return b
}

func gravity(s report.Severity) int {
	return slices.Index([]report.Severity{report.Info, report.Warning, report.Error}, s)
}

// callSettings are the arguments of a DataLoader that rules recommend values for.
var callSettings = map[string]bool{"num_workers": true, "prefetch_factor": true, "persistent_workers": true,
	"pin_memory": true, "batch_size": true,
	"in_order": true, "multiprocessing_context": true, "collate_fn": true}

// locate gives a finding that recommends an argument of the training loop's DataLoader the place of that call, where
// the hook told it. A place that the rule itself knows stands.
func locate(e *evidence.Evidence, f *report.Finding) {
	h := e.Facts.Hook
	if f.Location != nil || h == nil || h.Loader.File == "" || h.Loader.Line < 1 {
		return
	}
	for _, c := range f.Recommendations {
		if callSettings[c.Setting] {
			f.Location = &report.Location{File: h.Loader.File, Line: h.Loader.Line}
			return
		}
	}
}
