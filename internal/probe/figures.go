package probe

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/stat"
)

func (w way) figures(r reading) benchmark.Read {
	items := func(p pass) float64 { return float64(p.Items) }
	bytes := func(p pass) float64 { return float64(p.Bytes) }
	out := benchmark.Read{Way: w.row, Time: r.time, Rate: inverse(r.time), Slow: slowest99(slices.Concat(r.times...)),
		CPU:      perItemCPU(r.passes),
		Bytes:    over(r.passes, bytes, items),
		ByteRate: over(r.passes, bytes, func(p pass) float64 { return p.Seconds }),
		Cached:   cachedBefore(r.passes)}
	if counted(r.passes) {
		stored := func(p pass) float64 { return float64(p.IO.Stored) }
		asked := func(p pass) float64 { return float64(p.IO.Asked) }
		if w.cold {
			asked = stored
		}
		out.Stored, out.Amplification = over(r.passes, stored, items), over(r.passes, asked, bytes)
	}
	return out
}

// over is the ratio of the sums of two figures of rounds, passes or slices, with its interval over these.
func over[T any](all []T, num, den func(T) float64) stat.Summary {
	a, b := make([]float64, len(all)), make([]float64, len(all))
	for i, one := range all {
		a[i], b[i] = num(one), den(one)
	}
	return stat.Ratio(a, b)
}

// counted reports whether the kernel counted what every pass read.
func counted(passes []pass) bool {
	return len(passes) > 0 && !slices.ContainsFunc(passes, func(p pass) bool { return p.IO == nil })
}

// cachedBefore is the median share of pages that were in the page cache before each pass; absent where none was seen.
func cachedBefore(passes []pass) stat.Summary {
	var shares []float64
	for _, p := range passes {
		if p.Cached != nil {
			shares = append(shares, *p.Cached)
		}
	}
	return stat.Median(shares)
}

// slowest99 is the time that 99 of 100 items stay below, with an interval from order statistics: of n values, the
// number below the true quantile q is binomial, some 1.96·sqrt(n·q·(1-q)) around n·q. It takes about 500 items for the
// upper end to be among them; with fewer there is no interval, and below a hundred no figure.
func slowest99(times []float64) stat.Summary {
	const q, z = 0.99, 1.96
	n := float64(len(times))
	center, ok := stat.Quantile(times, q)
	if n < 100 || !ok {
		return stat.Summary{}
	}
	v := stat.Summary{Center: center, Lo: center, Hi: center, N: len(times)}
	half := z * math.Sqrt(n*q*(1-q))
	if n*q+half > n-1 {
		return v
	}
	lo, _ := stat.Quantile(times, (n*q-half)/(n-1))
	hi, _ := stat.Quantile(times, (n*q+half)/(n-1))
	v.Lo, v.Hi, v.Confidence = min(lo, center), max(hi, center), stat.Confidence
	return v
}
