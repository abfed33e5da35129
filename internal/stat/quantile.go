package stat

import (
	"math"
	"slices"
)

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

// spread returns the median of a non-empty slice and its scaled median absolute deviation, which estimates the standard
// deviation where the values are normal (factor 1.4826) and is not moved by a few wild ones.
func spread(xs []float64) (median, deviation float64) {
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	median = sortedQuantile(sorted, 0.5)
	for i, x := range sorted {
		sorted[i] = math.Abs(x - median)
	}
	slices.Sort(sorted)
	return median, 1.4826 * sortedQuantile(sorted, 0.5)
}
