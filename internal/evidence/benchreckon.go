package evidence

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// Figures of a benchmark are combined end to end of their intervals: wider than need be, never narrower. A result is measured where both
// figures were, and inferred from the weaker otherwise.

// plus adds two times of which either may be missing.
func plus(a, b Value) Value {
	switch {
	case a.N == 0:
		return b
	case b.N == 0:
		return a
	}
	return Value{stat.Summary{Center: a.Center + b.Center, Lo: a.Lo + b.Lo, Hi: a.Hi + b.Hi, Confidence: min(a.Confidence, b.Confidence), N: min(a.N, b.N)}, weaker(a, b)}
}

// vague is how far below its center an interval is followed when it divides: one that reaches down to 0 would give an infinity.
const vague = 0.1

// quotient is a over b; the zero Value where either is missing or b is zero.
func quotient(a, b Value) Value {
	if a.N == 0 || b.N == 0 || b.Center <= 0 {
		return Value{}
	}
	return Value{stat.Summary{Center: a.Center / b.Center, Lo: a.Lo / b.Hi, Hi: a.Hi / max(b.Lo, vague*b.Center), Confidence: min(a.Confidence, b.Confidence), N: min(a.N, b.N)}, weaker(a, b)}
}

// product is a share of something: the interval of either carries over.
func product(a, b Value) Value {
	return Value{stat.Summary{Center: a.Center * b.Center, Lo: a.Lo * b.Lo, Hi: a.Hi * b.Hi, Confidence: min(a.Confidence, b.Confidence), N: min(a.N, b.N)}, weaker(a, b)}
}

// part is a over b where a is a part of b: within 0..1, whatever noise says.
func part(a, b Value) Value {
	v := quotient(a, b)
	v.Center, v.Lo, v.Hi = min(v.Center, 1), min(v.Lo, 1), min(v.Hi, 1)
	return v
}

// saved is the share of before that after does not take; below 0 where it takes more.
func saved(before, after Value) Value {
	v := quotient(after, before)
	v.Center, v.Lo, v.Hi = 1-v.Center, 1-v.Hi, 1-v.Lo
	return v
}

// notBelow cuts a share off at 0: what is not there to save.
func notBelow(v Value) Value {
	v.Center, v.Lo, v.Hi = max(v.Center, 0), max(v.Lo, 0), max(v.Hi, 0)
	return v
}

func weaker(a, b Value) metric.Basis {
	for _, basis := range []metric.Basis{metric.Assumed, metric.Modelled, metric.Inferred} {
		if a.Basis == basis || b.Basis == basis {
			return basis
		}
	}
	return metric.Measured
}
