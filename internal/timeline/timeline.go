// Package timeline holds what was seen over the time of a watch, thinned to what a picture can show. It promises that
// thinning hides nothing: of each bucket the least, the mean and the most of its windows are kept, and a window in
// which nothing was seen is no zero. It refuses to say what any of it means; package document does.
package timeline

import "math"

// Timeline is a watch as it went. Times are in seconds since its beginning.
type Timeline struct {
	To     float64 // its end
	Steady Span    // what the report's figures are of
	// Steady is cut to whole epochs: what is left out lies behind it as well, and before it not for warm-up alone
	WholeEpochs bool
	Window      float64 // seconds of a window
	Per         int     // windows of a bucket
	OneOf       int     // one of so many readings was kept; 0: all were
	Lines       []Line
	Workers     *Workers // nil where nobody who makes batches was seen
	Epochs      []Epoch
	Gaps        []Span // in which pipetune itself did not run, or the job was stopped
}

// Span is a stretch of time.
type Span struct{ From, To float64 }

// Line is a signal over time.
type Line struct {
	Signal  string // a name of package metric
	Buckets []Bucket
}

// Bucket is what some windows amount to, those in which the signal was seen.
type Bucket struct {
	Span
	Mean, Lo, Hi float64
}

// Workers is who makes the batches, and what they did.
type Workers struct {
	Of     string // "worker", "process" or "thread"
	All    int    // how many there were at once at the most
	States []string
	Rows   []Row
}

// Row is one of them, or all together.
type Row struct {
	Number  int // of the one, from 1; 0: all together
	Buckets []Shares
}

// Shares is what a stretch of time went to: a share for each of the states.
type Shares struct {
	Span
	Of []float64
}

// Epoch is the beginning of one.
type Epoch struct {
	At       float64
	Number   int  // from 0; -1 where it is not known
	Reported bool // the job reported it; else it is the start of new workers
}

// Thin gathers a ratio of two sums by windows into buckets of so many. A window in which den is not above 0 was not
// seen, and a bucket without any is left out.
func Thin(windows []Span, num, den []float64, per int) (all []Bucket) {
	for from := 0; from < len(windows) && len(num) > 0; from += per {
		to := min(from+per, len(windows))
		b := Bucket{Span: Span{windows[from].From, windows[to-1].To}, Lo: math.Inf(1), Hi: math.Inf(-1)}
		above, below := 0.0, 0.0
		for i := from; i < to; i++ {
			x := num[i] / den[i]
			if !(den[i] > 0) || math.IsNaN(x) || math.IsInf(x, 0) {
				continue
			}
			above, below = above+num[i], below+den[i]
			b.Lo, b.Hi = min(b.Lo, x), max(b.Hi, x)
		}
		if below > 0 {
			b.Mean = above / below
			all = append(all, b)
		}
	}
	return all
}
