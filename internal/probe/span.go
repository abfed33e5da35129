package probe

import (
	"slices"
	"time"
)

// span is a stretch of time that something is measured in: the run, a probe's part of it, one figure's part of that. It
// alone says what is left, how that is divided, how long a round should last and whether another one fits; all that
// measures asks it. It is a value: a part that ends early leaves the rest to what comes next.
type span struct {
	now  func() time.Time
	ends time.Time
}

func begin(now func() time.Time, takes time.Duration) span { return span{now, now().Add(takes)} }

// left is what remains, never less than nothing.
func (s span) left() time.Duration { return max(0, s.ends.Sub(s.now())) }

func (s span) part(share float64) span {
	return begin(s.now, time.Duration(share*float64(s.left())))
}

// among divides what is left, by weight: each call is the part of the next; what one leaves goes to those after it.
func (s span) among(weights ...float64) func() span {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	return func() span {
		w := weights[0]
		weights = weights[1:]
		p := s.part(w / total)
		total -= w
		return p
	}
}

// evenly is among for so many things alike.
func (s span) evenly(n int) func() span { return s.among(slices.Repeat([]float64{1}, n)...) }

const (
	wantedRounds = 30 // several times leastRounds, so that a part that falls short still gives an interval
	shortestPass = 5 * time.Millisecond
	longestPass  = time.Second
	// of processes that read together: in rounds of 5 ms two were told 40 to 80 % of their rate, in those of 30 and
	// 50 ms 101 to 104 % (33,600 items/s)
	shortestGroupPass = 40 * time.Millisecond
	warmUpShare       = 0.35 // of the time, for reading everything once, which brings it into the page cache
	longRound         = 0.1  // seconds: shorter rounds are begun whatever is left
)

// pass is how long a round should last of those that fill what is left.
func (s span) pass() time.Duration {
	return min(max(s.left()/(wantedRounds+1), shortestPass), longestPass)
}

// groupPass is how long a round of several processes should last, each with so much before it. Fewer and longer ones:
// processes begin up to a millisecond late, and one that waits for a CPU loses several.
func (s span) groupPass(lead time.Duration) time.Duration {
	return min(max(s.left()/(2*leastRounds)-lead, shortestGroupPass), longestPass)
}

// once is how long reading everything once may take, in seconds: a round's time at least.
func (s span) once() float64 { return max(s.left(), shortestPass).Seconds() }

// fits reports whether there is time for another round like one that took so many seconds. A short one always fits: a
// figure that takes milliseconds is worth more than they are.
func (s span) fits(took float64) bool { return took < longRound || s.left().Seconds() >= took }
