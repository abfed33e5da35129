package live

import (
	"math"

	"github.com/pipetune/pipetune/internal/metric"
)

// Figure is one signal over the last frames.
type Figure struct {
	Signal metric.Desc
	Of     Owner
	Now    float64   // a share or a rate: its mean over the last seconds; else the last value. NaN: not known
	Past   []float64 // one value a frame, the newest last; NaN where it is not known
	Total  float64   // of a share or a rate: what it adds up to since the watch began, in seconds, bytes or pieces
	Flow   bool      // it is a share or a rate
}

// Known reports whether there is a present value.
func (f Figure) Known() bool { return !math.IsNaN(f.Now) }

// Owner says whose a figure is. Empty strings: the job's, or the machine's.
type Owner struct {
	Rank   string // of a trainer
	Device string // a GPU's UUID, a disk's name
	State  string // what workers are doing
}

const (
	// frames is how many values of a figure are kept: as many as a wide terminal has columns to draw.
	frames = 160
	// smooth is how many of the last values a flow's present one is the mean of.
	smooth = 5
	// stands is for how many frames a value stands that is not read again: some sources are read each 5 s.
	stands = 6
)

// trace is a figure in the making.
type trace struct {
	signal metric.Desc
	of     Owner
	flow   bool
	past   []float64
	total  float64
	age    int // frames since it was read
}

// push adds a frame's value; NaN where there is none.
func (t *trace) push(v float64) {
	if t.age++; !math.IsNaN(v) {
		t.age = 0
	} else if n := len(t.past); n > 0 && t.age < stands {
		v = t.past[n-1]
	}
	if len(t.past) == frames {
		t.past = t.past[:copy(t.past, t.past[1:])]
	}
	t.past = append(t.past, v)
}

// figure is the trace as of now, which does not change any more.
func (t *trace) figure() Figure {
	f := Figure{Signal: t.signal, Of: t.of, Flow: t.flow, Total: t.total, Past: append([]float64(nil), t.past...)}
	last := t.past[len(t.past)-1:]
	if t.flow && !math.IsNaN(last[0]) {
		last = t.past[max(0, len(t.past)-smooth):]
	}
	sum, n := 0.0, 0.0
	for _, v := range last {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	f.Now = sum / n // NaN where there is none
	return f
}
