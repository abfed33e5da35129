package probe

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/must"
)

// What is rewritten is measured as the sample is: the rows of both probes come from reads.
func TestRewrittenSamplesAreMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.h5")
	must.Python(t, "-c", compressed(56), path)
	sample, access := surveyed(t, path)
	s := testSession(t, sample, Options{Layout: access, Try: true, Scratch: t.TempDir(), Other: t.TempDir()})
	s.time = begin(s.clock, time.Second)
	must.Do(t, try(t.Context(), s))
	s.time = begin(s.clock, time.Second)
	must.Do(t, measureOtherPlace(t.Context(), s))
	measured := func(r benchmark.Read) bool { return r.Time.N > 0 && r.Order == random && r.Bytes.Center == 56*56*4 }
	for _, c := range s.result.Rows.Tried {
		if !measured(c.Warm) || c.Warm.Cache != warm || c.Cold.Time.N > 0 && c.Cold.Cache != cachesDropped {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
	for _, place := range s.result.Rows.Tiers {
		if !measured(place.Warm) {
			t.Errorf("%s: %+v", place.Place, place)
		}
	}
	if len(s.result.Rows.Tried) != 5 || len(s.result.Rows.Tiers) != 2 || len(s.result.Abstained) != 0 ||
		s.options.Key != "" {
		t.Errorf("%d layouts, %d places, %+v", len(s.result.Rows.Tried), len(s.result.Rows.Tiers), s.result.Abstained)
	}
}
