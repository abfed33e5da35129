package evidence

import (
	"math"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
)

// TestWholeEpochs lets sets of workers come and go, each for so many seconds, and asks which stretch is judged.
func TestWholeEpochs(t *testing.T) {
	const none = 0
	for name, c := range map[string]struct {
		sets     []float64
		unseen   bool // 3 s of the third set
		epochs   int
		from, to float64
	}{
		"of one length":                          {[]float64{4, 8, 8, 8, 2}, false, 3, 4, 28},
		"training and evaluations in turns":      {[]float64{10, 4, 10, 4, 2}, false, none, 0, 30},
		"an evaluation between two":              {[]float64{10, 6, 14}, false, none, 0, 30},
		"less than a third would be left":        {[]float64{12, 8, 20}, false, none, 0, 40},
		"one alone, seen from outside":           {[]float64{6, 16, 8}, false, none, 0, 30},
		"too little is left of it that was seen": {[]float64{2, 3, 4, 1}, true, none, 0, 10},
		"many at the beginning":                  {[]float64{0.5, 0.5, 0.5, 0.5, 8}, false, none, 0, 10},
	} {
		t.Run(name, func(t *testing.T) {
			s := withWorkers(t, 0, recording.Header{})
			for i, seconds := range c.sets {
				s.bear("100.1", 2, 0)
				if c.unseen && i == 2 {
					s.gap(3)
					seconds -= 3
				}
				s.run(seconds, inputBound)
				s.bury("100.1")
			}
			e := s.evidence()
			near := func(at time.Duration, want float64) bool { return math.Abs(at.Seconds()-want) < 0.15 }
			if w := e.Window; w.Epochs != c.epochs || !near(w.Start, c.from) || !near(w.End, c.to) {
				t.Errorf("%d epochs from %v to %v, want %d from %v to %v", w.Epochs, w.Start, w.End, c.epochs,
					c.from, c.to)
			}
		})
	}
}
