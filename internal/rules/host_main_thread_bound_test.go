package rules

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/must"
)

// No more is promised of the main thread's work than the device leaves of a step, evaluations apart; nothing where a
// step's own part is not known.
func TestHostWorkBesideEvaluations(t *testing.T) {
	const job = `signal num_workers 2
signal input_wait_ratio 0.05
signal data_stall_ratio 0.03
signal host_ratio 0.6
signal main_run_delay_ratio 0
signal gpu_busy_ratio 0.3
signal samples_per_s 500
signal batches_per_s 30
signal step_time_s 0.033
signal evaluation_ratio 0.7
signal window_s 20
`
	for _, c := range []struct {
		device string
		mixed  bool
		most   float64 // samples/s; 0: no prediction
	}{{"0.3", false, 500 / 0.4}, {"0.55", false, 500 / 0.55}, {"0.3", true, 0}} {
		e := must.Get(parseCase(job + "signal device_ratio " + c.device + "\n"))(t).evidence
		e.Facts.Hook = &evidence.Hook{Evaluating: evidence.Evaluating{Mixed: c.mixed}}
		findings, _ := diagnose.Judge(&hostMainThreadBound, e)
		if len(findings) != 1 {
			t.Fatalf("%+v: %+v", c, findings)
		}
		f := findings[0]
		to := f.Recommendations[0]
		if c.most == 0 {
			if to.Effect != nil || to.From != nil || !strings.Contains(f.Summary, "evaluation's is not known") {
				t.Errorf("%+v: %+v", c, f)
			}
			continue
		}
		if to.Effect == nil || to.From == nil || to.Effect.Hi > 1.001*c.most {
			t.Errorf("%+v: %+v", c, to.Effect)
		}
	}
}
