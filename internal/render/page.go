package render

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/document"
)

// usual is the width of a terminal that has not said otherwise, narrowest the least that a document is laid out for.
const usual, narrowest = 80, 60

// page is text for a terminal in the making. No line is wider than it, but for commands and diffs, which are there to
// be copied.
type page struct {
	b     strings.Builder
	color bool
	width int
}

func newPage(o Options) *page {
	p := &page{color: o.Color, width: usual}
	if o.Width > 0 {
		p.width = max(narrowest, o.Width)
	}
	return p
}

// The styles in use. Colour never carries meaning alone: a word or a symbol says the same.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
	plain  = "\x1b[0m"
)

// styles are those of tones.
var styles = map[document.Tone]visible{document.Good: green, document.Caution: yellow, document.Bad: red}

func (p *page) paint(style, s visible) visible {
	if !p.color || style == "" {
		return s
	}
	return style + s + plain
}

func (p *page) line(parts ...visible) {
	var whole strings.Builder
	for _, s := range parts {
		whole.WriteString(string(s))
	}
	p.b.WriteString(strings.TrimRight(whole.String(), " ") + "\n")
}

func (p *page) gap() { p.b.WriteByte('\n') }

// wrapped writes text with first in front of its first line and spaces of the same width before the others.
func (p *page) wrapped(first, text visible) { p.painted("", first, text) }

func (p *page) painted(style, first, text visible) {
	for i, l := range wrap(text, p.width-columns(first)) {
		if i > 0 {
			first = spaces(columns(first))
		}
		p.line(first, p.paint(style, l))
	}
}

// apart writes left and right at the two edges, on two lines where they do not fit on one.
func (p *page) apart(style, left, right visible) {
	left, right = cut(left, p.width), cut(right, p.width)
	free := p.width - columns(left) - columns(right)
	switch {
	case right == "":
		p.line(p.paint(style, left))
	case free < 1:
		p.line(p.paint(style, left))
		p.line(spaces(p.width-columns(right)), right)
	default:
		p.line(p.paint(style, left), spaces(free), right)
	}
}

// leastBar and mostBar bound the length of a bar behind a row: a shorter one says nothing, a longer one no more.
const leastBar, mostBar = 6, 20

func (p *page) Table(t *document.Table) {
	widths, gap := p.fit(t)
	row := func(cells []visible) (line visible) {
		for i, c := range t.Columns {
			line += spaces(gap)
			if text := cut(cells[i], widths[i]); c.Right {
				line += padLeft(text, widths[i])
			} else {
				line += pad(text, widths[i])
			}
		}
		return line
	}
	var head []visible
	free := p.width - gap
	for i, c := range t.Columns {
		head = append(head, safe(c.Name))
		free -= widths[i] + gap
	}
	p.line(p.paint(dim, visible(strings.TrimRight(string(row(head)), " "))))
	bars := slices.ContainsFunc(t.Rows, func(r document.Row) bool { return r.Share > 0 }) && free >= leastBar
	for _, r := range t.Rows {
		var texts []visible
		for _, c := range r.Cells {
			texts = append(texts, safe(c.Text))
		}
		line := row(texts)
		if bars {
			full, _, _ := strings.Cut(string(bar(r.Share, min(mostBar, free))), "-")
			line += spaces(gap) + visible(full)
		}
		p.line(line)
		p.copied("      ", r.Copy)
	}
}

// fit gives the widths of a table's columns and the gap before each. Where the page is too narrow the widest columns
// give way.
func (p *page) fit(t *document.Table) (widths []int, gap int) {
	all := 0
	for i, c := range t.Columns {
		w := columns(safe(c.Name))
		for _, r := range t.Rows {
			w = max(w, columns(safe(r.Cells[i].Text)))
		}
		widths, all = append(widths, w), all+w
	}
	gap = 2
	if all+gap*len(widths) > p.width {
		gap = 1
	}
	for ; all+gap*len(widths) > p.width; all-- {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
	return widths, gap
}

// bar draws a ratio as n characters.
func bar(ratio float64, n int) visible {
	full := min(n, max(0, int(ratio*float64(n)+0.5)))
	return visible(strings.Repeat("#", full) + strings.Repeat("-", n-full))
}
