package recording

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

// TestASnapshotStaysWhatItWas whatever is recorded after it.
func TestASnapshotStaysWhatItWas(t *testing.T) {
	r := must.Get(NewRecorder(Header{}, nil))(t)
	for i := range 3 {
		r.Tick(time.Duration(i) * time.Second)
		r.Add(metric.GPUUtil, "gpu/0", float64(i))
	}
	r.Event(EventGap, "", nil)
	s := r.Snapshot()
	want := &Recording{Header: s.Header, Events: []Event{{At: 2 * time.Second, Kind: EventGap}},
		Series: []Series{{Metric: metric.GPUUtil.Name, Entity: "gpu/0", Points: []Point{{0, 0}, {time.Second, 1},
			{2 * time.Second, 2}}}}}
	for i := range 100 {
		r.Tick(time.Duration(3+i) * time.Second)
		r.Add(metric.GPUUtil, "gpu/0", -1)
		r.Add(metric.GPUUtil, "gpu/1", -1)
		r.Event(EventGap, "", nil)
		r.Unseen("x", "", "y", "")
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
