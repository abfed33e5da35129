// Package stat summarises readings: medians and ratios with intervals, comparisons with p-values, and the steady
// window.
//
// It promises deterministic results (resampling is seeded) and refuses to hide thin data: a summary carries its n, and
// no interval where none could be had.
package stat

import (
	"math"
	"slices"
)

// Summary is a figure with its interval. The zero value is no figure; use N or a separate bool to tell.
type Summary struct {
	Center     float64
	Lo, Hi     float64 // equal to Center where no interval could be had
	Confidence float64 // of the interval, 0..1; 0 where there is none
	N          int     // independent windows or readings behind it
}

// Scaled multiplies a figure and its interval by a positive factor.
func (s Summary) Scaled(factor float64) Summary {
	s.Center, s.Lo, s.Hi = s.Center*factor, s.Lo*factor, s.Hi*factor
	return s
}

// Exact is a figure that was read off, not sampled: a setting, a size, a count.
func Exact(x float64) Summary { return Summary{Center: x, Lo: x, Hi: x, Confidence: 1, N: 1} }

// Finite reports whether all of xs are numbers that can be reckoned with: neither NaN nor an infinity.
func Finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// Share forces a share into 0..1: noise carries quotients slightly outside, and what is no number is nothing.
func Share(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}

// keepFinite returns a new slice of the finite values of xs, in order. What samplers could not read is no reading.
func keepFinite(xs []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(xs), func(x float64) bool { return !Finite(x) })
}
