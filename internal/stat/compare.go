package stat

import "golang.org/x/perf/benchmath"

// Comparison is the answer to whether two samples come from the same distribution. P below Alpha says they do not;
// warnings say where there was too little data to tell.
type Comparison struct {
	P, Alpha float64
	N1, N2   int
	Warnings []string
}

// Differs reports whether the difference is more than noise at Alpha.
func (c Comparison) Differs() bool { return c.P < c.Alpha }

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
