package stat

import "math"

// Arithmetic of what windows have each, and of figures that may be missing.

// Add adds xs to sums, window by window.
func Add(sums, xs []float64) {
	for i := range sums {
		sums[i] += xs[i]
	}
}

// Divide returns a/b, NaN where b is not above zero.
func Divide(a, b float64) float64 {
	if !(b > 0) {
		return math.NaN()
	}
	return a / b
}

// Sum adds up all windows.
func Sum(xs []float64) (total float64) {
	for _, x := range xs {
		total += x
	}
	return total
}

// Each returns f of every window.
func Each[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// Times is xs with each multiplied by a factor.
func Times(xs []float64, factor float64) []float64 {
	return Each(len(xs), func(i int) float64 { return xs[i] * factor })
}

// Plus adds up parts, window by window.
func Plus(parts ...[]float64) []float64 {
	out := make([]float64, len(parts[0]))
	for _, p := range parts {
		Add(out, p)
	}
	return out
}

// Minus is xs without ys, window by window.
func Minus(xs, ys []float64) []float64 {
	return Each(len(xs), func(i int) float64 { return xs[i] - ys[i] })
}

// Beyond is by how much each of xs is above that of ys; 0 where it is not.
func Beyond(xs, ys []float64) []float64 {
	return Each(len(xs), func(i int) float64 { return max(xs[i]-ys[i], 0) })
}

// Lesser is the lesser of each.
func Lesser(xs, ys []float64) []float64 {
	return Each(len(xs), func(i int) float64 { return min(xs[i], ys[i]) })
}

// Quotients divides each of xs by that of ys; see Divide.
func Quotients(xs, ys []float64) []float64 {
	return Each(len(xs), func(i int) float64 { return Divide(xs[i], ys[i]) })
}

// Products multiplies each of xs by that of ys.
func Products(xs, ys []float64) []float64 {
	return Each(len(xs), func(i int) float64 { return xs[i] * ys[i] })
}

// Over is a/b, 0 where that is no number; see Divide.
func Over(a, b float64) float64 { return OrNothing(Divide(a, b)) }

// Clamped holds a figure to a range that noise in its parts may carry it out of.
func Clamped(s Summary, least, most float64) Summary {
	s.Center, s.Lo, s.Hi = min(max(s.Center, least), most), min(max(s.Lo, least), most), min(max(s.Hi, least), most)
	return s
}

// NotNegative holds a figure that noise in its parts may carry below zero.
func NotNegative(s Summary) Summary { return Clamped(s, 0, math.Inf(1)) }

// OrNothing is a figure, or 0 where it is not reported.
func OrNothing(x float64) float64 {
	if !Finite(x) {
		return 0
	}
	return x
}

// OrZero is a figure, or 0 where it is not reported.
func OrZero[T int64 | float64](x *T) (value T) {
	if x != nil {
		value = *x
	}
	return value
}

// Known is a figure as a report has it: nil where it is not finite.
func Known(x float64) *float64 {
	if !Finite(x) {
		return nil
	}
	return &x
}

// MaxReading is far above anything a machine can count (2^63 bytes is 9e18) and low enough that sums of readings stay
// finite.
const MaxReading = 1e24
