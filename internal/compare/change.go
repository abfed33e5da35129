package compare

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// normal975 is the quantile of the normal distribution that two-sided intervals at 95 % go by.
const normal975 = 1.959964

// enoughRuns on each side make a test over runs that can tell something: the least p of Mann-Whitney with 4 and 4 is
// 0.029.
const enoughRuns = 4

// alpha is the level of all tests.
const alpha = 0.05

// scale is what differences are taken on: the logarithm, so that swapping the sides turns every change around, or, for
// ratios and where a value is not above zero, the value itself.
type scale struct {
	log  bool
	unit float64 // linear: what a difference is divided by to make it a change; 1 for ratios
}

func (s scale) of(x float64) float64 {
	if s.log {
		return math.Log(x)
	}
	return x / s.unit
}

// change turns a difference on the scale into what a report tells.
func (s scale) change(d float64) float64 {
	if s.log {
		return math.Expm1(d)
	}
	return d
}

func (s scale) all(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = s.of(x)
	}
	return out
}

// scaleOf chooses the scale; false where no change can be determined, as from 0 on.
func scaleOf(ratio bool, before, after report.Figure, samples ...[]float64) (scale, bool) {
	positive := before.Center > 0 && after.Center > 0 && before.Lo > 0 && after.Lo > 0
	for _, xs := range samples {
		positive = positive && (len(xs) == 0 || slices.Min(xs) > 0)
	}
	switch {
	case ratio:
		return scale{unit: 1}, true
	case positive:
		return scale{log: true}, true
	case before.Center > 0:
		return scale{unit: before.Center}, true
	}
	return scale{}, false
}

// pair is one row: the figure of each run on both sides, in order.
type pair struct {
	unit          string
	better        direction
	before, after []report.Metric
	others        float64 // share of its CPU time that the job lost to others after; see contention
}

// change holds the two sides against each other.
func (p pair) change() report.Change {
	c := report.Change{Unit: p.unit, Before: pooled(p.before), After: pooled(p.after), Difference: p.unit == "ratio",
		NBefore: len(p.before), NAfter: len(p.after), Method: report.ByIntervals, Answer: report.Unclear}
	b, a := p.samples(&c)
	s, ok := scaleOf(c.Difference, c.Before, c.After, b, a)
	if !ok {
		return c
	}
	d := s.of(c.After.Center) - s.of(c.Before.Center)
	c.Change = stat.Known(s.change(d))
	if c.Change == nil {
		return c
	}
	shift, known := stat.Summary{Center: d}, true
	switch c.Method {
	case report.ByIntervals:
		known = c.Before.Confidence > 0 && c.After.Confidence > 0
		shift.Lo, shift.Hi = s.of(c.After.Lo)-s.of(c.Before.Hi), s.of(c.After.Hi)-s.of(c.Before.Lo)
	default:
		t := stat.Shift(s.all(b), s.all(a))
		known = t.Confidence > 0
		shift.Lo, shift.Hi = min(t.Lo, d), max(t.Hi, d)
		c.P = stat.Known(stat.Compare(b, a))
	}
	if !known {
		c.Note = "too few readings for an interval"
		return c
	}
	if c.Method != report.ByRuns {
		spread := max(stat.RunSpread, spreadOf(s, p.before), spreadOf(s, p.after))
		shift = widen(shift, normal975*spread*math.Sqrt(1/float64(len(p.before))+1/float64(len(p.after))))
		shift = p.undisturbed(s, shift)
	}
	told := possible(c, s, shift)
	c.Lo, c.Hi = stat.Known(s.change(told.Lo)), stat.Known(s.change(told.Hi))
	if c.Lo == nil || c.Hi == nil {
		c.Lo, c.Hi = nil, nil
		return c
	}
	if c.P != nil && c.Method == report.ByWindows {
		c.P = stat.Known(max(*c.P, chance(shift)))
	}
	c.Answer = p.answer(shift, c.P)
	return c
}

// samples are what the test is made over, and which test that is: runs where there are enough, else blocks of windows
// where every run has windows that tell values apart, else nothing, and the intervals decide.
func (p pair) samples(c *report.Change) (before, after []float64) {
	if len(p.before) >= enoughRuns && len(p.after) >= enoughRuns {
		c.Method = report.ByRuns
		return centers(p.before), centers(p.after)
	}
	var series [][]float64
	for _, m := range slices.Concat(p.before, p.after) {
		if mostlyTied(m.Windows) {
			return nil, nil
		}
		series = append(series, m.Windows)
	}
	blocks := stat.Blocks(series...)
	before = slices.Concat(blocks[:len(p.before)]...)
	after = slices.Concat(blocks[len(p.before):]...)
	c.Method, c.NBefore, c.NAfter = report.ByWindows, len(before), len(after)
	return before, after
}

