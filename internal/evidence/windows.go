package evidence

import (
	"math"

	"github.com/pipetune/pipetune/internal/stat"
)

// Arithmetic of what windows have each, and of figures that may be missing.

// add adds xs to sums, window by window.
func add(sums, xs []float64) {
	for i := range sums {
		sums[i] += xs[i]
	}
}

// divide returns a/b, NaN where b is not above zero.
func divide(a, b float64) float64 {
	if !(b > 0) {
		return math.NaN()
	}
	return a / b
}

// sum adds up all windows.
func sum(xs []float64) (total float64) {
	for _, x := range xs {
		total += x
	}
	return total
}

// each returns f of every window.
func each[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// times is xs with each multiplied by a factor.
func times(xs []float64, factor float64) []float64 {
	return each(len(xs), func(i int) float64 { return xs[i] * factor })
}

// summed adds up parts, window by window.
func summed(parts ...[]float64) []float64 {
	out := make([]float64, len(parts[0]))
	for _, p := range parts {
		add(out, p)
	}
	return out
}

// less is xs without ys, window by window.
func less(xs, ys []float64) []float64 {
	return each(len(xs), func(i int) float64 { return xs[i] - ys[i] })
}

// beyond is by how much each of xs is above that of ys; 0 where it is not.
func beyond(xs, ys []float64) []float64 {
	return each(len(xs), func(i int) float64 { return max(xs[i]-ys[i], 0) })
}

// lesser is the lesser of each.
func lesser(xs, ys []float64) []float64 {
	return each(len(xs), func(i int) float64 { return min(xs[i], ys[i]) })
}

// ratios divides each of xs by that of ys; see divide.
func ratios(xs, ys []float64) []float64 {
	return each(len(xs), func(i int) float64 { return divide(xs[i], ys[i]) })
}

// products multiplies each of xs by that of ys.
func products(xs, ys []float64) []float64 {
	return each(len(xs), func(i int) float64 { return xs[i] * ys[i] })
}

// over is a/b, 0 where that is no number; see divide.
func over(a, b float64) float64 { return orNothing(divide(a, b)) }

// clamped holds a figure to a range that noise in its parts may carry it out of.
func clamped(s stat.Summary, least, most float64) stat.Summary {
	s.Center, s.Lo, s.Hi = min(max(s.Center, least), most), min(max(s.Lo, least), most), min(max(s.Hi, least), most)
	return s
}

// notNegative holds a figure that noise in its parts may carry below zero.
func notNegative(s stat.Summary) stat.Summary { return clamped(s, 0, math.Inf(1)) }

// orNothing is a figure, or 0 where it is not reported.
func orNothing(x float64) float64 {
	if !stat.Finite(x) {
		return 0
	}
	return x
}

// orZero is a figure, or 0 where it is not reported.
func orZero[T int64 | float64](x *T) (value T) {
	if x != nil {
		value = *x
	}
	return value
}

// maxReading is far above anything a machine can count (2^63 bytes is 9e18) and low enough that sums of readings stay
// finite.
const maxReading = 1e24
