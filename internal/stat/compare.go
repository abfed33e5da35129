package stat

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Compare is the probability that two samples of independent readings differ by chance as they do, by the Mann-Whitney
// U test (golang.org/x/perf/benchmath). Values that are not finite are left out. It is 1 where no test is possible.
func Compare(before, after []float64) float64 {
	before, after = keepFinite(before), keepFinite(after)
	if len(before) == 0 || len(after) == 0 {
		return 1
	}
	sample := func(xs []float64) *benchmath.Sample { return benchmath.NewSample(xs, &benchmath.DefaultThresholds) }
	// With ties the two tails overlap in benchmath's exact test, and their sum was seen at 1.4.
	if p := benchmath.AssumeNothing.Compare(sample(before), sample(after)).P; p <= 1 {
		return p
	}
	return 1
}

// exactShift is the largest sample for which the interval of a shift comes from the exact distribution of U; beyond,
// from the normal one.
const exactShift = 20

// Shift returns by how much the values of after lie above those of before: the median of all differences between the
// two (Hodges and Lehmann, 1963), with the interval of Moses that belongs to the Mann-Whitney test: without ties it
// holds 0 exactly where that test finds no difference at 5 %. N is the smaller sample's size. Values that are not
// finite are left out; samples too small for an interval at 95 % get none (Confidence 0), and empty ones the zero
// Summary.
func Shift(before, after []float64) Summary {
	before, after = keepFinite(before), keepFinite(after)
	var differences []float64
	for _, a := range after {
		for _, b := range before {
			differences = append(differences, a-b)
		}
	}
	differences = keepFinite(differences)
	if len(differences) == 0 {
		return Summary{}
	}
	slices.Sort(differences)
	s := Summary{Center: sortedQuantile(differences, 0.5), N: min(len(before), len(after))}
	s.Lo, s.Hi = s.Center, s.Center
	if k, confidence := criticalU(len(before), len(after)); k >= 0 && len(differences) > 2*k {
		s.Lo, s.Hi, s.Confidence = min(differences[k], s.Center), max(differences[len(differences)-1-k], s.Center),
			confidence
	}
	return s
}

// criticalU returns the largest U at which the two-sided test of samples of these sizes still says that they differ at
// 5 %, -1 where none does, and the confidence of the interval that leaves out as many differences and one at each end.
func criticalU(n1, n2 int) (k int, confidence float64) {
	if n1 > exactShift || n2 > exactShift {
		a, b := float64(n1), float64(n2)
		const normal975 = 1.959964
		return max(-1, int(math.Floor(a*b/2-normal975*math.Sqrt(a*b*(a+b+1)/12)-0.5))), Confidence
	}
	counts, total := ways(n1, n2), 0.0
	for _, c := range counts {
		total += c
	}
	k, below := -1, 0.0
	confidence = 1
	for u, c := range counts {
		below += c
		if 2*below/total > 1-Confidence {
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
