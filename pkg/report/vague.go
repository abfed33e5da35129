package report

// VagueFrom is from what factor between its ends on an interval says nothing of where in it a figure lies: an order of magnitude. Reports show such an
// interval without its center.
const VagueFrom = 10

// Vague tells whether an interval of a figure above zero is so wide.
func Vague(lo, hi float64) bool { return hi > VagueFrom*max(lo, 0) && hi > 0 }
