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
		return Summary{Warnings: []string{"no readings"}}
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
	for _, w := range s.Warnings {
		out.Warnings = append(out.Warnings, w.Error())
	}
	if !Finite(out.Lo) || !Finite(out.Hi) {
		out.Lo, out.Hi, out.Confidence = out.Center, out.Center, 0
	}
	return out
}
