package replay

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestWorkersThatWaitForTheirThreads: two workers read a Parquet file for each item, by PyArrow's pool of threads, on
// two CPUs. The model of the loader makes what was seen, reading again leads, and what was measured after either change
// is in what they promise: 68.5 batches/s of 16 with the table kept, 12.4 with OMP_NUM_THREADS=1.
func TestWorkersThatWaitForTheirThreads(t *testing.T) {
	for _, c := range []struct {
		name string
		unit float64 // of a batch
	}{{"attached", 1}, {"launched", 16}} {
		rec := must.Read(t, "../../testdata/recordings/threads/"+c.name+".jsonl.gz", must.Unzipped(recording.Read))
		r := reportOf(t, rec)
		if r.Verdict.Class != report.InputBound || r.Verdict.Rule != "storage/chunk-read-again" {
			t.Errorf("%s: %s, led by %q", c.name, r.Verdict.Class, r.Verdict.Rule)
		}
		for _, doubt := range r.Verdict.Doubts {
			if strings.Contains(doubt, "the model makes") {
				t.Errorf("%s: %s", c.name, doubt)
			}
		}
		after := map[string]float64{"opening the data file": 68.5, "threads per worker": 12.4}
		for _, f := range r.Findings {
			for _, advice := range f.Recommendations {
				rate, measured := after[advice.Setting]
				if !measured {
					continue
				}
				delete(after, advice.Setting)
				rate *= c.unit
				if e := advice.Effect; e == nil || rate < e.Lo || rate > e.Hi || e.Lo < 0.95*e.Before {
					t.Errorf("%s: %s brings %+v, measured %g", c.name, advice.Setting, e, rate)
				}
			}
		}
		if len(after) > 0 {
			t.Errorf("%s: not recommended: %v", c.name, after)
		}
	}
}
