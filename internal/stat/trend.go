package stat

import (
	"math"
	"slices"
)

// trendPoints bounds the quadratic work of Trend; longer series are thinned evenly.
const trendPoints = 120

// Trend returns the slope of values over times by Theil and Sen: the median of the slopes between all pairs, which a
// quarter of wild points cannot move. The interval is Sen's (1968), from the variance of Kendall's S without ties.
// Fewer than six points give a slope without an interval; fewer than two, or no two different times, the zero Summary.
func Trend(times, values []float64) Summary {
	var t, x []float64
	for i := range min(len(times), len(values)) {
		if Finite(times[i]) && Finite(values[i]) {
			t, x = append(t, times[i]), append(x, values[i])
		}
	}
	if n := len(t); n > trendPoints {
		for i := range trendPoints {
			j := i * (n - 1) / (trendPoints - 1)
			t[i], x[i] = t[j], x[j]
		}
		t, x = t[:trendPoints], x[:trendPoints]
	}
	n := len(t)
	slopes := make([]float64, 0, n*(n-1)/2)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if s := (x[j] - x[i]) / (t[j] - t[i]); t[j] != t[i] && Finite(s) {
				slopes = append(slopes, s)
			}
		}
	}
	if len(slopes) == 0 {
		return Summary{}
	}
	slices.Sort(slopes)
	s := Summary{Center: sortedQuantile(slopes, 0.5), N: n}
	s.Lo, s.Hi = s.Center, s.Center
	if n < minWindows {
		return s
	}
	f := float64(n)
	half := 1.96 * math.Sqrt(f*(f-1)*(2*f+5)/18) / float64(len(slopes)) / 2
	s.Lo, s.Hi, s.Confidence = sortedQuantile(slopes, 0.5-half), sortedQuantile(slopes, 0.5+half), Confidence
	return s
}
