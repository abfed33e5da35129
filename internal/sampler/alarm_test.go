package sampler

import (
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// TestAlarmWakesAndEnds: each wait lasts what was asked for, and one under way ends when the alarm is closed.
func TestAlarmWakesAndEnds(t *testing.T) {
	a := must.Get(newAlarm())(t)
	for _, d := range []time.Duration{-time.Second, 0, time.Millisecond, 20 * time.Millisecond} {
		began := time.Now()
		if !a.wait(d) {
			t.Fatalf("a wait of %v ends the alarm", d)
		}
		if took := time.Since(began); took < d {
			t.Errorf("a wait of %v took %v", d, took)
		}
	}
	if n := testing.AllocsPerRun(100, func() { a.wait(0) }); n != 0 {
		t.Errorf("a wait allocates %v times", n)
	}
	ended := make(chan bool)
	go func() { ended <- a.wait(time.Hour) }()
	must.Do(t, a.close())
	if <-ended || a.wait(0) {
		t.Error("a closed alarm goes on")
	}
}
