package watched

import "github.com/pipetune/pipetune/internal/stat"

// Lengths is how long spans are.
func Lengths(spans []Span) []float64 {
	return stat.Each(len(spans), func(i int) float64 { return spans[i].Length() })
}

// Intersect returns, for each window, its part within s; it may be empty.
func Intersect(spans []Span, s Span) []Span {
	return stat.Each(len(spans), func(i int) Span { return spans[i].And(s) })
}

// Within is how much of a span lies in others; what several of them hold counts for each.
func (s Span) Within(others []Span) (total float64) {
	for _, o := range others {
		total += s.Overlap(o)
	}
	return total
}

// RateIn is how much of a counter grows in a second of parts of the windows. Processes are read twice a second, so that
// most readings hold some of the parts and some of the rest: it is taken to grow at one rate in the parts and at
// another outside, those that fit all readings best (least squares). False where the readings do not tell the two
// apart.
func (t *Track) RateIn(windows, parts []Span) (perSec float64, ok bool) {
	var ii, io, oo, ig, og, in, all float64
	for k, step := range t.Steps() {
		grown := t.V[k+1] - t.V[k]
		for _, w := range windows {
			seen := step.And(w)
			if grown < 0 || seen.Length() <= 0 {
				continue
			}
			g, inside := grown*seen.Length()/step.Length(), seen.Within(parts)
			outside := max(seen.Length()-inside, 0)
			ii, io, oo = ii+inside*inside, io+inside*outside, oo+outside*outside
			ig, og = ig+inside*g, og+outside*g
			in, all = in+inside, all+g
		}
	}
	det := ii*oo - io*io
	if in <= 0 || !(det > LeastApart*ii*oo) {
		return 0, false
	}
	return min(max((ig*oo-og*io)/det, 0), all/in), true
}

// LeastApart is 1 less the squared cosine between the time in the parts and the time outside, over the readings, from
// which on two rates are distinguished: where each reading holds as much of both, it is 0.
const LeastApart = 0.05
