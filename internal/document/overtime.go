package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/timeline"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// plots are the pictures over time, with the series in each; one without readings is left out.
var plots = []struct {
	title  string
	series []plotted
	share  bool // of shares of time: the axis ends at 100 %
}{
	{"Data stall", []plotted{
		{metric.InputWait, "trainer waits for data", Waiting},
		{metric.Starved, "GPU lacks data, by its own clock", Other},
		{metric.GPUBusy, "GPU busy", Working}}, true},
	{"Throughput, batches", []plotted{{metric.BatchesPerS, "batches", Working}}, false},
	{"CPU", []plotted{
		{metric.UsableBusy, "in use, of usable", Working},
		{metric.CPUPressure, "some task waits for a CPU", Waiting}}, true},
	{"Storage", []plotted{{metric.IOPressure, "some task waits for storage", Waiting}}, true},
	{"Storage, read", []plotted{{metric.DiskByteRate, "read from the dataset's devices", Working}}, false},
}

type plotted struct {
	signal metric.Desc
	name   string
	sense  Sense
}

// seriesless says why a page of a report has no pictures over time, and how to get them.
const seriesless = "This was made from a report, which holds no figures over time. Made from the recording it has " +
	"them: pipetune diagnose -o run.jsonl, then pipetune report run.jsonl -o page.html. A page that diagnose itself " +
	"writes has them too."

// overTime is the watch as it went.
func overTime(r *report.Report, t *timeline.Timeline) Section {
	s := Section{Title: "Over time", Weight: Drawn}
	if t == nil || t.To <= 0 {
		s.add(Note(seriesless))
		return s
	}
	s.About = thinned(t) + marked(t)
	axis := axisOf(t)
	for _, p := range plots {
		plot := &Plot{Title: p.title, Axis: axis}
		top, u := 0.0, string(p.series[0].signal.Unit)
		for _, x := range p.series {
			if one, most, ok := seriesOf(t, x); ok {
				plot.Series, top = append(plot.Series, one), max(top, most)
			}
		}
		if p.share {
			top = 1
		}
		plot.Grid, plot.Table = grid(top, u), pointsTable(plot.Series, u)
		s.add(plot)
	}
	s.Parts = slices.Insert(s.Parts, min(1, len(s.Parts)), workerParts(r, t, axis)...)
	return s
}

// thinned says what one point of a picture stands for.
func thinned(t *timeline.Timeline) string {
	window := unit.Seconds(t.Window)
	text := "each point is the mean of " + window
	if t.Per > 1 {
		text = fmt.Sprintf("each point is the mean of %d windows of %s, the band behind it from the least of them to "+
			"the most", t.Per, window)
	}
	if t.OneOf > 1 {
		text += fmt.Sprintf("; of %d readings one was kept", t.OneOf)
	}
	return text
}

// marked says what is marked in the pictures.
func marked(t *timeline.Timeline) (text string) {
	if t.Steady.From > 0 {
		text = "; shaded: the warm-up and what is of no whole epoch, which no other figure is of"
		if !t.WholeEpochs {
			text = "; shaded: the warm-up, which no other figure is of"
		}
	}
	if len(t.Gaps) > 0 {
		text += "; shaded, too: what was left out because the job or pipetune stood still"
	}
	if len(t.Epochs) == 0 {
		return text
	}
	if t.Epochs[0].Reported {
		return text + "; dashed: an epoch begins"
	}
	return text + "; dashed: new workers are started, as at the begin of an epoch"
}

// seriesOf is a signal's series, with the most that it comes to.
func seriesOf(t *timeline.Timeline, p plotted) (s Series, most float64, ok bool) {
	i := slices.IndexFunc(t.Lines, func(l timeline.Line) bool { return l.Signal == p.signal.Name })
	if i < 0 {
		return s, 0, false
	}
	u := string(p.signal.Unit)
	s = Series{Name: p.name, Sense: p.sense}
	total, length := 0.0, 0.0
	for _, b := range t.Lines[i].Buckets {
		text := clock(b.From) + " – " + clock(b.To) + ": " + unit.Format(b.Mean, u)
		if t.Per > 1 {
			text += " (" + span(b.Lo, b.Hi, u) + ")"
		}
		s.Points = append(s.Points, Point{b, text})
		most = max(most, b.Hi)
		inside := min(b.To, t.Steady.To) - max(b.From, t.Steady.From)
		if inside > 0 {
			total, length = total+b.Mean*inside, length+inside
		}
	}
	if length > 0 {
		s.Figure = unit.Format(total/length, u)
	}
	return s, most, true
}

