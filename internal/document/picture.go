package document

import "github.com/pipetune/pipetune/internal/timeline"

// Sense is what a share of time or a series stands for, so that a format draws like things alike.
type Sense int

// The senses.
const (
	Other   Sense = iota
	Working       // on a batch, or on training
	Waiting
	Idle
)

// Plot is series of figures over the time of a watch.
type Plot struct {
	Title  string
	Axis   Axis
	Grid   []Tick // of the values: 0 first, where the axis ends last
	Series []Series
	Table  *Table // fewer of the same figures
}

// Axis is the time that a picture is over, in seconds.
type Axis struct {
	To     float64 // its end; it begins at 0
	Ticks  []Tick
	Marks  []Tick    // moments with a name
	Shaded []Stretch // stretches with a name
}

// Tick is a place on an axis, with its words.
type Tick struct {
	At   float64
	Text string
}

// Stretch is a stretch of an axis, with its words.
type Stretch struct {
	timeline.Span
	Text string
}

// Series is one of several; where nothing was seen it has no points.
type Series struct {
	Name, Figure string // Figure is its mean, in words
	Sense        Sense
	Points       []Point
}

// Point is what a stretch of time amounts to, with its words.
type Point struct {
	timeline.Bucket
	Text string
}

// Strips are rows of shares over the time of a watch: of each row what each stretch of time went to.
type Strips struct {
	Title, About string
	Axis         Axis
	States       []State
	Rows         []Strip
	Table        *Table // what each row went to in all
}

// State is what time can go to.
type State struct {
	Name, Figure string // Figure is its share of all, in words
	Sense        Sense
}

// Strip is one row.
type Strip struct {
	Name   string
	Shares []timeline.Shares
}

// Ranges are intervals on one axis from 0 on, such as what is beside what was predicted. Their figures stand in words.
type Ranges struct {
	Title string
	Grid  []Tick // of the values
	Rows  []Range
}

// Range is one of them.
type Range struct {
	Name, Text     string
	Center, Lo, Hi float64
	Sense          Sense
}

// Chunks is an item beside the chunks it lies in.
type Chunks struct {
	Title         string
	Items, Across int64 // items that a chunk holds, and chunks that an item lies in
	Text          string
}

func (p *Plot) Write(w Writer)   { w.Plot(p) }
func (p *Strips) Write(w Writer) { w.Strips(p) }
func (p *Ranges) Write(w Writer) { w.Ranges(p) }
func (p *Chunks) Write(w Writer) { w.Chunks(p) }

func (p *Plot) empty() bool   { return p == nil || len(p.Series) == 0 }
func (p *Strips) empty() bool { return p == nil || len(p.Rows) == 0 }
func (p *Ranges) empty() bool { return p == nil || len(p.Rows) == 0 }
func (p *Chunks) empty() bool { return p == nil || p.Items < 1 || p.Across < 1 }
