package evidence

import "github.com/pipetune/pipetune/internal/stat"

// lengths is how long spans are.
func lengths(spans []span) []float64 {
	return stat.Each(len(spans), func(i int) float64 { return spans[i].length() })
}

// intersect returns, for each window, its part within s; it may be empty.
func intersect(spans []span, s span) []span {
	return stat.Each(len(spans), func(i int) span { return spans[i].and(s) })
}

// within is how much of a span lies in any of others, which do not overlap each other.
func (s span) within(others []span) (total float64) {
	for _, o := range others {
		total += s.overlap(o)
	}
	return total
}

// rateIn is how much of a counter grows in a second of parts of the windows. Processes are read twice a second, so that
// most readings hold some of the parts and some of the rest: it is taken to grow at one rate in the parts and at
// another outside, those that fit all readings best (least squares). False where the readings do not tell the two
// apart.
func (t *track) rateIn(windows, parts []span) (perSec float64, ok bool) {
	var ii, io, oo, ig, og, in, all float64
	for k, step := range t.steps() {
		grown := t.v[k+1] - t.v[k]
		for _, w := range windows {
			seen := step.and(w)
			if grown < 0 || seen.length() <= 0 {
				continue
			}
			g, inside := grown*seen.length()/step.length(), seen.within(parts)
			outside := max(seen.length()-inside, 0)
			ii, io, oo = ii+inside*inside, io+inside*outside, oo+outside*outside
			ig, og = ig+inside*g, og+outside*g
			in, all = in+inside, all+g
		}
	}
	det := ii*oo - io*io
	if in <= 0 || !(det > leastApart*ii*oo) {
		return 0, false
	}
	return min(max((ig*oo-og*io)/det, 0), all/in), true
}

// leastApart is 1 less the squared cosine between the time in the parts and the time outside, over the readings, from
// which on two rates are distinguished: where each reading holds as much of both, it is 0.
const leastApart = 0.05
