package replay

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/predict"
)

// What the model says of the loader as it is, is what the report reports it; and it is widened by the model's own
// error.
func TestModelSaysWhatReportsTell(t *testing.T) {
	const path = "../../testdata/recordings/launched-no-workers.jsonl"
	r, e := judged(t, path), evidenceOf(t, path)
	exact, why := diagnose.PlannedLoader(e, predict.Calibration{})
	wide, why2 := diagnose.PlannedLoader(e, predict.Calibration{Model: 0.3})
	if why != nil || why2 != nil {
		t.Fatal(why, why2)
	}
	if _, now, ok := exact.Predict(predict.Setting{}, predict.Remedy{}); !ok ||
		math.Abs(now.After/r.Outlook.Now.After-1) > 1e-3 {
		t.Errorf("the model has %+v of the loader as it is, the report %+v", now, r.Outlook.Now)
	}
	_, a, _ := exact.Predict(predict.Setting{Workers: 2}, predict.Remedy{})
	if _, b, _ := wide.Predict(predict.Setting{Workers: 2}, predict.Remedy{}); !(b.Lo < a.Lo*0.9 && b.Hi >= a.Hi &&
		a.After == b.After) {
		t.Errorf("an error of the model of 30 %% makes %+v of %+v", b, a)
	}
}

func TestNoPlansWithoutARate(t *testing.T) {
	if l, why := diagnose.PlannedLoader(evidenceOf(t, "../../testdata/recordings/no-workers.jsonl"),
		predict.Calibration{}); why == nil {
		t.Errorf("planned from batches that could not be counted: %+v", l)
	}
}
