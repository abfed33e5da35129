package probe

import (
	"math"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// figures adds what a way of reading gave.
func (s *session) figures(w way, r reading) {
	add := func(d metric.Desc, v stat.Summary) { s.add(w.probe, d, v, report.Measured, w.labels) }
	add(metric.ItemTime, r.time)
	add(metric.ItemRate, inverse(r.time))
	add(metric.ItemSlow, slowest99(r.times))
	items := func(p pass) float64 { return float64(p.Items) }
	bytes := func(p pass) float64 { return float64(p.Bytes) }
	add(metric.ItemCPU, over(r.passes, func(p pass) float64 { return p.CPU }, items))
	add(metric.ItemBytes, over(r.passes, bytes, items))
	add(metric.ByteRate, over(r.passes, bytes, func(p pass) float64 { return p.Seconds }))
	if counted(r.passes) {
		stored := func(p pass) float64 { return float64(p.IO.Stored) }
		asked := func(p pass) float64 { return float64(p.IO.Asked) }
		if w.cold {
			asked = stored
		}
		add(metric.ItemStorage, over(r.passes, stored, items))
		add(metric.Amplification, over(r.passes, asked, bytes))
	}
	if cached, ok := cachedBefore(r.passes); ok {
		add(metric.CachedRatio, cached)
	}
}

// over is the ratio of two figures of passes, with its interval.
func over(passes []pass, num, den func(pass) float64) stat.Summary {
	a, b := make([]float64, len(passes)), make([]float64, len(passes))
	for i, p := range passes {
		a[i], b[i] = num(p), den(p)
	}
	return stat.Ratio(a, b)
}

// counted tells whether the kernel counted what every pass read.
func counted(passes []pass) bool {
	for _, p := range passes {
		if p.IO == nil {
			return false
		}
	}
	return len(passes) > 0
}

// cachedBefore is the median share of pages that were in the page cache before each pass; not ok where none could be told.
func cachedBefore(passes []pass) (stat.Summary, bool) {
	var shares []float64
	for _, p := range passes {
		if p.Cached != nil {
			shares = append(shares, *p.Cached)
		}
	}
	return stat.Median(shares), len(shares) > 0
}

// slowest99 is the time that 99 of 100 items stay below, with an interval from order statistics: of n values, the number below the true
// quantile q is binomial, some 1.96·sqrt(n·q·(1-q)) around n·q. It takes about 500 items for the upper end to be among them; with
// fewer there is no interval, and below a hundred no figure.
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
