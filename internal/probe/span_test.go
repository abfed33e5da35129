package probe

import (
	"testing"
	"time"
)

// What one thing leaves of its part goes to those after it, and what it takes too much is theirs to miss.
func TestSpanIsDivided(t *testing.T) {
	now := time.Unix(0, 0)
	s := begin(func() time.Time { return now }, 10*time.Second)
	part := s.among(1, 1, 3)
	for _, c := range []struct{ takes, want time.Duration }{{0, 2 * time.Second},
		{4 * time.Second, 2500 * time.Millisecond}, {9 * time.Second, 6 * time.Second}} {
		if p := part(); p.left() != c.want {
			t.Errorf("a part of %v, want %v", p.left(), c.want)
		}
		now = now.Add(c.takes)
	}
	if s.left() != 0 || s.part(0.5).left() != 0 {
		t.Errorf("%v left after the end", s.left())
	}
}

// A long round is begun only where it fits; a short one always is.
func TestSpanFits(t *testing.T) {
	now := time.Unix(0, 0)
	s := begin(func() time.Time { return now }, time.Second)
	if !s.fits(1) || s.fits(1.1) || !s.fits(0.09) {
		t.Error("of a second, one of a second fits")
	}
	now = now.Add(time.Minute)
	if !s.fits(0.09) || s.fits(0.2) {
		t.Error("after the end, a short one fits alone")
	}
}

func TestSpanMakesRounds(t *testing.T) {
	for takes, want := range map[time.Duration]time.Duration{0: shortestPass, 31 * time.Second: time.Second,
		time.Hour: longestPass, 310 * time.Millisecond: 10 * time.Millisecond} {
		at := time.Unix(0, 0)
		if got := begin(func() time.Time { return at }, takes).pass(); got != want {
			t.Errorf("of %v: %v, want %v", takes, got, want)
		}
	}
}
