package rules

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// judgedCase is the one finding of a case of a rule.
func judgedCase(t *testing.T, rule diagnose.Rule, name string) report.Finding {
	t.Helper()
	archive := must.Get(txtar.ParseFile(caseFile(rule)))(t)
	for _, part := range archive.Files {
		if part.Name != name {
			continue
		}
		c := must.Get(parseCase(string(part.Data)))(t)
		findings, _ := diagnose.JudgeMeasured(&rule, c.evidence)
		if len(findings) != 1 {
			t.Fatalf("%d findings", len(findings))
		}
		return findings[0]
	}
	t.Fatal(os.ErrNotExist)
	return report.Finding{}
}

// A layout that --try measured is reported with its own figure and its own command, which names the person's file.
func TestTriedLayoutsAreNotMixed(t *testing.T) {
	c := judgedCase(t, hdf5FilterCPU, "measured-fires-by-the-layout-of-the-command").Recommendations[0]
	if c.Effect == nil || c.Effect.After < 5000 || c.Effect.After > 5500 {
		t.Errorf("an item takes 190 µs with the same chunks and no filter, and %+v is told", c.Effect)
	}
	if c.Command != "h5repack -f images:NONE '/data/my train.h5' '/data/my train-new.h5'" {
		t.Error(c.Command)
	}
}
