package stat

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is the level intervals are asked for at.
const Confidence = 0.95

// Median returns the median of xs with a distribution-free interval (order statistics, golang.org/x/perf/benchmath).
// Values that are not finite are left out. Six values are the least that give an interval at 95 %: with five the
// extremes hold the median with 1 - 2·0.5⁵ = 93.75 %. The zero Summary (N 0) means there was nothing to summarise.
func Median(xs []float64) Summary {
	xs = keepFinite(xs)
	if len(xs) == 0 {
		return Summary{}
	}
	unit := 1.0
	if slices.ContainsFunc(xs, func(x float64) bool { return math.Abs(x) > math.MaxFloat64/2 }) {
		// Between two values that are so far apart there is no number that says how far: they are taken in a larger
		// unit.
		unit = 4
		for i := range xs {
			xs[i] /= unit
		}
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(xs, &benchmath.DefaultThresholds), Confidence)
	out := Summary{Center: unit * s.Center, Lo: unit * s.Lo, Hi: unit * s.Hi, Confidence: s.Confidence, N: len(xs)}
	if !Finite(out.Lo) || !Finite(out.Hi) {
		out.Lo, out.Hi, out.Confidence = out.Center, out.Center, 0
	}
	return out
}

// Quantile returns the q-quantile (0..1) of xs by linear interpolation between order statistics (type 7 of Hyndman and
// Fan, 1996, the default of R and NumPy). Values that are not finite are left out; false means that none was left or
// that q is no number.
func Quantile(xs []float64, q float64) (float64, bool) {
	xs = keepFinite(xs)
	if len(xs) == 0 || math.IsNaN(q) {
		return 0, false
	}
	slices.Sort(xs)
	return sortedQuantile(xs, q), true
}

// sortedQuantile is Quantile of a sorted, finite, non-empty slice.
func sortedQuantile(xs []float64, q float64) float64 {
	at := min(max(q, 0), 1) * float64(len(xs)-1)
	i := int(at)
	if i >= len(xs)-1 {
		return xs[len(xs)-1]
	}
	part := at - float64(i)
	return xs[i]*(1-part) + xs[i+1]*part
}

// Spread returns the median of a non-empty slice and its scaled median absolute deviation, which estimates the standard
// deviation where the values are normal (factor 1.4826) and is not moved by a few wild ones.
func Spread(xs []float64) (median, deviation float64) {
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	median = sortedQuantile(sorted, 0.5)
	for i, x := range sorted {
		sorted[i] = math.Abs(x - median)
	}
	slices.Sort(sorted)
	return median, 1.4826 * sortedQuantile(sorted, 0.5)
}

// Class is a class of durations with how many were of it: from 10^(K/20) to 10^((K+1)/20) microseconds, as the hook
// counts them.
type Class struct {
	K     int
	Count float64
}

// At is the duration, in seconds, at a part (0..1) of a class, on its logarithmic scale.
func (c Class) At(part float64) float64 { return 1e-6 * math.Pow(10, (float64(c.K)+part)/20) }

// ClassQuantile returns the duration, in seconds, within which a part (0..1) of those that were counted lies; false
// without any. The shortest class comes first.
func ClassQuantile(classes []Class, part float64) (float64, bool) {
	all := 0.0
	for _, c := range classes {
		all += c.Count
	}
	below := 0.0
	for _, c := range classes {
		if c.Count > 0 && below+c.Count >= part*all {
			return c.At(Share((part*all - below) / c.Count)), true
		}
		below += c.Count
	}
	return 0, false
}
