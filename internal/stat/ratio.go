package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// minWindows is the fewest windows an interval is given for: the same six as Median's.
const minWindows = 6

// resamples is how often Ratio resamples. 1000 leave a Monte Carlo error of the 2.5 % quantile of about 7 % of the
// interval's width.
const resamples = 1000

// Ratio returns sum(num) / sum(den) over windows in order of time, with a 95 % interval: shares of looks, rates, costs
// per batch.
//
// A ratio of sums, because a mean of ratios would give a window with two looks the weight of one with fifty. The
// interval is a circular block bootstrap over the windows (Politis and Romano, 1992), block length n^(1/3) (the order
// that Hall, Horowitz and Jing, 1995, give): neighbouring windows resemble each other, since a slow sample, an epoch's
// start or a neighbour lasts longer than a window. Percentile intervals of few blocks are too narrow, so deviations are
// widened by n/(n-b) before the root, as a sample's variance is by n/(n-1), and by the quantile of Student's
// distribution over the normal one. ratio_test.go measures the coverage.
//
// Windows where either value is not finite, den is below zero, or both are zero, are left out; a window that cost
// something and yielded nothing counts. The zero Summary (N 0) means that none was left, or that all of den is zero.
func Ratio(num, den []float64) Summary { return RatioOfRounds(num, den, 0) }

// leastRounds is of how many rounds the interval of RatioOfRounds covers what it promises (ratio_test.go); one degree
// of freedom, of two rounds, is beyond studentOverNormal.
const leastRounds = 3

// RatioOfRounds is Ratio over windows of a thing that recurs, so many to each of its rounds: blocks of a whole round
// differ by what rounds differ by. 0: nothing recurs.
func RatioOfRounds(num, den []float64, round int) Summary {
	var a, b []float64
	for i := range min(len(num), len(den)) {
		if Finite(num[i]) && Finite(den[i]) && den[i] >= 0 && (den[i] > 0 || num[i] != 0) {
			a, b = append(a, num[i]), append(b, den[i])
		}
	}
	n := len(a)
	sumA, sumB := running(a), running(b)
	s := Summary{Center: sumA[n] / sumB[n], N: n}
	if !Finite(s.Center) {
		return Summary{}
	}
	s.Lo, s.Hi = s.Center, s.Center
	if n < minWindows {
		return s
	}
	block := max(1, int(math.Round(math.Cbrt(float64(n)))))
	round = round * n / max(len(num), 1) // of windows that are left out each round has its part
	if round > block && n >= leastRounds*round {
		block = round
	}
	draws := resample(sumA, sumB, block)
	if len(draws) == 0 {
		return s
	}
	slices.Sort(draws)
	widen := math.Sqrt(float64(n)/float64(n-block)) * studentOverNormal(n/block-1)
	s.Lo = s.Center + widen*(sortedQuantile(draws, (1-Confidence)/2)-s.Center)
	s.Hi = s.Center + widen*(sortedQuantile(draws, (1+Confidence)/2)-s.Center)
	s.Lo, s.Hi, s.Confidence = min(s.Lo, s.Center), max(s.Hi, s.Center), Confidence
	if slices.Min(a) >= 0 {
		s.Lo = max(s.Lo, 0) // no rate or share is below zero
	}
	return s
}

// running returns the running sums of xs gone round twice, from 0: the sum of any circular block is one difference.
func running(xs []float64) []float64 {
	sums := make([]float64, 1, 2*len(xs)+1)
	total := 0.0
	for range 2 {
		for _, x := range xs {
			total += x
			sums = append(sums, total)
		}
	}
	return sums
}

// resample draws ratios of sums from circular blocks. The generator is seeded with a constant: the same recording
// always gives the same report.
func resample(sumA, sumB []float64, block int) []float64 {
	n := (len(sumA) - 1) / 2
	rng := rand.New(rand.NewPCG(0x70697065, 0x74756e65))
	draws := make([]float64, 0, resamples)
	for range resamples {
		var x, y float64
		for left := n; left > 0; left -= block {
			from := rng.IntN(n)
			to := from + min(block, left)
			x += sumA[to] - sumA[from]
			y += sumB[to] - sumB[from]
		}
		if y > 0 && Finite(x/y) {
			draws = append(draws, x/y)
		}
	}
	return draws
}

// studentOverNormal returns the 97.5 % quantile of Student's distribution with that many degrees of freedom over the
// normal one's 1.96, by the expansion of Abramowitz and Stegun, 26.7.5 (within 1 % from 4 degrees on, within 3 % for
// two, the fewest that occur).
func studentOverNormal(degrees int) float64 {
	const x = 1.959964
	v := float64(max(degrees, 2))
	x2 := x * x
	t := x + x*(x2+1)/(4*v) + x*(5*x2*x2+16*x2+3)/(96*v*v) + x*(((3*x2+19)*x2+17)*x2-15)/(384*v*v*v)
	return t / x
}