// mostlyTied reports whether more than half of the windows have one value, or there are none. Where a step takes as
// long as several windows most of them hold no batch: the differences between the windows of two runs are then mostly
// nothing, and their interval would be of no width however little is known.
func mostlyTied(windows []float64) bool {
	longest, count := 0, map[float64]int{}
	for _, x := range windows {
		count[x]++
		longest = max(longest, count[x])
	}
	return 2*longest > len(windows) || len(windows) == 0
}

// answer says what the interval and the test say together.
func (p pair) answer(shift stat.Summary, chance *float64) report.Answer {
	if chance != nil && *chance >= alpha {
		return report.Unclear
	}
	switch {
	case shift.Lo > 0:
		return p.better.up()
	case shift.Hi < 0:
		return p.better.down()
	}
	return report.Unclear
}

// widen adds an allowance to both arms of an interval, as variances add.
func widen(s stat.Summary, allowance float64) stat.Summary {
	s.Lo = s.Center - math.Hypot(s.Center-s.Lo, allowance)
	s.Hi = s.Center + math.Hypot(s.Hi-s.Center, allowance)
	return s
}

// undisturbed reaches for what the change would have been had other programs taken as much CPU on both sides: at most
// their share better, or worse where they took less.
func (p pair) undisturbed(on scale, s stat.Summary) stat.Summary {
	lost := min(math.Abs(p.others), mostTaken)
	if on.log {
		lost = -math.Log1p(-lost) // a rate that lost half is half, a time then is twice as long
	}
	up, down := 0.0, lost
	if p.others > 0 {
		up, down = lost, 0
	}
	switch p.better {
	case less:
		up, down = down, up
	case either:
		up, down = lost, lost
	}
	s.Hi += up
	s.Lo -= down
	return s
}

// mostTaken bounds the share that others are said to have taken: where they took all there is nothing to compare.
const mostTaken = 0.95

// possible cuts what an interval of a change says that cannot be: a share lies within 0..1 on both sides, wherever in
// its interval it lies, and nothing that is counted or timed loses more than all of it.
func possible(c report.Change, on scale, s stat.Summary) stat.Summary {
	lo, hi := math.Inf(-1), math.Inf(1)
	switch {
	case c.Difference && isShare(c.Before) && isShare(c.After):
		inside := func(x float64) float64 { return min(max(x, 0), 1) }
		lo, hi = max(-inside(c.Before.Hi), inside(c.After.Lo)-1), min(1-inside(c.Before.Lo), inside(c.After.Hi))
	case !c.Difference && !on.log && c.After.Center >= 0:
		lo = -1
	}
	s.Lo, s.Hi = min(max(s.Lo, lo), s.Center), max(min(s.Hi, hi), s.Center)
	return s
}

// isShare reports whether a ratio can be one of a whole; there are others, of sizes.
func isShare(f report.Figure) bool { return f.Lo >= 0 && f.Hi <= 1 }

// chance is how likely a difference as large is where there is none, by the interval's arm on the side of zero.
func chance(s stat.Summary) float64 {
	arm := s.Center - s.Lo
	if s.Center < 0 {
		arm = s.Hi - s.Center
	}
	if !(arm > 0) {
		return 1
	}
	return math.Erfc(normal975 * math.Abs(s.Center) / arm / math.Sqrt2)
}

// spreadOf is the standard deviation of runs around each other, 0 for one.
func spreadOf(s scale, runs []report.Metric) float64 {
	n := float64(len(runs))
	if n < 2 {
		return 0
	}
	mean, squares := 0.0, 0.0
	for _, m := range runs {
		mean += s.of(m.Center) / n
	}
	for _, m := range runs {
		squares += (s.of(m.Center) - mean) * (s.of(m.Center) - mean)
	}
	if sd := math.Sqrt(squares / (n - 1)); stat.Finite(sd) {
		return sd
	}
	return 0
}

// pooled is one figure for all runs of a side: that of the only run, or the median of the runs with the interval that
// holds all of theirs.
func pooled(runs []report.Metric) report.Figure {
	first := tidy(runs[0])
	if len(runs) == 1 {
		return first
	}
	out := report.Figure{Lo: first.Lo, Hi: first.Hi, Confidence: first.Confidence, Basis: first.Basis}
	out.Center, _ = stat.Quantile(centers(runs), 0.5)
	for _, m := range runs[1:] {
		f := tidy(m)
		out.Lo, out.Hi, out.Confidence = min(out.Lo, f.Lo), max(out.Hi, f.Hi), min(out.Confidence, f.Confidence)
	}
	return out
}

// tidy takes a figure from a report that may have been edited: an interval that does not hold its center is none.
func tidy(m report.Metric) report.Figure {
	f := report.Figure{Center: m.Center, Lo: m.Lo, Hi: m.Hi, Confidence: m.Confidence, Basis: m.Basis}
	if !(m.Lo <= m.Center && m.Center <= m.Hi) || !(m.Confidence > 0 && m.Confidence <= 1) {
		f.Lo, f.Hi, f.Confidence = m.Center, m.Center, 0
	}
	return f
}

func centers(runs []report.Metric) (out []float64) {
	for _, m := range runs {
		out = append(out, m.Center)
	}
	return out
}
