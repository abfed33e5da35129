package evidence

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/recording"
)

func TestStartTime(t *testing.T) {
	timed := &changeover{Changeover: recording.Changeover{Samples: 8, Running: 2}}
	for _, c := range []struct {
		name string
		r    restart
		want float64
	}{
		{"several", restart{births: []float64{1, 1.01, 1.02, 1.03}, first: 1.1}, 0.04},
		{"several that samples timed", restart{births: []float64{1, 1.02}, first: 1.1, timed: timed}, 0.04},
		{"of a second loader, later", restart{births: []float64{1, 1.02, 2.5}, first: 1.1}, 0.04},
		{"no more than all of it", restart{births: []float64{1, 1.09}, first: 1.1}, 0.14},
		{"one that samples timed", restart{births: []float64{1}, first: 1.1, timed: timed}, 0.035},
		{"one", restart{births: []float64{1}, first: 1.1}, math.NaN()},
	} {
		c.r.ended, c.r.born = 0.96, 1
		if got := c.r.startTime(); !(math.Abs(got-c.want) < 1e-9) && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %g s, want %g", c.name, got, c.want)
		}
	}
}
