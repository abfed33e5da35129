package top

import (
	"fmt"
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/unit"
)

// marks are the letters and colours of the states of workers, in the order of live.States.
var marks = []struct{ letter, style string }{{"R", green}, {"S", yellow}, {"L", red}, {"H", magenta}, {"o", blue},
	{".", dim}}

// legend names shares of time, the letters of the bar in front; what rounds to nothing is left out.
func (m *model) legend(shares []float64) string {
	var parts []string
	for i, s := range live.States {
		if shares[i] >= 0.005 {
			parts = append(parts, m.paint(marks[i].style, s.Name)+" "+unit.Percent(math.Round(shares[i]*100)/100))
		}
	}
	return strings.Join(parts, "  ")
}

func (m *model) bar(shares []float64, n int) string {
	var b strings.Builder
	drawn, upTo := 0, 0.0
	for i, share := range shares {
		upTo += share
		end := min(n, int(math.Round(upTo*float64(n))))
		b.WriteString(m.paint(marks[i].style, strings.Repeat(marks[i].letter, max(0, end-drawn))))
		drawn = max(drawn, end)
	}
	return b.String() + spaces(n-drawn)
}

func (m *model) workersPage(w int) []string {
	f := m.shown()
	if len(f.Workers) == 0 {
		return []string{"", " no loader workers now: the trainer loads its data itself, or something else feeds it"}
	}
	several := len(f.Ranks) > 1
	head := fmt.Sprintf(" %7s %7s %10s  ", "pid", "CPU", "memory")
	if several {
		head = " rank" + head
	}
	var keys []string
	for i, s := range live.States {
		keys = append(keys, m.paint(marks[i].style, marks[i].letter)+" "+s.Name)
	}
	page := []string{ansi.Truncate(m.paint(dim, head)+strings.Join(keys, "  "), w, "")}
	for _, k := range f.Workers {
		line := fmt.Sprintf(" %7d %7s %10s  ", k.PID, unit.Percent(k.CPU), unit.Bytes(k.RSS))
		if several {
			line = fmt.Sprintf(" %4s", k.Rank) + line
		}
		if room := w - ansi.StringWidth(line) - 1; room >= 4 {
			line += m.bar(k.States, min(room, 100))
		}
		page = append(page, line)
	}
	return page
}

func (m *model) findingsPage(w int) []string {
	if m.verdict.Report == nil {
		return m.answer(w)
	}
	var b strings.Builder
	text := render.Formats()[0]
	if err := text.Write(&b, render.Report(m.verdict.Report), m.options(w, true)); err != nil {
		return []string{"", " " + err.Error()}
	}
	return append([]string{""}, m.text(b.String(), w)...)
}

// helpText says what the keys do, and what the lines of the overview are.
const helpText = `
 q, Ctrl-C      quit; the job runs on
 ?              this page
 Tab            next view: overview, workers, findings
 Space          hold the screen still; the watch goes on
 s              save a report: what diagnose -o writes
 Up, Down       scroll, also j and k, PgUp and PgDn, Home
 Ctrl-Z, Ctrl-L suspend; draw anew

 Curves have a column a second; figures are means of five.

 GPU        share of the time in which a kernel ran
 data wait  share of the time in which the trainer waits for a
            batch; the data stall is the share in which the
            device lacks one, by the last verdict
 batches    handed over a second; the queue is what workers hold
 workers    how many, how many are not idle (the curve), and
            what they do with their time
 CPU        of the whole machine; what the job takes beside it
 RAM        in use on the machine, beyond what can be freed
 disk       read from the devices that hold the dataset

 The verdict is what diagnose would say of the last minute.
 It is made anew after 10, 20, 40 and 80 s, then each minute.`

func helpPage() []string { return strings.Split(helpText, "\n") }
