package evidence

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestWaitsForTheGlobalLock: of the time in which the main thread waits for Python's global lock it is not seen how
// much is part of taking a batch. A thread that pins batches may hold it, and would not if data were free.
func TestWaitsForTheGlobalLock(t *testing.T) {
	for _, c := range []struct {
		name           string
		pins           bool
		wait, lo, most float64 // the input wait, its upper end, and the headroom's
		headroom       float64
	}{
		{"a thread that pins", true, 0.1, 0.1, 0.3, 1 / (1 - 0.1 - 0.2)},
		{"none, and tensors of workers", false, 0.2, 0.1, 0.3, 1 / (1 - 0.2)},
	} {
		s := simulate(t, recording.Header{})
		s.trainer("100.1")
		s.bear("100.1", 1, 50)
		s.pins = c.pins
		s.run(30, moment{wait: 0.1, run: 0.7, gil: 0.2, idle: 0.5, work: 0.5, batches: 5, gpu: 0.1})
		e := s.evidence()
		wait, _ := e.Get(metric.InputWait)
		gil, _ := e.Get(metric.GILWait)
		head, _ := e.Get(metric.Headroom)
		if math.Abs(wait.Center-c.wait) > 0.011 || math.Abs(wait.Lo-c.lo) > 0.011 || math.Abs(wait.Hi-c.most) > 0.011 ||
			math.Abs(gil.Center-0.2) > 0.001 || math.Abs(head.Center-c.headroom) > 0.1 ||
			math.Abs(head.Hi-1/(1-0.1-0.2)) > 0.05 {
			t.Errorf("%s: wait %+v, lock %+v, headroom %+v", c.name, wait, gil, head)
		}
	}
}
