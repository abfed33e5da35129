package render

import (
	"strings"
	"unicode"
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
	left, right = cut(left, width), cut(right, width)
	free := width - columns(left) - columns(right)
	if free < 1 {
		p.line(p.paint(leftStyle, left))
		p.line(strings.Repeat(" ", max(0, width-columns(right))), right)
		return
	}
	p.line(p.paint(leftStyle, left), strings.Repeat(" ", free), right)
}

// wrap breaks text into lines of at most n columns at spaces; a longer word is broken where the line ends.
func wrap(text string, n int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		for columns(w) > n && n > 0 {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head, rest := split(w, n)
			lines, w = append(lines, head), rest
		}
		switch {
		case w == "":
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

// split cuts s after as many characters as fit into n columns, at least one.
func split(s string, n int) (head, rest string) {
	used := 0
	for i, r := range s {
		if used += runeColumns(r); used > n && i > 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// cut shortens s to n columns by leaving out its middle: the end of a path tells more than what is before it.
func cut(s string, n int) string {
	if columns(s) <= n || n < 2 {
		return s
	}
	head, _ := split(s, (n-1)/3)
	tail := s
	for over := columns(s) - (n - 1 - columns(head)); over > 0; {
		r, size := utf8.DecodeRuneInString(tail)
		over -= runeColumns(r)
		tail = tail[size:]
	}
	return head + "…" + tail
}

// columns counts the columns of s on a terminal: two for wide characters, none for those that stand on the one before.
func columns(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// wide holds the blocks of Unicode's EastAsianWidth.txt that are of class W or F throughout, and those of emoji. A block that is wide in part
// counts as wide: a line may come out short, never too long.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x231a, Hi: 0x231b, Stride: 1}, {Lo: 0x23e9, Hi: 0x23f3, Stride: 1}, {Lo: 0x25fd, Hi: 0x25fe, Stride: 1},
		{Lo: 0x2614, Hi: 0x270b, Stride: 1}, {Lo: 0x2728, Hi: 0x27bf, Stride: 1}, {Lo: 0x2b1b, Hi: 0x2b55, Stride: 1}, {Lo: 0x2e80, Hi: 0xa4cf, Stride: 1}, {Lo: 0xa960, Hi: 0xa97f, Stride: 1}, {Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe10, Hi: 0xfe6f, Stride: 1}, {Lo: 0xff01, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x16fe0, Hi: 0x18dff, Stride: 1}, {Lo: 0x1aff0, Hi: 0x1b2ff, Stride: 1}, {Lo: 0x1f000, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-columns(s))) }

func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-columns(s))) + s }

// bar draws a ratio as n characters.
func bar(ratio float64, n int) string {
	full := min(n, max(0, int(ratio*float64(n)+0.5)))
	return strings.Repeat("#", full) + strings.Repeat("-", n-full)
}
