package watched

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/recording"
)

func TestStartTime(t *testing.T) {
	timed := &changeover{Changeover: recording.Changeover{Samples: 8, Running: 2}}
	for _, c := range []struct {
		name string
		r    Restart
		want float64
	}{
		{"several", Restart{births: []float64{1, 1.01, 1.02, 1.03}, First: 1.1}, 0.04},
		{"several that samples timed", Restart{births: []float64{1, 1.02}, First: 1.1, timed: timed}, 0.04},
		{"of a second loader, later", Restart{births: []float64{1, 1.02, 2.5}, First: 1.1}, 0.04},
		{"no more than all of it", Restart{births: []float64{1, 1.09}, First: 1.1}, 0.14},
		{"one that samples timed", Restart{births: []float64{1}, First: 1.1, timed: timed}, 0.035},
		{"one", Restart{births: []float64{1}, First: 1.1}, math.NaN()},
	} {
		c.r.Ended, c.r.Born = 0.96, 1
		if got := c.r.StartTime(); !(math.Abs(got-c.want) < 1e-9) && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %g s, want %g", c.name, got, c.want)
		}
	}
}
