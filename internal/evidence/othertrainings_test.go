package evidence

import (
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestTrainersInTurnAreNoRanks: of two trainings one after the other the longer one is reported, whichever waits more;
// two beside each other are ranks.
func TestTrainersInTurnAreNoRanks(t *testing.T) {
	short, long := moment{wait: 0.9, run: 0.1, gpu: -1, batches: 10}, moment{wait: 0.2, run: 0.8, gpu: -1, batches: 20}
	for _, c := range []struct {
		name        string
		longFirst   bool
		says        string
		from, until float64
	}{{"the second is longer", false, "1 ran before and 0 after", 12, 42}, {"the first is longer", true,
		"0 ran before and 1 after", 0, 30}} {
		s := simulate(t, recording.Header{})
		play := func(id string, seconds float64, m moment) {
			s.trainer(id)
			s.bear(id, 2, 0)
			s.run(seconds, m, id)
			s.bury(id)
			s.r.Event(recording.EventExit, "process/"+id, nil)
		}
		if c.longFirst {
			play("200.1", 30, long)
			play("100.1", 12, short)
		} else {
			play("100.1", 12, short)
			play("200.1", 30, long)
		}
		e := s.evidence()
		sound(t, e)
		near(t, e, 0.05, map[metric.Desc]float64{metric.InputWait: 0.2, metric.BatchesPerS: 20, metric.Ranks: 1})
		if len(e.Ranks) != 1 || e.Ranks[0].PID != 200 || e.Window.Start.Seconds() < c.from ||
			e.Window.End.Seconds() > c.until+1 {
			t.Errorf("%s: ranks %+v, window %+v", c.name, e.Ranks, e.Window)
		}
		if !warned(e, c.says) || !warned(e, "pid 200") {
			t.Errorf("%s: warned %q", c.name, e.Warnings)
		}
	}
	s := simulate(t, recording.Header{})
	s.trainer("100.1")
	s.trainer("200.1")
	s.bear("100.1", 2, 0)
	s.bear("200.1", 2, 0)
	s.run(30, long, "100.1", "200.1")
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.Ranks: 2})
	if warned(e, "one after the other") {
		t.Errorf("ranks: warned %q", e.Warnings)
	}
}
