package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// What rules say will not help is data as well as words: a plan that reads no prose must be able to keep to it. Each
// case of each rule is asked.
func TestWhatWillNotHelpIsData(t *testing.T) {
	asked := 0
	for _, r := range All() {
		for _, half := range []func(*diagnose.Rule, *evidence.Evidence) ([]report.Finding,
			[]report.Abstained){diagnose.Judge, diagnose.JudgeMeasured} {
			archive := must.Get(txtar.ParseFile(caseFile(r)))(t)
			for _, file := range archive.Files {
				c := must.Get(parseCase(string(file.Data)))(t)
				findings, _ := half(&r, c.evidence)
				for _, f := range findings {
					asked += len(f.WontHelp)
					checkUnhelpful(t, f)
				}
			}
		}
	}
	if asked < 30 {
		t.Errorf("only %d lines of what will not help in all cases", asked)
	}
}

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
