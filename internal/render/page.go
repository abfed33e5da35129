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
	shown := t.Columns[:len(widths)]
	row := func(cells []visible) (lines []visible) {
		from := 0
		for i, c := range shown {
			for k, text := range inLines(cells[i], widths[i]) {
				if k == len(lines) {
					lines = append(lines, "")
				}
				if c.Right {
					text = padLeft(text, widths[i])
				}
				lines[k] = pad(lines[k], from) + spaces(gap) + text
			}
			from += gap + widths[i]
		}
		lines[0] = pad(lines[0], from)
		return lines
	}
	var head []visible
	for _, c := range shown {
		head = append(head, safe(c.Name))
	}
	for _, line := range row(head) {
		p.line(p.paint(dim, visible(strings.TrimRight(string(line), " "))))
	}
	free := p.width - gap
	for _, w := range widths {
		free -= w + gap
	}
	bars := slices.ContainsFunc(t.Rows, func(r document.Row) bool { return r.Share > 0 }) && free >= leastBar
	for _, r := range t.Rows {
		var texts []visible
		for _, c := range r.Cells[:len(shown)] {
			texts = append(texts, safe(c.Text))
		}
		lines := row(texts)
		if bars {
			full, _, _ := strings.Cut(string(bar(r.Share, min(mostBar, free))), "-")
			lines[0] += spaces(gap) + visible(full)
		}
		for _, line := range lines {
			p.line(line)
		}
		p.copied("      ", r.Copy)
	}
	if left := t.Columns[len(shown):]; len(left) > 0 {
		var names []string
		for _, c := range left {
			names = append(names, c.Name)
		}
		p.painted(dim, spaces(gap), safe("a wider terminal also has: "+strings.Join(names, ", ")))
	}
}

// inLines is a cell in lines of a column's width: broken at spaces, and a single word cut in its middle.
func inLines(cell visible, width int) []visible {
	switch {
	case columns(cell) <= width:
		return []visible{cell}
	case !strings.Contains(string(cell), " "):
		return []visible{cut(cell, width)}
	}
	return wrap(cell, width)
}

// leastColumns are shown however narrow a page is.
const leastColumns = 3

// fit gives the widths of the columns that a page has room for, and the gap before each. Where it is too narrow names
// are broken into lines, the widest column's before others'; then, narrower than usual, the last columns are left out;
// then figures are broken, and words cut.
func (p *page) fit(t *document.Table) (widths []int, gap int) {
	var words []int // the longest of each column; one of more than a third of the page is cut
	for i, c := range t.Columns {
		width, word := 0, 0
		measure := func(text string) {
			width = max(width, columns(safe(text)))
			for w := range strings.FieldsSeq(text) {
				word = max(word, columns(safe(w)))
			}
		}
		measure(c.Name)
		for _, r := range t.Rows {
			measure(r.Cells[i].Text)
		}
		widths, words = append(widths, width), append(words, min(word, p.width/3))
	}
	gap = 2
	over := func() int {
		all := gap*len(widths) - p.width
		for _, w := range widths {
			all += w
		}
		return all
	}
	if over() > 0 {
		gap = 1
	}
	narrow := func(may func(i int) bool) {
		for over() > 0 {
			widest := -1
			for i := range widths {
				if may(i) && (widest < 0 || widths[i] > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				return
			}
			widths[widest]--
		}
	}
	full := slices.Clone(widths)
	least := len(full)
	if p.width < usual {
		least = min(leastColumns, least)
	}
	for n := len(full); n >= least; n-- {
		widths = slices.Clone(full[:n])
		if narrow(func(i int) bool { return !t.Columns[i].Right && widths[i] > words[i] }); over() <= 0 {
			return widths, gap
		}
	}
	narrow(func(i int) bool { return widths[i] > words[i] })
	narrow(func(i int) bool { return widths[i] > 1 })
	return widths, gap
}

func bar(ratio float64, n int) visible {
	full := min(n, max(0, int(ratio*float64(n)+0.5)))
	return visible(strings.Repeat("#", full) + strings.Repeat("-", n-full))
}
