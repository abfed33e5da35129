package render

import (
	"strings"
	"unicode/utf8"
)

// width is the number of columns a text report keeps to.
const width = 80

// page is a text report in the making.
type page struct {
	b     strings.Builder
	color bool
}

// The colours in use. Colour never carries meaning alone: a word or a symbol says the same.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
	plain  = "\x1b[0m"
)

func (p *page) paint(style, s string) string {
	if !p.color || style == "" {
		return s
	}
	return style + s + plain
}

func (p *page) line(parts ...string) {
	p.b.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	p.b.WriteByte('\n')
}

func (p *page) gap() { p.b.WriteByte('\n') }

func (p *page) heading(s string) {
	p.gap()
	p.line(p.paint(bold, s))
}

// wrapped writes text with first in front of its first line and spaces of the same width before the others.
func (p *page) wrapped(first, text string) {
	indent := strings.Repeat(" ", columns(first))
	for i, l := range wrap(text, width-columns(first)) {
		if i == 0 {
			p.line(first, l)
		} else {
			p.line(indent, l)
		}
	}
}

// apart writes left and right at the two edges, on two lines where they do not fit on one.
func (p *page) apart(left, leftStyle, right string) {
	free := width - columns(left) - columns(right)
	if free < 1 {
		p.line(p.paint(leftStyle, left))
		p.line(strings.Repeat(" ", max(0, width-columns(right))), right)
		return
	}
	p.line(p.paint(leftStyle, left), strings.Repeat(" ", free), right)
}

// wrap breaks text into lines of at most n columns at spaces; a longer word stands alone.
func wrap(text string, n int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		switch {
		case line == "":
			line = w
		case columns(line)+1+columns(w) <= n:
			line += " " + w
		default:
			lines = append(lines, line)
			line = w
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// columns counts the columns of s: its runes, as no wide or combining character passes the gate of package untrusted unescaped in names,
// and our own words have none.
func columns(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-columns(s))) }

func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-columns(s))) + s }

// bar draws a ratio as n characters.
func bar(ratio float64, n int) string {
	full := min(n, max(0, int(ratio*float64(n)+0.5)))
	return strings.Repeat("#", full) + strings.Repeat("-", n-full)
}
