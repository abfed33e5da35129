package metric

// Workers is what a live view counts beside the signals that it shares with a report. Of a rank, and of a state of its
// workers.
var Workers = Live.gauge("workers", Count, "loader workers by what they do: how many are found in each state, on "+
	"average over a second")
