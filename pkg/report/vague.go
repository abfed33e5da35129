package report

// VagueFrom is from what factor between its ends on an interval says nothing of where in it a figure lies: an order of
// magnitude. Reports show such an interval without its center.
const VagueFrom = 10

// Vague reports whether an interval of a figure above zero is so wide.
func Vague(lo, hi float64) bool { return hi > VagueFrom*max(lo, 0) && hi > 0 }

// Precision is how near to its center the 95 % interval of what bench-io measures is to come: it repeats until then,
// within its budget.
const Precision = 0.05

// Rough reports whether a figure is known less well than Precision. Reports mark one with a ~.
func Rough(center, lo, hi, confidence float64) bool {
	return !(confidence > 0 && hi-center <= Precision*center && center-lo <= Precision*center)
}
