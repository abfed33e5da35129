package evidence

import (
	"math"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// Figures of a benchmark are combined end to end of their intervals: wider than need be, never narrower.

// combined is a figure made of two others; absent where either is. It is measured where both are, and else of the
// weaker basis.
func combined(a, b Value, center, lo, hi float64) Value {
	if a.N == 0 || b.N == 0 {
		return Value{}
	}
	basis := a.Basis
	for _, weaker := range []metric.Basis{metric.Inferred, metric.Modelled, metric.Assumed} {
		if b.Basis == weaker || a.Basis == weaker {
			basis = weaker
		}
	}
	return Value{stat.Summary{Center: center, Lo: lo, Hi: hi, Confidence: min(a.Confidence, b.Confidence),
		N: min(a.N, b.N)}, basis}
}

// plus adds two times of which either may be missing.
func plus(a, b Value) Value {
	switch {
	case a.N == 0:
		return b
	case b.N == 0:
		return a
	}
	return combined(a, b, a.Center+b.Center, a.Lo+b.Lo, a.Hi+b.Hi)
}

// minus is a less b, at least 0.
func minus(a, b Value) Value {
	return combined(a, b, max(a.Center-b.Center, 0), max(a.Lo-b.Hi, 0), max(a.Hi-b.Lo, 0))
}

// product is a share of something: the interval of either carries over.
func product(a, b Value) Value { return combined(a, b, a.Center*b.Center, a.Lo*b.Lo, a.Hi*b.Hi) }

// vague is how far below its center an interval is followed when it divides: one that reaches down to 0 would give an
// infinity.
const vague = 0.1

// quotient is a over b; absent where b is zero.
func quotient(a, b Value) Value {
	if b.Center <= 0 {
		return Value{}
	}
	return combined(a, b, a.Center/b.Center, a.Lo/b.Hi, a.Hi/max(b.Lo, vague*b.Center))
}

// part is a over b where a is a part of b: within 0..1, whatever noise says.
func part(a, b Value) Value {
	v := quotient(a, b)
	v.Summary = clamped(v.Summary, math.Inf(-1), 1)
	return v
}

// saved is the share of before that after does not take; below 0 where it takes more.
func saved(before, after Value) Value {
	v := quotient(after, before)
	v.Center, v.Lo, v.Hi = 1-v.Center, 1-v.Hi, 1-v.Lo
	return v
}
