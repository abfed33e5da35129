package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// checkUnhelpful holds a finding to saying what will not help as data as well as in words: a plan that reads no prose
// must be able to keep to it.
func checkUnhelpful(t *testing.T, f report.Finding) {
	t.Helper()
	for _, line := range f.WontHelp {
		named := map[string]bool{}
		for _, u := range f.Unhelpful {
			if u.Why == line {
				named[u.Setting] = true
			}
		}
		if len(named) == 0 {
			t.Errorf("%s says in words only: %s", f.Rule, line)
		}
		said, _, _ := strings.Cut(line, ":")
		for words, setting := range map[string]string{"more workers": "num_workers",
			"prefetch_factor": "prefetch_factor", "persistent_workers": "persistent_workers",
			"batch size": "batch_size"} {
			if strings.Contains(said, words) && !strings.Contains(said, "evaluation's loader") && !named[setting] {
				t.Errorf("%s names %s in words and not as data: %s", f.Rule, setting, line)
			}
		}
	}
	for _, u := range f.Unhelpful {
		if !slices.Contains(f.WontHelp, u.Why) {
			t.Errorf("%s says of %s as data only what will not help", f.Rule, u.Setting)
		}
	}
}
