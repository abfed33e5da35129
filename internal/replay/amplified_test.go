package replay

import (
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestReadsOfMuchMoreThanBatchesHold: for each item two workers go through a table of SQLite that has no index, or
// unpack a gzip file that they keep open, from its beginning. What came of an index, and of a file that is not
// compressed, is within what is promised, to 2 %.
func TestReadsOfMuchMoreThanBatchesHold(t *testing.T) {
	for name, came := range map[string]float64{"sqlite-attached": 92.5, "sqlite-launched": 8 * 92.5,
		"gzip-attached": 89.1, "gzip-launched": 8 * 89.1} {
		rec := must.Read(t, "../../testdata/recordings/amplified/"+name+".jsonl.gz", must.Unzipped(recording.Read))
		r := reportOf(t, rec)
		if r.Verdict.Class != report.InputBound || r.Verdict.Rule != "storage/read-amplification" {
			t.Errorf("%s: %s, led by %q", name, r.Verdict.Class, r.Verdict.Rule)
			continue
		}
		e := r.Findings[0].Recommendations[0].Effect
		if e == nil || came < 0.98*e.Lo || came > 1.02*e.Hi || e.Lo < 1.2*e.Before {
			t.Errorf("%s: %+v promised, %g came", name, e, came)
		}
	}
}
