package live

import (
	"math"
	"slices"

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

// trace is a figure in the making, without a present value.
type trace struct {
	Figure
	age int // frames since it was read
}

// push adds a frame's value; NaN where there is none.
func (t *trace) push(v float64) {
	if t.age++; !math.IsNaN(v) {
		t.age = 0
	} else if n := len(t.Past); n > 0 && t.age < stands {
		v = t.Past[n-1]
	}
	if len(t.Past) == frames {
		t.Past = t.Past[:copy(t.Past, t.Past[1:])]
	}
	t.Past = append(t.Past, v)
}

// figure is the trace as of now, which does not change any more.
func (t *trace) figure() Figure {
	f := t.Figure
	f.Past = slices.Clone(t.Past)
	last := f.Past[len(f.Past)-1:]
	if f.Flow && !math.IsNaN(last[0]) {
		last = f.Past[max(0, len(f.Past)-smooth):]
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
