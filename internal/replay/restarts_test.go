package replay

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestShortEpochs is a loop of 20 steps of 20 ms an epoch, whose two workers are born again with each: it waited 15.4 %
// of its time for data, worked the rest, and made 43.3 batches/s with workers that persist. Samples timed how one set
// gave way to the next; the counters of the loader, told four times a second, put the wait into the epochs and advised
// a deeper queue.
func TestShortEpochs(t *testing.T) {
	const waited, came = 0.154, 43.3
	r := reportOf(t, must.Read(t, "../../testdata/recordings/restarts/short-epochs.jsonl.gz",
		must.Unzipped(recording.Read)))
	s := r.Verdict.Step
	if r.Verdict.Class != report.InputBound || r.Verdict.Rule != "loader/workers-restart" {
		t.Fatalf("%s, led by %q", r.Verdict.Class, r.Verdict.Rule)
	}
	if math.Abs(*s.InputWaitRatio-waited) > 0.03 || math.Abs(*s.DeviceRatio-(1-waited)) > 0.03 ||
		*s.EpochGapRatio < waited/2 {
		t.Errorf("waits %.3f, works %.3f, between epochs %.3f", *s.InputWaitRatio, *s.DeviceRatio, *s.EpochGapRatio)
	}
	advice := r.Findings[0].Recommendations[0]
	if e := advice.Effect; advice.Setting != "persistent_workers" || e == nil || came < e.Lo || came > e.Hi {
		t.Errorf("%s: %+v promised, %v came", advice.Setting, e, came)
	}
}
