package step

import "math"

// Peers is what a rank's device does in collectives. The zero value is a trainer that has no others beside it.
type Peers struct {
	Known bool
	Waits Range // its collectives wait for the data of other ranks
	Work  Range // the device works on anything else
}

// Awaits returns the least and the most likely share of some time in which a rank, whose data stall is own, waits in
// collectives for the data of the other ranks, whose stalls are others. The stalls of longer times differ from rank to
// rank by spread (a standard deviation), and such a time has so many steps.
//
// Where the steps of a rank vary independently, their differences vary by the root of their number more than its means
// do: normally distributed differences give the likely figure, and no more than exponential ones would. Where they vary
// together, by no more than the means: that is the least.
func Awaits(own float64, others []float64, spread, steps float64) (least, likely float64) {
	longest := 0.0
	for _, o := range others {
		longest += beyond(o, longest) // of two, the longer one
	}
	most := beyond(longest, own)
	return min(positive(longest-own, spread), most), min(positive(longest-own, spread*math.Sqrt(max(steps, 1))), most)
}

// beyond is by how much, on average, an exponential time with the mean a is longer than one with the mean b; 0 where it
// is not.
func beyond(a, b float64) float64 {
	if !(a > 0) {
		return 0
	}
	return a * a / (a + max(b, 0))
}

// positive is the mean of what is positive of a normally distributed figure.
func positive(mean, deviation float64) float64 {
	if !(deviation > 0) {
		return max(mean, 0)
	}
	z := mean / deviation
	return max(mean*math.Erfc(-z/math.Sqrt2)/2+deviation*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi), 0)
}
