package top

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/unit"
)

// row is a line of the overview: a figure, its curve, and what goes with it.
type row struct {
	name, now string
	style     string
	past      []float64
	top       float64 // where the curve is full
	aside     string
}

// overviewPage is what the job does now, and what holds it back below.
func (m *model) overviewPage(w, h int) []string {
	rows := m.rows()
	answer := m.answer(w)
	// A small screen keeps the head of the answer, and as many rows as then fit.
	least := min(len(answer), 2)
	if h < 8 {
		least = min(least, max(0, h-3))
	}
	rows = rows[:max(0, min(len(rows), h-least))]
	var page []string
	for _, r := range rows {
		page = append(page, m.draw(r, w))
	}
	if len(page)+len(answer) < h && w >= 40 {
		page = append([]string{""}, page...)
	}
	return append(page, answer...)
}

// The columns of a row.
const (
	nameWidth, nowWidth   = 9, 11
	leastCurve, mostCurve = 8, 80
	leastAside            = 12
)

func (m *model) draw(r row, w int) string {
	name, left := nameWidth, w-2-nameWidth-nowWidth-2
	if left < leastCurve && w < 30 {
		name = 5
		left = w - 2 - name - nowWidth - 1
	}
	line := " " + m.paint(bold, pad(ansi.Truncate(r.name, name, ""), name)) + " " +
		m.paint(r.style, padLeft(r.now, nowWidth))
	if left < 2 {
		return line
	}
	curve := left
	if left >= leastCurve+leastAside {
		curve = min(mostCurve, max(leastCurve, left-44), left/2+4)
	}
	line += "  " + m.paint(r.style, m.curve(r.past, curve, r.top))
	if aside := left - curve - 2; aside >= leastAside-2 && r.aside != "" {
		line += "  " + ansi.Truncate(r.aside, aside, m.dots())
	}
	return line
}

// rows are the figures of the overview, the most telling first.
func (m *model) rows() (rows []row) {
	f := m.shown()
	rows = append(rows, m.gpuRows(f)...)
	rows = append(rows, m.loaderRows(f)...)
	if busy, ok := f.Get(metric.CPUBusyRatio, live.Owner{}); ok {
		job, known := f.Get(metric.JobCPU, live.Owner{})
		usable, limited := f.Get(metric.CPUUsable, live.Owner{})
		aside := ""
		if known {
			aside = "job " + unit.Number(job.Now)
			if limited {
				aside += " of " + unit.Number(usable.Now)
			}
			aside += " cores"
		}
		rows = append(rows, row{"CPU", unit.Percent(busy.Now), "", busy.Past, 1, aside})
	}
	if r, ok := memoryRow(f); ok {
		rows = append(rows, r)
	}
	for _, disk := range f.All(metric.DiskByteRate) {
		if !disk.Known() {
			continue
		}
		aside := disk.Of.Device
		if busy, ok := f.Get(metric.DiskUtil, disk.Of); ok {
			aside += ", busy " + unit.Percent(busy.Now)
		}
		rows = append(rows, row{"disk", unit.Format(disk.Now, "bytes/s"), "", disk.Past, highest(disk.Past), aside})
	}
	return rows
}

// gpuRows are the GPUs of the job, each with its memory.
func (m *model) gpuRows(f *live.Frame) (rows []row) {
	gpus := f.All(metric.GPUUtil)
	if len(gpus) == 0 {
		return []row{{name: "GPU", now: "not seen", style: dim, aside: "pipetune doctor says why"}}
	}
	order := map[string]int{}
	names := map[string]string{}
	if m.verdict.Report != nil {
		for i, g := range m.verdict.Host.GPUs {
			order[g.UUID], names[g.UUID] = i, g.Name
		}
	}
	slices.SortStableFunc(gpus, func(a, b live.Figure) int {
		return cmp.Or(cmp.Compare(order[a.Of.Device], order[b.Of.Device]), strings.Compare(a.Of.Device, b.Of.Device))
	})
	for i, g := range gpus {
		name := "GPU"
		if len(gpus) > 1 {
			name = fmt.Sprintf("GPU %d", i)
		}
		aside := names[g.Of.Device]
		if power, ok := f.Get(metric.GPUPower, g.Of); ok {
			aside = strings.TrimPrefix(aside+", "+unit.Format(power.Now, "W"), ", ")
		}
		used, known := f.Get(metric.GPUMemUsed, g.Of)
		total, sized := f.Get(metric.GPUMemTotal, g.Of)
		memory := row{name: "VRAM", past: used.Past, top: total.Now}
		if known && sized {
			memory.now, memory.aside = unit.Percent(used.Now/total.Now), unit.Bytes(used.Now)+" of "+
				unit.Bytes(total.Now)
		}
		if len(gpus) > 1 && memory.now != "" {
			aside = strings.TrimSuffix("VRAM "+memory.now+", "+aside, ", ")
		}
		now := row{name, "–", "", g.Past, 1, aside}
		if g.Known() {
			now.now = unit.Percent(g.Now)
		}
		if rows = append(rows, now); len(gpus) == 1 && memory.now != "" {
			rows = append(rows, memory)
		}
	}
	return rows
}

