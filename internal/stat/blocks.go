package stat

import "math"

// The bounds of blocks of windows.
const (
	closeBlocks = 0.05 // correlation between neighbouring blocks that still counts as none
	// of each series, where it has as many windows: fewer cannot differ at 5 % (Mann-Whitney, 4 and 4: p ≥ 0.029)
	leastBlocks = 4
)

// Blocks averages neighbouring windows of each series over blocks so long that the averages hardly depend on each
// other. A slow sample, an epoch's start or a neighbour lasts longer than a window, so that windows of one run resemble
// their neighbours, and a test that takes them for independent finds differences where there are none.
//
// The length is one for all series, from the lag-1 autocorrelation pooled over them (each around its own mean,
// Kendall's (1954) bias of -(1+3ρ)/n taken out): the shortest for which a first-order autoregression leaves the
// averages correlated by less than a twentieth. No series with four windows or more is left with fewer than four
// blocks: how much it then still depends is what autocorrelation tells. Values that are not finite are left out.
// blocks_test.go measures what this does to false alarms.
func Blocks(series ...[]float64) (means [][]float64) {
	shortest := math.MaxInt
	var kept [][]float64
	for _, xs := range series {
		xs = keepFinite(xs)
		kept = append(kept, xs)
		shortest = min(shortest, len(xs))
	}
	length := min(blockLength(autocorrelation(kept...)), max(1, shortest/leastBlocks))
	for _, xs := range kept {
		means = append(means, average(xs, length))
	}
	return means
}

// autocorrelation returns the lag-1 autocorrelation pooled over series, each around its own mean, with its bias taken
// out; 0..1, as windows that alternate are no reason to trust them more. It is 0 where nothing varies.
func autocorrelation(series ...[]float64) float64 {
	var lagged, squares, n float64
	for _, xs := range series {
		mean := 0.0
		for _, x := range xs {
			mean += x / float64(len(xs))
		}
		for i, x := range xs {
			squares += (x - mean) * (x - mean)
			if i > 0 {
				lagged += (x - mean) * (xs[i-1] - mean)
			}
		}
		n += float64(len(xs))
	}
	r := lagged / squares
	runs := float64(len(series))
	if !Finite(r) || n <= 4*runs {
		return 0
	}
	per := n / runs // the bias is that of one series
	return min(max((per*r+1)/(per-3), 0), 1)
}

// longestBlock bounds the search for a length; more windows than this are not in one series.
const longestBlock = 64

// blockLength returns the shortest block whose means are correlated by less than closeBlocks where windows are a
// first-order autoregression.
func blockLength(r float64) int {
	if r >= 1 {
		return longestBlock
	}
	for b := 1; b < longestBlock; b++ {
		rest := 1 - math.Pow(r, float64(b))
		if r*rest*rest/(float64(b)*(1-r*r)-2*r*rest) < closeBlocks {
			return b
		}
	}
	return longestBlock
}

// average returns the means of consecutive blocks of about that many values, at least one where there are values.
func average(xs []float64, length int) []float64 {
	n := len(xs)
	if n == 0 {
		return nil
	}
	k := max(1, n/length)
	out := make([]float64, k)
	for i := range k {
		from, to := i*n/k, (i+1)*n/k
		for _, x := range xs[from:to] {
			out[i] += x / float64(to-from)
		}
	}
	return out
}
