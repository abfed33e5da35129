package stat

import (
	"math"
	"slices"
)

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
