package replay

import (
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestSamplerThatTakesOfEachStep: a sampler computes 6 ms of each step in the main thread, in next(), and the step then
// sleeps 10 ms for its device. What it computes is no work of the step's own, whoever makes the batches.
func TestSamplerThatTakesOfEachStep(t *testing.T) {
	for _, workers := range []string{"none", "two"} {
		rec := must.Read(t, "../../testdata/recordings/sampler/"+workers+".jsonl.gz", must.Unzipped(recording.Read))
		r := reportOf(t, rec)
		if r.Verdict.Class != report.InputBound || r.Verdict.Rule != "loader/sampler-cost" {
			t.Errorf("%s: %s, led by %q", workers, r.Verdict.Class, r.Verdict.Rule)
		}
		if s := r.Verdict.Step; s.HostRatio == nil || *s.HostRatio > 0.05 || s.DeviceRatio == nil ||
			*s.DeviceRatio < 0.53 || *s.DeviceRatio > 0.63 {
			t.Errorf("%s: a step is %+v", workers, s)
		}
	}
}