// axisOf is a watch's axis, with its epochs and what no figure is of.
func axisOf(t *timeline.Timeline) Axis {
	a := Axis{To: t.To}
	step := timeStep(t.To)
	for at := 0.0; at <= t.To; at += step {
		a.Ticks = append(a.Ticks, Tick{at, clock(at)})
	}
	if t.Steady.From > 0 {
		what := "warm-up, dropped"
		if t.WholeEpochs {
			what = "warm-up, or of no whole epoch: dropped"
		}
		a.Shaded = append(a.Shaded, Stretch{timeline.Span{To: t.Steady.From}, what})
	}
	if t.WholeEpochs && t.Steady.To < t.To {
		a.Shaded = append(a.Shaded, Stretch{timeline.Span{From: t.Steady.To, To: t.To},
			"of no whole epoch: dropped"})
	}
	for _, g := range t.Gaps {
		a.Shaded = append(a.Shaded, Stretch{timeline.Span{From: max(g.From, 0), To: min(g.To, t.To)},
			"left out: the job or pipetune stood still"})
	}
	a.Marks = epochMarks(t.Epochs)
	return a
}

// namedMarks is how many have room for more than their number.
const namedMarks = 5

// mostMarks is how many moments can be distinguished on an axis; of more each second one is marked, or each fourth, and
// so on.
const mostMarks = 24

func epochMarks(epochs []timeline.Epoch) (marks []Tick) {
	every := 1
	for len(epochs)/every > mostMarks {
		every *= 2
	}
	for i := 0; i < len(epochs); i += every {
		text := ""
		if e := epochs[i]; e.Reported {
			text = strconv.Itoa(e.Number + 1)
			if len(epochs) <= namedMarks {
				text = "epoch " + text
			}
		}
		marks = append(marks, Tick{epochs[i].At, text})
	}
	return marks
}

// timeStep is a round number of seconds of which a length of time has from four to eight or so.
func timeStep(length float64) float64 {
	for _, s := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200} {
		if length/s <= 7 {
			return s
		}
	}
	return 86400 * math.Ceil(length/86400/7)
}

// clock writes a moment of a watch: seconds below two minutes, then minutes and hours.
func clock(s float64) string {
	switch {
	case s < 120:
		return unit.Number(s) + " s"
	case s < 7200:
		return fmt.Sprintf("%d:%02d min", int(s)/60, int(s)%60)
	}
	return fmt.Sprintf("%d:%02d h", int(s)/3600, int(s)/60%60)
}

// mostGrid is into how many parts lines divide the height of a picture, at the most.
const mostGrid = 4

// grid is where lines are drawn behind figures from 0 to top: 0, round numbers, and the end, which is one.
func grid(top float64, u string) (ticks []Tick) {
	if !(top > 0) {
		top = 1
	}
	step := 1.0
	if u == string(metric.Bytes) || u == string(metric.BytesPerS) { // a round number of MiB is no round number of bytes
		for step*1024 <= top {
			step *= 1024
		}
	}
	step *= math.Pow(10, math.Floor(math.Log10(top/step)))
	for _, n := range []float64{0.25, 0.5, 1, 2, 2.5} {
		if top/(n*step) <= mostGrid {
			step *= n
			break
		}
	}
	for i := range int(math.Ceil(top/step-1e-9)) + 1 {
		ticks = append(ticks, Tick{float64(i) * step, unit.Format(float64(i)*step, u)})
	}
	return ticks
}

// tableRows is how many rows the table of a picture has at the most.
const tableRows = 20

// pointsTable has the figures of a picture in words, those of neighbouring points as one.
func pointsTable(series []Series, u string) *Table {
	t := &Table{Columns: []Column{{"from", true}, {"to", true}}}
	var starts []float64
	for _, s := range series {
		t.Columns = append(t.Columns, Column{s.Name, true}, Column{"least – most", true})
		for _, p := range s.Points {
			starts = append(starts, p.From)
		}
	}
	if len(starts) == 0 {
		return t
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	per := (len(starts) + tableRows - 1) / tableRows
	for i := 0; i < len(starts); i += per {
		end := math.Inf(1)
		if i+per < len(starts) {
			end = starts[i+per]
		}
		row, to := []string{clock(starts[i]), ""}, starts[i]
		for _, s := range series {
			mean, lo, hi, length := 0.0, math.Inf(1), math.Inf(-1), 0.0
			for _, p := range s.Points {
				if p.From >= starts[i] && p.From < end {
					mean, length = mean+p.Mean*(p.To-p.From), length+p.To-p.From
					lo, hi, to = min(lo, p.Lo), max(hi, p.Hi), max(to, p.To)
				}
			}
			if length > 0 {
				row = append(row, unit.Format(mean/length, u), span(lo, hi, u))
			} else {
				row = append(row, "not seen", "")
			}
		}
		row[1] = clock(to)
		t.add(row...)
	}
	return t
}
