package document

import "slices"

// Part is something a section shows. It hands itself to the writer of a format.
type Part interface {
	Write(w Writer)
	empty() bool
}

// Writer is a format: it writes each kind of part. One that lacks a kind does not compile.
type Writer interface {
	Facts(Facts)
	Table(*Table)
	Figures(Figures)
	Bars(Bars)
	Chart(*Chart)
	Plot(*Plot)
	Strips(*Strips)
	Ranges(*Ranges)
	Chunks(*Chunks)
	Findings(*Findings)
	Gaps(Gaps)
	Predictions(*Predictions)
	List(List)
	Note(Note)
	Code(Code)
}

// Facts are lines with a name in front.
type Facts []Fact

// Fact is one of them.
type Fact struct{ Name, Text string }

func (p *Facts) add(name, text string) {
	if text != "" {
		*p = append(*p, Fact{name, text})
	}
}

// Table is a table; its first column names the rows.
type Table struct {
	Columns []Column
	Rows    []Row
}

func (p *Table) add(texts ...string) { p.Rows = append(p.Rows, Row{Cells: cells(texts...)}) }

// drop takes columns away.
func (p *Table) drop(from, to int) {
	p.Columns = slices.Delete(p.Columns, from, to)
	for i, r := range p.Rows {
		p.Rows[i].Cells = slices.Delete(r.Cells, from, to)
	}
}

// Column is a column of a table; numbers stand at the right.
type Column struct {
	Name  string
	Right bool
}

// Row is a row of a table.
type Row struct {
	Cells []Cell
	Share float64 // drawn as a bar behind the cells where a row of the table has one above 0; 0 to 1
	Copy  string  // a shell command that goes with the row
}

// Cell is a cell of a table.
type Cell struct {
	Text     string
	Interval string // of the figure, for a format with room for it
	Strong   bool
}

// Figures are the figures every reader looks for, each with its interval.
type Figures []Figure

// Figure is one of them.
type Figure struct {
	Name, Now string
	Interval  string // at 95 %; "" where there is none
	Free      string // what it would be if data were free; "" where that is not modelled
}

// Table is the same as a table.
func (p Figures) Table() *Table {
	t := &Table{Columns: []Column{{"", false}, {"now", true}, {"95 % CI", true}, {"no wait (modelled)", true}}}
	for _, f := range p {
		t.add(f.Name, f.Now, f.Interval, f.Free)
	}
	return t
}

// Bars are shares of a whole, drawn as bars.
type Bars []Bar

// Bar is one of them.
type Bar struct {
	Name  string
	Ratio float64 // 0 to 1
	Share string  // the same in words
	Each  string  // the time of one item or one batch; "" where it is not known
	Basis string  // how it is known; "" where that goes without saying
	Sense Sense
}

// Table is the same as a table, without columns that would hold nothing.
func (p Bars) Table() *Table {
	t := &Table{Columns: []Column{{"", false}, {"share", true}, {"time", true}, {"basis", false}}}
	for _, b := range p {
		t.add(b.Name, b.Share, b.Each, b.Basis)
	}
	if !p.Detailed() {
		t.drop(2, 4)
	}
	return t
}

// Detailed reports whether a bar says more than its share.
func (p Bars) Detailed() bool {
	return slices.ContainsFunc(p, func(b Bar) bool { return b.Each != "" || b.Basis != "" })
}

// Chart is one series of columns. The same figures stand in a table of the same document.
type Chart struct {
	Title  string
	About  string    // what else is drawn
	Unit   string    // of the values
	Names  []string  // of the columns: numbers, and words of ours
	Bars   []float64 // as many
	Top    float64   // where the axis ends
	Digits int       // behind the point
	Lo, Hi []float64 // intervals of the values, of which each may be its value; nil: there are none
	Bend   int       // the column from which on more bring little, from 1; 0: none is known
	Ideal  []float64 // what they would be if nothing held them back; nil: not known
}

// Findings are findings, the largest first.
type Findings struct {
	Order string // by what: "The largest share of the step first."
	List  []Finding
	Joint string // what all recommendations bring together; "" where that is not known
}

// Finding is one of them.
type Finding struct {
	Rule, Severity string
	Tone           Tone
	Place          string // "train.py:88"; "" where no line of source is to blame
	Effect, Basis  string // what its first recommendation brings, and how that is known
	Summary        string
	Changes        []Change
	Unhelpful      []string
}

// Change is one that a finding recommends, with the shell command that makes it; "" where there is none.
type Change struct{ Text, Command string }

// Gaps are what was not measured.
type Gaps []Gap

// Gap is one reason with what it leaves out.
type Gap struct{ Reason, Cure, Names string }

// Predictions are what was predicted beside what came.
type Predictions struct {
	List  []Prediction
	Tally string
}

// Table is the same as a table.
func (p *Predictions) Table() *Table {
	t := &Table{Columns: []Column{{"change", false}, {"predicted", true}, {"observed", true}, {"", false}}}
	for _, x := range p.List {
		t.add(x.Change, x.Predicted, x.Observed, x.Outcome)
	}
	return t
}

// Prediction is one of them.
type Prediction struct {
	Change, Predicted, Observed, Outcome string
	Tone                                 Tone
}

// List is lines that stand side by side.
type List []string

// Note is a paragraph.
type Note string

// Code is text to copy as it is.
type Code struct {
	Label    string
	Language Language
	Text     string // several lines only of a diff
}

// Language is what a piece of code is written in, by the name that Markdown gives it.
type Language string

// The languages.
const (
	Shell Language = "sh"
	Diff  Language = "diff"
)

// Each kind of part hands itself to the writer.

func (p Facts) Write(w Writer)        { w.Facts(p) }
func (p *Table) Write(w Writer)       { w.Table(p) }
func (p Figures) Write(w Writer)      { w.Figures(p) }
func (p Bars) Write(w Writer)         { w.Bars(p) }
func (p *Chart) Write(w Writer)       { w.Chart(p) }
func (p *Findings) Write(w Writer)    { w.Findings(p) }
func (p Gaps) Write(w Writer)         { w.Gaps(p) }
func (p *Predictions) Write(w Writer) { w.Predictions(p) }
func (p List) Write(w Writer)         { w.List(p) }
func (p Note) Write(w Writer)         { w.Note(p) }
func (p Code) Write(w Writer)         { w.Code(p) }

func (p Facts) empty() bool        { return len(p) == 0 }
func (p *Table) empty() bool       { return len(p.Rows) == 0 }
func (p Figures) empty() bool      { return len(p) == 0 }
func (p Bars) empty() bool         { return len(p) == 0 }
func (p *Chart) empty() bool       { return p == nil || len(p.Bars) == 0 }
func (p *Findings) empty() bool    { return false } // that there are none is worth saying
func (p Gaps) empty() bool         { return len(p) == 0 }
func (p *Predictions) empty() bool { return len(p.List) == 0 }
func (p List) empty() bool         { return len(p) == 0 }
func (p Note) empty() bool         { return p == "" }
func (p Code) empty() bool         { return p.Text == "" }

func cells(texts ...string) []Cell {
	out := make([]Cell, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

func notes(texts ...string) (parts []Part) {
	for _, t := range texts {
		parts = append(parts, Note(t))
	}
	return parts
}
