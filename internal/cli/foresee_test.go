package cli

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/predict"
)

// evidenceOf is what a recording amounts to.
func evidenceOf(t *testing.T, path string) *evidence.Evidence {
	t.Helper()
	e, err := evidence.FromRecording(readRecording(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// What is foreseen of the loader as it is, is what the report tells of it; and it is widened by the model's own error.
func TestForeseenIsWhatReportsTell(t *testing.T) {
	const path = "../../testdata/recordings/launched-no-workers.jsonl"
	r, e := judged(t, path), evidenceOf(t, path)
	none, err := diagnose.Foresee(e, predict.Calibration{}, predict.Setting{}, predict.Setting{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	perStep := r.Metrics["samples_per_s"].Center / r.Metrics["batches_per_s"].Center
	if got, want := none[0].Told.Center*perStep, r.Outlook.Now.After; math.Abs(got/want-1) > 1e-3 {
		t.Errorf("%g samples/s are foreseen of the loader as it is, the report tells %g", got, want)
	}
	wide, err := diagnose.Foresee(e, predict.Calibration{NewPrograms: 0.3, Other: 0.3}, predict.Setting{}, predict.Setting{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := none[1].Told, wide[1].Told; !(b.Lo < a.Lo*0.9 && b.Hi >= a.Hi && a.Center == b.Center) {
		t.Errorf("an error of the model of 30 %% makes %+v of %+v", b, a)
	}
}

func TestNothingIsForeseenWithoutARate(t *testing.T) {
	if out, err := diagnose.Foresee(evidenceOf(t, "../../testdata/recordings/no-workers.jsonl"), predict.Calibration{}, predict.Setting{Workers: 2}); err == nil {
		t.Errorf("foreseen from batches that could not be counted: %+v", out)
	}
}
