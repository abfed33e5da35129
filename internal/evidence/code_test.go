package evidence

import (
	"math"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestCode: a worker's samples by library, of its own trainer, where they are enough and the kernel's are known.
func TestCode(t *testing.T) {
	for _, c := range []struct {
		each  float64 // of a tick
		other string  // what is neither zlib nor Python
		want  []Code
	}{
		{10, metric.CodeKernel, []Code{{Library: "libz", Share: 0.6}, {Library: metric.CodePython, Share: 0.3},
			{Library: metric.CodeKernel, Share: 0.1}}},
		{10, metric.CodeOther, nil},
		{0.5, metric.CodeKernel, nil},
	} {
		s := withWorkers(t, 2, recording.Header{})
		s.remote = func(float64) {
			s.count(metric.WorkerCode, "code/100.1.libz", 0.6*c.each)
			s.count(metric.WorkerCode, "code/100.1."+metric.CodePython, 0.3*c.each)
			s.count(metric.WorkerCode, "code/100.1."+c.other, 0.1*c.each)
			s.count(metric.WorkerCode, "code/100.12.libjpeg", 5*c.each)
		}
		s.run(30, inputBound)
		got := s.evidence().Facts.Code
		for i := range got {
			got[i].Share = math.Round(got[i].Share*1e6) / 1e6
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%g samples a tick, also of %s: %+v", c.each, c.other, got)
		}
	}
}
