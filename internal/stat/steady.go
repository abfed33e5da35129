package stat

import "math"

// Warm-up detection. The limits are of the rule itself and not of any job; see Warmup.
const (
	bandDeviations = 4 // half-width of the steady band in scaled median absolute deviations
	// and at least this share of the steady level: a quarter off is plain to see, a tenth is weather
	bandShare = 0.25
	pureShare = 0.8 // of the windows of a warm-up must lie outside the band, all on one side
	minSteady = 6   // windows below which no warm-up is looked for
)

// Warmup returns how many leading windows of xs are a warm-up: they lie clearly on one side of what the series is in
// its second half.
//
// The steady level is the median of the second half, its band four scaled median absolute deviations, at least a
// quarter of the level and at least floor (in the series' unit; for shares of time). A warm-up is the longest beginning
// that ends outside the band and lies outside it, on one side, in four windows of five. At most the first half can go.
// A beginning whose like comes again in the second half is a pattern of the job, not a warm-up: workers restarted at
// each epoch must stay in view. So nothing is dropped when the second half holds a run outside the band, on that side,
// at least half as long.
//
// A changepoint rule rather than MSER-5 (White, 1997): MSER cuts wherever that lowers the variance, and so cuts off an
// epoch's start.
func Warmup(xs []float64, floor float64) int {
	n := len(xs)
	if n < minSteady {
		return 0
	}
	for _, x := range xs {
		if !Finite(x) {
			return 0
		}
	}
	level, deviation := Spread(xs[n/2:])
	band := max(bandDeviations*deviation, bandShare*math.Abs(level), floor)
	best := 0
	for _, side := range []float64{-1, 1} {
		drop := outside(xs[:n/2], level, band, side)
		if drop > best && 2*longestRun(xs[n/2:], level, band, side) < max(drop, 2) {
			best = drop
		}
	}
	return best
}

// outside returns the length of the longest beginning that ends outside the band and is mostly outside it on that side.
func outside(xs []float64, level, band, side float64) int {
	drop, out := 0, 0
	for i, x := range xs {
		if side*(x-level) <= band {
			continue
		}
		out++
		if float64(out) >= pureShare*float64(i+1) {
			drop = i + 1
		}
	}
	return drop
}

// longestRun returns the longest run of windows outside the band on that side.
func longestRun(xs []float64, level, band, side float64) int {
	longest, run := 0, 0
	for _, x := range xs {
		if side*(x-level) > band {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}
