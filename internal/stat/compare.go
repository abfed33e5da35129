package stat

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Comparison is the answer to whether two samples come from the same distribution. P below Alpha says they do not;
// warnings say where there was too little data to tell.
type Comparison struct {
	P, Alpha float64
	N1, N2   int
	Warnings []string
}

// Compare tests two samples of independent readings by the Mann-Whitney U test (golang.org/x/perf/benchmath), at Alpha
// 0.05. Values that are not finite are left out. Where no test is possible, P is 1 and a warning says why.
func Compare(before, after []float64) Comparison {
	before, after = keepFinite(before), keepFinite(after)
	thresholds := benchmath.DefaultThresholds
	if len(before) == 0 || len(after) == 0 {
		return Comparison{P: 1, Alpha: thresholds.CompareAlpha, N1: len(before), N2: len(after),
			Warnings: []string{"no readings"}}
	}
	c := benchmath.AssumeNothing.Compare(benchmath.NewSample(before, &thresholds), benchmath.NewSample(after,
		&thresholds))
	out := Comparison{P: c.P, Alpha: thresholds.CompareAlpha, N1: len(before), N2: len(after)}
	for _, w := range c.Warnings {
		out.Warnings = append(out.Warnings, w.Error())
	}
	// With ties the two tails overlap in benchmath's exact test, and their sum was seen at 1.4.
	if !(out.P <= 1) {
		out.P = 1
	}
	return out
}

// exactShift is the largest sample for which the interval of a shift comes from the exact distribution of U; beyond,
// from the normal one.
const exactShift = 20

// Shift returns by how much the values of after lie above those of before: the median of all differences between the
// two (Hodges and Lehmann, 1963), with the interval of Moses that belongs to the Mann-Whitney test: without ties it
// holds 0 exactly where that test finds no difference at 5 %. N is the smaller sample's size. Values that are not
// finite are left out; samples too small for an interval at 95 % get none (Confidence 0), and empty ones the zero
// Summary with a warning.
func Shift(before, after []float64) Summary {
	before, after = keepFinite(before), keepFinite(after)
	n := min(len(before), len(after))
	if n == 0 {
		return Summary{Warnings: []string{"no readings"}}
	}
	var differences []float64
	for _, a := range after {
		for _, b := range before {
			differences = append(differences, a-b)
		}
	}
	differences = keepFinite(differences)
	if len(differences) == 0 {
		return Summary{Warnings: []string{"no readings"}}
	}
	slices.Sort(differences)
	s := Summary{Center: sortedQuantile(differences, 0.5), N: n}
	s.Lo, s.Hi = s.Center, s.Center
	k, confidence := criticalU(len(before), len(after), 1-Confidence)
	if k < 0 || len(differences) <= 2*k {
		s.Warnings = []string{"too few readings for the interval of a difference"}
		return s
	}
	s.Lo, s.Hi, s.Confidence = min(differences[k], s.Center), max(differences[len(differences)-1-k], s.Center),
		confidence
	return s
}

// criticalU returns the largest U at which the two-sided test of samples of these sizes still says that they differ at
// level alpha, -1 where none does, and the confidence of the interval that leaves out as many differences and one at
// each end.
func criticalU(n1, n2 int, alpha float64) (k int, confidence float64) {
	if n1 > exactShift || n2 > exactShift {
		a, b := float64(n1), float64(n2)
		const normal975 = 1.959964 // alpha is 0.05 wherever this is reached
		return max(-1, int(math.Floor(a*b/2-normal975*math.Sqrt(a*b*(a+b+1)/12)-0.5))), 1 - alpha
	}
	counts, total := ways(n1, n2), 0.0
	for _, c := range counts {
		total += c
	}
	k, below := -1, 0.0
	confidence = 1
	for u, c := range counts {
		below += c
		if 2*below/total > alpha {
			break
		}
		k, confidence = u, 1-2*below/total
	}
	return k, confidence
}

// ways returns in how many orders of two samples without ties U takes each value: the recursion of Mann and Whitney
// (1947).
func ways(n1, n2 int) []float64 {
	row := make([][]float64, n2+1) // row[j] is of i and j values
	for j := range row {
		row[j] = []float64{1}
	}
	for i := 1; i <= n1; i++ {
		next := make([][]float64, n2+1)
		next[0] = []float64{1}
		for j := 1; j <= n2; j++ {
			counts := make([]float64, i*j+1)
			copy(counts, next[j-1])
			for u, c := range row[j] {
				counts[u+j] += c
			}
			next[j] = counts
		}
		row = next
	}
	return row[n2]
}
