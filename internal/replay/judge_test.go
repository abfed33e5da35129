package replay

import (
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/pkg/report"
)

func readRecording(t *testing.T, path string) *recording.Recording {
	t.Helper()
	return must.Read(t, path, recording.Read)
}

// zipped reads a recording that is kept compressed, by its name below testdata/recordings.
func zipped(t *testing.T, name string) *recording.Recording {
	t.Helper()
	return must.Read(t, "../../testdata/recordings/"+name+".jsonl.gz", must.Unzipped(recording.Read))
}

func evidenceOf(t *testing.T, path string) *evidence.Evidence {
	t.Helper()
	return must.Get(evidence.FromRecording(readRecording(t, path)))(t)
}

// judged is the report on a recording, as `pipetune report` makes it.
func judged(t *testing.T, path string) *report.Report {
	t.Helper()
	return reportOf(t, readRecording(t, path))
}

func reportOf(t *testing.T, rec *recording.Recording) *report.Report {
	t.Helper()
	return diagnose.Run(must.Get(evidence.FromRecording(rec))(t), rules.All())
}
