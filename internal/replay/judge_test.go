package replay

import (
	"os"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/pkg/report"
)

func readRecording(t *testing.T, path string) *recording.Recording {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := recording.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func evidenceOf(t *testing.T, path string) *evidence.Evidence {
	t.Helper()
	e, err := evidence.FromRecording(readRecording(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// judged is the report on a recording, as `pipetune report` makes it.
func judged(t *testing.T, path string) *report.Report {
	t.Helper()
	return diagnose.Run(evidenceOf(t, path), rules.All())
}
