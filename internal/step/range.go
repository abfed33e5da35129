package step

import "github.com/pipetune/pipetune/internal/stat"

// Range is what is known of a figure: it lies between Lo and Hi, most likely at Likely. A range is no noise: where its
// ends differ, what was seen allows every value between them. The zero Range is the figure 0.
type Range struct{ Lo, Likely, Hi float64 }

// Share is a range within 0..1, its ends in order around Likely.
func Share(lo, likely, hi float64) Range {
	lo, hi = stat.Share(lo), stat.Share(hi)
	if lo > hi {
		lo, hi = hi, lo
	}
	return Range{lo, min(max(likely, lo), hi), hi}
}

// Width is how far the ends are apart.
func (r Range) Width() float64 { return r.Hi - r.Lo }

// rest is what a share leaves of 1.
func (r Range) rest() Range { return Range{1 - r.Hi, 1 - r.Likely, 1 - r.Lo} }

func (r Range) plus(o Range) Range { return Range{r.Lo + o.Lo, r.Likely + o.Likely, r.Hi + o.Hi} }

// Minus subtracts a figure that is a part of this one: it stays at least 0.
func (r Range) Minus(o Range) Range {
	return Range{max(r.Lo-o.Hi, 0), max(r.Likely-o.Likely, 0), max(r.Hi-o.Lo, 0)}
}

// within is as much of a figure as fits into another one, end by end.
func (r Range) within(o Range) Range {
	return Range{min(r.Lo, o.Lo), min(r.Likely, o.Likely), min(r.Hi, o.Hi)}
}

// atMost holds all of a range to a ceiling.
func (r Range) atMost(x float64) Range { return Range{min(r.Lo, x), min(r.Likely, x), min(r.Hi, x)} }
