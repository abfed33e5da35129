package stat

import (
	"math"
	"slices"
)

// finite reports whether x is a number that can be reckoned with.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Finite reports whether all of xs are numbers that can be reckoned with: neither NaN nor an infinity.
func Finite(xs ...float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return !finite(x) })
}

// keepFinite returns a new slice of the finite values of xs, in order. What samplers could not read is no reading.
func keepFinite(xs []float64) []float64 {
	out := make([]float64, 0, len(xs))
	for _, x := range xs {
		if finite(x) {
			out = append(out, x)
		}
	}
	return out
}