// loaderRows are of the trainer that waits most.
func (m *model) loaderRows(f *live.Frame) (rows []row) {
	rank, several := "", len(f.Ranks) > 1
	if len(f.Ranks) > 0 {
		rank = f.Ranks[0]
	}
	most := math.Inf(-1)
	for _, w := range f.All(metric.InputWait) {
		if w.Known() && w.Now > most {
			most, rank = w.Now, w.Of.Rank
		}
	}
	of := live.Owner{Rank: rank}
	wait, ok := f.Get(metric.InputWait, of)
	now := row{"data wait", "–", dim, nil, 1, "of a loader without workers, see the verdict"}
	if ok {
		now = row{"data wait", unit.Percent(wait.Now), grade(wait.Now), wait.Past, 1, "of the trainer's time"}
	} else if workers, known := f.Get(metric.NumWorkers, of); known && workers.Now > 0 {
		now.aside = "not read yet"
	}
	if stall := m.stall(); stall != "" {
		now.aside = stall
	}
	if several {
		now.aside = "rank " + rank + ", " + now.aside
	}
	rows = append(rows, now)
	if batches, ok := f.Get(metric.BatchesPerS, of); ok {
		aside := ""
		if queue, known := f.Get(metric.QueueBatches, of); known {
			aside = unit.Number(math.Round(queue.Now*10)/10) + " held by workers, ready or being made"
		}
		rows = append(rows, row{"batches", unit.Format(batches.Now, "1/s"), "", batches.Past, highest(batches.Past),
			aside})
	}
	if workers, ok := f.Get(metric.NumWorkers, of); ok && workers.Now > 0 {
		shares := make([]float64, len(live.States))
		for i, s := range live.States {
			if g, known := f.Get(metric.Workers, live.Owner{Rank: rank, State: s.Name}); known {
				shares[i] = g.Now / workers.Now
			}
		}
		rows = append(rows, row{name: "workers", now: unit.Number(workers.Now), aside: m.legend(shares),
			past: running(f, rank), top: workers.Now})
	}
	return rows
}

// running is how many workers were not idle, frame by frame.
func running(f *live.Frame, rank string) (past []float64) {
	for _, s := range live.States {
		g, _ := f.Get(metric.Workers, live.Owner{Rank: rank, State: s.Name})
		if s.Name == "idle" {
			continue
		}
		if past == nil {
			past = make([]float64, len(g.Past))
		}
		for i := range min(len(past), len(g.Past)) {
			past[i] += g.Past[i]
		}
	}
	return past
}

// stall is what the last report says of the device's wait, which is not the trainer's.
func (m *model) stall() string {
	if m.verdict.Report == nil || m.verdict.Verdict == nil || m.verdict.Verdict.Step.DataStall == nil {
		return ""
	}
	return "data stall " + unit.Percent(m.verdict.Verdict.Step.DataStall.Center) + ", by the verdict"
}

// grade is the style of a share of time in which nothing but waiting is done: the two lines that the verdict goes by
// too.
func grade(ratio float64) string {
	switch {
	case ratio >= 0.20:
		return red
	case ratio >= 0.05:
		return yellow
	}
	return green
}

// memoryRow is the machine's memory, or the job's limit where that is nearer.
func memoryRow(f *live.Frame) (row, bool) {
	total, ok := f.Get(metric.MemTotal, live.Owner{})
	free, known := f.Get(metric.MemAvailable, live.Owner{})
	if !ok || !known {
		return row{}, false
	}
	used := make([]float64, len(free.Past))
	for i, v := range free.Past {
		used[i] = total.Now - v
	}
	r := row{"RAM", unit.Percent(1 - free.Now/total.Now), "", used, total.Now, unit.Bytes(total.Now-free.Now) + " of " +
		unit.Bytes(total.Now)}
	limit, limited := f.Get(metric.CgroupMemLimit, live.Owner{})
	if charged, ok := f.Get(metric.CgroupMemUsed, live.Owner{}); ok && limited && limit.Now < total.Now {
		r.aside += "; of its limit " + unit.Percent(charged.Now/limit.Now)
	}
	return r, true
}

// answer is the verdict with the first fix, as `pipetune diagnose` has it.
func (m *model) answer(w int) []string {
	if m.verdict.Report == nil {
		text := " a first verdict comes after ten seconds"
		if m.verdict.last {
			text = " too little was seen for a verdict"
		}
		return []string{m.rule(w, "verdict"), text}
	}
	word := fmt.Sprintf("verdict on the %s up to %s", unit.Seconds(math.Round(m.verdict.Window.DurationS)),
		clock(m.verdict.at))
	if m.verdict.last {
		word = "verdict on its last " + unit.Seconds(math.Round(m.verdict.Window.DurationS))
	}
	return append([]string{m.rule(w, word)}, m.text(render.Answer(m.verdict.Report, m.options(w, false)), w)...)
}

func (m *model) options(w int, verbose bool) render.Options {
	return render.Options{Color: m.Color, Width: min(w-2*margin(w), 120), Verbose: verbose}
}

// margin is the space at both sides of text; none where a line of a report, which takes 60 columns, needs it.
func margin(w int) int { return min(1, max(0, (w-60)/2)) }

func (m *model) text(s string, w int) (lines []string) {
	if w < 60 {
		s = ansi.Wrap(s, w, "")
	}
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		lines = append(lines, spaces(margin(w))+line)
	}
	return lines
}
