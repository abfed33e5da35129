package render

import (
	"fmt"
	"slices"
	"strings"
)

// section is one part of a report, the same for every format: facts, one table, and sentences under it. Its strings are raw; the writer of
// each format makes them safe. The zero value is an empty section, which no format shows.
type section struct {
	title   string
	about   string // what holds for the whole section
	facts   []fact
	columns []column
	rows    []entry
	notes   []string
}

// fact is a line with a name in front.
type fact struct{ name, text string }

// column is a column of a table; numbers stand at the right.
type column struct {
	name  string
	right bool
}

// entry is a row of a table.
type entry struct {
	cells []string
	share float64 // drawn as a bar behind the cells where a row of the table has one above 0
	copy  string  // a command that goes with the row, on a line of its own
}

func (s section) empty() bool { return len(s.facts) == 0 && len(s.rows) == 0 && len(s.notes) == 0 }

// section writes s for a terminal. No line is wider than the page, but for the commands.
func (p *page) section(s section) {
	if s.empty() {
		return
	}
	p.gap()
	p.apart(safe(s.title), bold, safe(s.about))
	names := 0
	for _, f := range s.facts {
		names = max(names, columns(safe(f.name)))
	}
	names = min(names, width/3)
	for _, f := range s.facts {
		p.wrapped("  "+pad(cut(safe(f.name), names), names)+"  ", safe(f.text))
	}
	p.table(s.columns, s.rows)
	for _, n := range s.notes {
		p.wrapped("  ", safe(n))
	}
}

// leastBar and mostBar bound a bar's length: a shorter one tells nothing, a longer one no more.
const leastBar, mostBar = 6, 20

func (p *page) table(columns []column, rows []entry) {
	if len(rows) == 0 {
		return
	}
	widths, gap := fit(columns, rows)
	free := width - sum(widths) - gap*len(widths) - gap
	bars := slices.ContainsFunc(rows, func(e entry) bool { return e.share > 0 }) && free >= leastBar
	var head []string
	for _, c := range columns {
		head = append(head, c.name)
	}
	p.line(p.paint(dim, strings.TrimRight(line(head, columns, widths, gap), " ")))
	for _, e := range rows {
		l := line(e.cells, columns, widths, gap)
		if bars {
			l += strings.Repeat(" ", gap) + strings.TrimRight(bar(e.share, min(mostBar, free)), "-")
		}
		p.line(l)
		if e.copy != "" {
			p.line("      ", safe(e.copy))
		}
	}
}

// fit gives the widths of a table's columns and the gap before each. Where the page is too narrow the widest columns give way.
func fit(columns []column, rows []entry) (widths []int, gap int) {
	widths = make([]int, len(columns))
	for i, c := range columns {
		widths[i] = columnsOf(c.name)
		for _, e := range rows {
			widths[i] = max(widths[i], columnsOf(e.cells[i]))
		}
	}
	gap = 2
	if sum(widths)+gap*len(widths) > width {
		gap = 1
	}
	for sum(widths)+gap*len(widths) > width {
		widest := slices.Index(widths, slices.Max(widths))
		widths[widest]--
	}
	return widths, gap
}

func columnsOf(raw string) int { return columns(safe(raw)) }

func line(cells []string, columns []column, widths []int, gap int) string {
	var b strings.Builder
	for i, c := range columns {
		b.WriteString(strings.Repeat(" ", gap))
		if text := cut(safe(cells[i]), widths[i]); c.right {
			b.WriteString(padLeft(text, widths[i]))
		} else {
			b.WriteString(pad(text, widths[i]))
		}
	}
	return b.String()
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

// mdTable writes the section's table and the commands of its rows; the commands stand below it.
func mdTable(s section) string {
	if len(s.rows) == 0 {
		return ""
	}
	var b, rule, commands strings.Builder
	for _, c := range s.columns {
		fmt.Fprintf(&b, "| %s ", md(c.name))
		if c.right {
			rule.WriteString("|--:")
		} else {
			rule.WriteString("|:--")
		}
	}
	b.WriteString("|\n" + rule.String() + "|\n")
	name := "" // of rows that belong together it stands in the first
	for _, e := range s.rows {
		for _, cell := range e.cells {
			fmt.Fprintf(&b, "| %s ", md(cell))
		}
		b.WriteString("|\n")
		if e.cells[0] != "" {
			name = e.cells[0]
		}
		if e.copy != "" {
			fmt.Fprintf(&commands, "\n%s:\n%s", md(name), mdCommand(e.copy))
		}
	}
	return b.String() + commands.String()
}

// mdBody writes everything of a section but its title.
func mdBody(s section) string {
	var b strings.Builder
	for _, f := range s.facts {
		fmt.Fprintf(&b, "- %s: %s\n", md(f.name), md(f.text))
	}
	if len(s.facts) > 0 && len(s.rows) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(mdTable(s))
	for _, n := range s.notes {
		fmt.Fprintf(&b, "\n%s\n", md(n))
	}
	return b.String()
}

// sentence begins text with a capital and ends it with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}

// mdCommand writes a command to copy, spaces as they are. An HTML block needs no fence that a command could close.
func mdCommand(s string) string {
	var b strings.Builder
	for i, word := range strings.Split(safe(s), " ") {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(mdEscape(word))
	}
	return "<pre>" + b.String() + "</pre>\n"
}
