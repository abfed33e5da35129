package render

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/document"
)

// Pictures are inline SVG without a script. Across, they are as wide as the page lets them be: places are percentages,
// and lines lie in a nested drawing 1,000 units wide that is stretched, which text is not. Up and down they are pixels.
const (
	across = 1000 // units of a nested drawing
	height = 120  // pixels of a field of figures
	above  = 16   // pixels above it, for the names of marks
	below  = 18   // pixels under it, for its axis
)

// percent is a place or a length as a share of the width.
func percent(share float64) string { return number(100*min(max(share, 0), 1)) + "%" }

func number(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
}

// classOf is the class of what is drawn, by what it stands for.
func classOf(s document.Sense) string {
	return cmp.Or(map[document.Sense]string{document.Working: "work", document.Waiting: "wait",
		document.Idle: "idle"}[s], "other")
}

// classes are those of a list: those alike differ in shade.
func classes[T any](list []T, sense func(T) document.Sense) (all []string) {
	const shades = 4
	used := map[document.Sense]int{}
	for _, one := range list {
		s := sense(one)
		name := classOf(s)
		if n := used[s] % shades; n > 0 {
			name += strconv.Itoa(n + 1)
		}
		used[s]++
		all = append(all, name)
	}
	return all
}

type placed struct{ X, W, Class, Text string }

// Bars are one bar of parts, and its key.
func (w *web) Bars(list document.Bars) {
	type part struct {
		document.Bar
		Class, X, W string
	}
	var parts []part
	at := 0.0
	for i, class := range classes(list, func(b document.Bar) document.Sense { return b.Sense }) {
		parts = append(parts, part{list[i], class, percent(at), percent(list[i].Ratio)})
		at += list[i].Ratio
	}
	w.put("bars", parts)
}

// field is where figures are drawn over time.
type field struct {
	Height, Above, Foot, NameY int
	Rows                       []struct{ Y, Text string }
	Shaded, Marks, Ticks       []placed
}

func fieldOf(a document.Axis, grid []document.Tick) field {
	f := field{Height: height, Above: above, Foot: above + height, NameY: above + height + below - 4}
	at := func(x float64) float64 { return x / a.To }
	for _, g := range grid {
		y := above + height*(1-g.At/grid[len(grid)-1].At)
		f.Rows = append(f.Rows, struct{ Y, Text string }{number(y), g.Text})
	}
	for _, s := range a.Shaded {
		f.Shaded = append(f.Shaded, placed{X: percent(at(s.From)), W: percent(at(s.To) - at(s.From)), Text: s.Text})
	}
	for _, m := range a.Marks {
		f.Marks = append(f.Marks, placed{X: percent(at(m.At)), Text: m.Text})
	}
	for _, t := range a.Ticks {
		f.Ticks = append(f.Ticks, tick(at(t.At), t.Text))
	}
	return f
}

// tick is text at a place, kept within the picture.
func tick(at float64, text string) placed {
	class := "middle"
	if at < 0.04 {
		class = "start"
	} else if at > 0.96 {
		class = "end"
	}
	return placed{X: percent(at), Class: class, Text: text}
}

type plotLine struct {
	document.Series
	Class      string
	Path, Band drawn
}

// Plot draws series over time, each with a band from the least to the most behind it.
func (w *web) Plot(p *document.Plot) {
	w.pictures = true
	v := struct {
		field
		*document.Plot
		Label string
		Lines []plotLine
		Hits  []placed
		Data  template.HTML
	}{field: fieldOf(p.Axis, p.Grid), Plot: p, Label: p.Title, Data: w.behind(p.Table, p.Title)}
	top := p.Grid[len(p.Grid)-1].At
	for i, class := range classes(p.Series, func(s document.Series) document.Sense { return s.Sense }) {
		s := p.Series[i]
		path, band := linePath(s.Points, p.Axis, top)
		v.Lines = append(v.Lines, plotLine{s, class, path, band})
		v.Label += "; " + s.Name + " " + s.Figure
	}
	v.Hits = hits(p.Series, p.Axis)
	w.put("plot", v)
}

// linePath is a line through the means, broken where nothing was seen, and what lies between the least and the most.
func linePath(points []document.Point, a document.Axis, top float64) (line, band drawn) {
	x := func(at float64) string { return number(across * at / a.To) }
	y := func(v float64) string { return number(height * (1 - min(max(v/top, 0), 1))) }
	var l, b strings.Builder
	for from := 0; from < len(points); {
		to := from + 1
		for to < len(points) && points[to].From-points[to-1].To < (points[to].To-points[to].From)/2 {
			to++
		}
		for i, p := range points[from:to] {
			command := "L"
			if i == 0 {
				command = "M"
			}
			middle := x((p.From + p.To) / 2)
			if to-from == 1 { // a point by itself is as wide as what it stands for
				fmt.Fprintf(&l, "M%s %sH%s", x(p.From), y(p.Mean), x(p.To))
			} else {
				l.WriteString(command + middle + " " + y(p.Mean))
			}
			if p.Lo < p.Mean || p.Hi > p.Mean {
				fmt.Fprintf(&b, "M%s %sH%sV%sH%sZ", x(p.From), y(p.Hi), x(p.To), y(p.Lo), x(p.From))
			}
		}
		from = to
	}
	return drawn(l.String()), drawn(b.String())
}

// hits are the stretches that say what is drawn in them where a pointer rests.
func hits(series []document.Series, a document.Axis) (all []placed) {
	text := map[float64][]string{}
	end := map[float64]float64{}
	for _, s := range series {
		for _, p := range s.Points {
			text[p.From] = append(text[p.From], s.Name+", "+p.Text)
			end[p.From] = p.To
		}
	}
	for _, from := range slices.Sorted(maps.Keys(text)) {
		all = append(all, placed{X: number(across * from / a.To),
			W: number(across * (end[from] - from) / a.To), Text: strings.Join(text[from], "; ")})
	}
	return all
}

func (w *web) behind(t *document.Table, title string) template.HTML {
	if t == nil || len(t.Rows) == 0 {
		return ""
	}
	inner := &web{section: title}
	inner.Table(t)
	if w.err == nil {
		w.err = inner.err
	}
	return template.HTML(inner.b.String())
}
