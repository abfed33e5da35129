package top

import (
	"math"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/pipetune/pipetune/internal/document"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// The styles in use. Colour never carries meaning alone.
const (
	bold    = "\x1b[1m"
	dim     = "\x1b[2m"
	reverse = "\x1b[7m"
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	blue    = "\x1b[34m"
	magenta = "\x1b[35m"
	plain   = "\x1b[0m"
)

// paint styles s. Without colour what is bold, dim or reversed stays so.
func (m *model) paint(style, s string) string {
	if style == "" || s == "" || !m.Color && strings.HasPrefix(style, "\x1b[3") {
		return s
	}
	return style + s + plain
}

// usual is the size of a terminal that does not tell its own.
const usualWidth, usualHeight = 80, 24

// View draws the screen: the title, the page, the keys.
func (m *model) View() tea.View {
	w, h := m.width, m.height
	lines := []string{m.title(w)}
	room := h - 2
	if h < 4 { // the keys give way
		room = h - 1
	}
	page := m.page(w, max(0, room))
	lines = append(lines, page[:min(len(page), max(0, room))]...)
	for len(lines) <= room {
		lines = append(lines, "")
	}
	if h >= 4 {
		lines = append(lines, m.keys(w))
	}
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], w, "")
	}
	v := tea.NewView(strings.Join(lines[:min(len(lines), h)], "\n"))
	v.AltScreen = true
	return v
}

func (m *model) page(w, h int) []string {
	switch {
	case m.help:
		return m.scrolled(helpPage(), h)
	case m.shown() == nil:
		return []string{"", " reading the job …"}
	case m.view == workers:
		return m.scrolled(m.workersPage(w), h)
	case m.view == findings:
		return m.scrolled(m.findingsPage(w), h)
	}
	return m.overviewPage(w, h)
}

func (m *model) scrolled(page []string, h int) []string {
	m.scroll = max(0, min(m.scroll, len(page)-h))
	return page[m.scroll:]
}

// title is the first line: what is watched, and since when.
func (m *model) title(w int) string {
	job := m.Job
	if m.verdict.Report != nil && m.verdict.Job != nil {
		job = m.verdict.Job
	}
	right := m.state() + " "
	left := " " + untrusted.Sanitize(document.Subject(job))
	if w < 50 {
		left = " " + untrusted.Sanitize(report.Script(job.Command))
	}
	if ansi.StringWidth(left)+ansi.StringWidth(right)+1 > w {
		left = ansi.Truncate(left, max(0, w-ansi.StringWidth(right)-1), m.dots())
	}
	return m.paint(reverse, ansi.Truncate(left+spaces(w-ansi.StringWidth(left)-ansi.StringWidth(right))+right, w, ""))
}

// keys is the last line: what was said, or what can be done.
func (m *model) keys(w int) string {
	if m.note != "" {
		return ansi.Truncate(" "+untrusted.Sanitize(m.note), w, m.dots())
	}
	line := ""
	for _, k := range [][2]string{{"q", "quit"}, {"?", "help"}, {"Tab", names[(m.view+1)%views]},
		{"Space", map[bool]string{true: "go on", false: "pause"}[m.paused]},
		{"s", "save a report"}} {
		next := line + " " + m.paint(bold, k[0]) + " " + m.paint(dim, k[1]) + " "
		if ansi.StringWidth(next) > w {
			break
		}
		line = next
	}
	return line
}

func (m *model) rule(w int, word string) string {
	stroke := "─"
	if m.ASCII {
		stroke = "-"
	}
	head := strings.Repeat(stroke, 2) + " " + word + " "
	if word == "" {
		head = ""
	}
	return m.paint(dim, " "+head+strings.Repeat(stroke, max(0, w-2-ansi.StringWidth(head))))
}

func (m *model) dots() string {
	if m.ASCII {
		return "~"
	}
	return "…"
}

// The steps of a curve, from nothing to all.
var (
	blocks   = []rune("▁▂▃▄▅▆▇█")
	asciiLow = []rune("_.-=+*%#")
)

// curve draws the last values as n columns, each between nothing and top. What is not known is blank.
func (m *model) curve(past []float64, n int, top float64) string {
	steps := blocks
	if m.ASCII {
		steps = asciiLow
	}
	past = past[max(0, len(past)-n):]
	var b strings.Builder
	b.WriteString(spaces(n - len(past)))
	for _, v := range past {
		switch {
		case math.IsNaN(v) || top <= 0:
			b.WriteByte(' ')
		default:
			b.WriteRune(steps[max(0, min(len(steps)-1, int(v/top*float64(len(steps)))))])
		}
	}
	return b.String()
}

// highest is the greatest value known; 0 where there is none.
func highest(past []float64) (top float64) {
	for _, v := range past {
		if v > top { // false of what is not known
			top = v
		}
	}
	return top
}

func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

func padLeft(s string, n int) string { return spaces(n-ansi.StringWidth(s)) + s }

func pad(s string, n int) string { return s + spaces(n-ansi.StringWidth(s)) }
