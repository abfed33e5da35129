package render

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/pipetune/pipetune/internal/document"
	"github.com/pipetune/pipetune/internal/timeline"
)

// Strips are rows of shares over time: in each stretch the states stand upon each other.
func (w *web) Strips(p *document.Strips) {
	w.pictures = true
	type key struct {
		document.State
		Class string
	}
	type row struct {
		Name  string
		Paths []plotLine
	}
	v := struct {
		field
		*document.Strips
		Label string
		Keys  []key
		Rows  []row
		Data  template.HTML
	}{field: fieldOf(p.Axis, nil), Strips: p, Label: p.Title, Data: w.behind(p.Table, p.Title)}
	class := classes(p.States, func(s document.State) document.Sense { return s.Sense })
	for k, s := range p.States {
		if s.Figure != "" {
			v.Keys = append(v.Keys, key{s, class[k]})
			v.Label += "; " + s.Name + " " + s.Figure
		}
	}
	for _, strip := range p.Rows {
		one := row{Name: strip.Name}
		for k := range p.States {
			if path := statePath(strip.Shares, k, p.Axis); path != "" {
				one.Paths = append(one.Paths, plotLine{Class: class[k], Path: path})
			}
		}
		v.Rows = append(v.Rows, one)
	}
	w.put("strips", v)
}

// statePath is one state of a row, in each stretch above those before it.
func statePath(shares []timeline.Shares, state int, a document.Axis) drawn {
	var b strings.Builder
	x := func(at float64) float64 { return across * at / a.To }
	for _, s := range shares {
		foot := 0.0
		for _, share := range s.Of[:state] {
			foot += share
		}
		if s.Of[state] > 0 {
			fmt.Fprintf(&b, "M%s %sh%sv%sH%sZ", number(x(s.From)), number(100*(1-foot)), number(x(s.To)-x(s.From)),
				number(-100*s.Of[state]), number(x(s.From)))
		}
	}
	return drawn(b.String())
}

// Chart draws columns, or, where it is known what they would be if nothing held them back, a curve beside that.
func (w *web) Chart(c *document.Chart) {
	w.pictures = true
	type column struct {
		X, Left, Wide, Y, H, LoY, HiY, TextY, Name, Text string
		Bends, Whisker                                   bool
	}
	v := struct {
		field
		*document.Chart
		Label           string
		Line, IdealLine drawn
		Grid            []string
		Columns         []column
	}{field: fieldOf(document.Axis{}, nil), Chart: c, Label: c.Title}
	y := func(x float64) float64 { return above + height*(1-x/c.Top) }
	band := 1 / float64(len(c.Bars))
	for _, part := range []float64{0, 0.5, 1} {
		v.Grid = append(v.Grid, number(above+height*part))
	}
	for i, x := range c.Bars {
		text := figureText(x)
		one := column{Name: c.Names[i], Text: text, X: percent((float64(i) + 0.5) * band),
			Left: percent((float64(i) + 0.2) * band), Wide: percent(0.6 * band), Y: number(y(x)),
			H: number(above + height - y(x)), TextY: number(y(x) - 7), Bends: c.Bend == i+1}
		if c.Lo != nil && c.Hi[i] > c.Lo[i] {
			one.Whisker, one.LoY, one.HiY, one.TextY = true, number(y(c.Lo[i])), number(y(c.Hi[i])),
				number(y(c.Hi[i])-7)
		}
		v.Columns = append(v.Columns, one)
		v.Label += "; " + c.Names[i] + ": " + text
	}
	through := func(values []float64) drawn {
		var b strings.Builder
		for i, x := range values {
			fmt.Fprintf(&b, "%s%s %s", map[bool]string{true: "M", false: "L"}[i == 0],
				number(across*(float64(i)+0.5)*band), number(y(x)-above))
		}
		return drawn(b.String())
	}
	if c.Ideal != nil {
		v.Line, v.IdealLine = through(c.Bars), through(c.Ideal)
	}
	w.put("chart", v)
}

// Ranges draws intervals below each other, the words of each beside it.
func (w *web) Ranges(p *document.Ranges) {
	w.pictures = true
	type row struct {
		document.Range
		Class, X, W, Center string
	}
	v := struct {
		*document.Ranges
		Grid []placed
		Rows []row
	}{Ranges: p}
	top := p.Grid[len(p.Grid)-1].At
	for i, r := range p.Rows {
		v.Rows = append(v.Rows, row{r, classOf(r.Sense), percent(r.Lo / top), percent(r.Hi/top - r.Lo/top), ""})
		if r.Center > 0 {
			v.Rows[i].Center = percent(r.Center / top)
		}
	}
	for _, g := range p.Grid {
		v.Grid = append(v.Grid, tick(g.At/top, g.Text))
	}
	w.put("ranges", v)
}

// Chunks draws the chunks that an item lies in, and those beside them, with the item across: what is read for it and
// thrown away is pale.
func (w *web) Chunks(c *document.Chunks) {
	w.pictures = true
	const mostAcross, wide, high, gap = 12, 360.0, 150.0, 3.0
	type cell struct{ X, Y, W, H, Class string }
	v := struct {
		*document.Chunks
		Wide, High string
		Cells      []cell
	}{Chunks: c, Wide: number(wide), High: number(high)}
	n := int(min(c.Across, mostAcross))
	width := (wide - gap*float64(n-1)) / float64(n)
	for i := range n {
		x := number(float64(i) * (width + gap))
		for k, class := range []string{"beside", "read", "beside"} {
			v.Cells = append(v.Cells, cell{x, number(float64(k) * (high + gap) / 3), number(width),
				number(high/3 - gap), class})
		}
		item := max((high/3-gap)/float64(c.Items), 2)
		v.Cells = append(v.Cells, cell{x, number((high+gap)/3 + (high/3-gap-item)/2), number(width), number(item),
			"item"})
	}
	w.put("chunks", v)
}

func figureText(x float64) string {
	digits := 0
	if x < 100 {
		digits = 1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.*f", digits, x), ".0")
}
