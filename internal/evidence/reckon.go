package evidence

import (
	"math"
	"time"

	"github.com/pipetune/pipetune/internal/stat"
)

// seconds turns seconds into a duration; what does not fit becomes the longest or shortest there is.
func seconds(s float64) time.Duration {
	ns := s * float64(time.Second)
	switch {
	case math.IsNaN(ns):
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(ns)
}

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

// lengths is how long spans are.
func lengths(spans []span) []float64 {
	return each(len(spans), func(i int) float64 { return spans[i].length() })
}

// clamped holds a figure to a range that noise in its parts may carry it out of.
func clamped(s stat.Summary, least, most float64) stat.Summary {
	s.Center, s.Lo, s.Hi = min(max(s.Center, least), most), min(max(s.Lo, least), most), min(max(s.Hi, least), most)
	return s
}

// notNegative holds a figure that noise in its parts may carry below zero.
func notNegative(s stat.Summary) stat.Summary { return clamped(s, 0, math.Inf(1)) }

// orZero is a figure, or 0 where it is not reported.
func orZero[T int64 | float64](x *T) (value T) {
	if x != nil {
		value = *x
	}
	return value
}
