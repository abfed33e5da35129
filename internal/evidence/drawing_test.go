package evidence

import (
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestDrawing has two workers that are ahead hold four batches or fewer, from one reading to the next.
func TestDrawing(t *testing.T) {
	for name, c := range map[string]struct {
		held        []float64 // batches, in turn
		rate        float64   // batches per second
		lo, mid, hi float64   // share of time in which indices are drawn; -1: absent
	}{
		"always full":          {[]float64{4}, 5, -1, -1, -1},
		"a batch less, 40 %":   {[]float64{4, 3, 4, 3, 4}, 5, 0, 0.355, 0.525},
		"faster than a switch": {[]float64{4, 3, 4, 3, 4}, 100, 0, 0, 0.525},
		"one of two shards ends": {slices.Concat(slices.Repeat([]float64{4}, 36), slices.Repeat([]float64{3}, 24)), 5,
			-1, -1, -1},
		"epochs that end": {[]float64{4, 4, 3, 2, 1, 0}, 5, -1, -1, -1},
		"once in a while": {[]float64{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3}, 5, -1, -1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoWorkers(t, recording.Header{})
			m := moment{wait: 0.02, run: 0.6, asleep: 0.38, idle: 0.99, work: 0.01, ahead: 0.96, batches: c.rate}
			for i := range 300 {
				m.queued = s.tensors * c.held[i%len(c.held)]
				s.run(0.1, m)
			}
			e := s.evidence()
			v, ok := e.Get(metric.DrawTime)
			if ok != (c.mid >= 0) {
				t.Fatalf("drawing %+v, %v", v, ok)
			}
			if ok && (!roughly(v.Lo*c.rate, c.lo) || !roughly(v.Center*c.rate, c.mid) || !roughly(v.Hi*c.rate, c.hi)) {
				t.Errorf("draws %.3f (%.3f to %.3f) of the time", v.Center*c.rate, v.Lo*c.rate, v.Hi*c.rate)
			}
			wait, _ := e.Get(metric.InputWait)
			if wide := wait.Hi > 0.4; wide != ok {
				t.Errorf("waits %+v", wait.Summary)
			}
		})
	}
}

func roughly(got, want float64) bool { return got > want-0.02 && got < want+0.02 }
