package render

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// Text writes the report for a terminal: verdict, why and next first, then the figures, where the time goes, the findings, what was
// not measured, and lines to copy.
func Text(w io.Writer, r *report.Report, o Options) error {
	p := &page{color: o.Color}
	if r.Benchmark != nil {
		p.bench(r)
	} else {
		p.diagnosis(r)
	}
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("writing report: %w", err)
	}
	return nil
}

func (p *page) diagnosis(r *report.Report) {
	p.verdict(r)
	p.figures(r)
	p.section(loaderSection(r))
	p.step(r)
	p.phases(r)
	p.section(slowSection(r))
	p.ranks(r)
	p.findings(r)
	p.plans(r)
	p.patch(r)
	p.unseen(r)
	p.warnings(r)
	p.closing(r)
}

func (p *page) verdict(r *report.Report) {
	v := r.Verdict
	if v == nil {
		return
	}
	p.apart("VERDICT  "+headline(r), bold, "confidence: "+safe(string(v.Confidence)))
	p.wrapped("Why      ", safe(v.Statement))
	for _, d := range v.Doubts {
		p.wrapped("Doubt    ", safe(d))
	}
	if len(r.Next) > 0 {
		p.wrapped("Next     ", safe(r.Next[0]))
	}
}

// headline is the class in capitals with the first cause behind it.
func headline(r *report.Report) string {
	s := strings.ToUpper(safe(string(r.Verdict.Class)))
	if f := leading(r); f != nil {
		return s + " (" + safe(f.Title) + ")"
	}
	return s
}

// leading is the finding the verdict names, nil where there is none.
func leading(r *report.Report) *report.Finding {
	for i, f := range r.Findings {
		if r.Verdict != nil && f.Rule == r.Verdict.Rule {
			return &r.Findings[i]
		}
	}
	return nil
}

// row is one line of the table of figures.
type row struct{ name, metric, ceiling string }

// figureRows are the figures every reader looks for, with the signal that says what each would be if data were free.
var figureRows = []row{
	{"GPU busy", "gpu_busy_ratio", ""},
	{"Trainer waits for data", "input_wait_ratio", ""},
	{"Throughput, samples", "samples_per_s", ""},
	{"Throughput, batches", "batches_per_s", "1/free_step_time_s"},
	{"Step time", "step_time_s", "free_step_time_s"},
	{"Making a batch", "batch_fetch_s", ""},
	{"99 of 100 batches", "batch_fetch_p99_s", ""},
	{"Evaluation, of all time", "evaluation_ratio", ""},
	{"Bytes per batch", "batch_bytes", ""},
	{"Read", "read_bytes_per_s", ""},
	{"of it from storage", "storage_bytes_per_s", ""},
	{"CPU in use, of usable", "usable_cpu_busy_ratio", ""},
}

func (p *page) figures(r *report.Report) {
	rows := figureTable(r)
	if len(rows) == 0 {
		return
	}
	w := figureWidths(rows)
	p.gap()
	p.line(p.paint(dim, pad("", w[0])+pad("now", w[1])+pad("95 % CI", w[2])+"free data (modelled)"))
	for _, f := range rows {
		p.line(pad(f[0], w[0]), pad(f[1], w[1]), pad(f[2], w[2]), f[3])
	}
}

// figureWidths are the widths of the first three columns. A name that says where its figure is from may need more than its share: it takes
// what the two columns beside it leave, so that the lines stay as long as they are.
func figureWidths(rows [][4]string) [3]int {
	widths := [3]int{26, 13, 20}
	longest := [3]int{0, columns("now"), columns("95 % CI")}
	for _, f := range rows {
		for i := range longest {
			longest[i] = max(longest[i], columns(f[i]))
		}
	}
	over := max(0, longest[0]+1-widths[0])
	widths[0] += over
	for i := 1; i < len(widths); i++ {
		given := min(over, max(0, widths[i]-longest[i]-1))
		widths[i] -= given
		over -= given
	}
	return widths
}

// figureTable gives name, value, interval and ceiling of each figure that is there.
func figureTable(r *report.Report) [][4]string {
	var rows [][4]string
	for _, f := range figureRows {
		m, ok := r.Metrics[f.metric]
		if !ok || f.metric == "evaluation_ratio" && m.Center == 0 {
			continue
		}
		interval := ""
		if m.Confidence > 0 && m.Lo != m.Hi {
			interval = span(m.Lo, m.Hi, m.Unit)
		}
		name := f.name
		if m.Basis != report.Measured {
			name += " (" + safe(string(m.Basis)) + ")"
		}
		rows = append(rows, [4]string{name, unit.Format(m.Center, m.Unit), interval, ceiling(r, f.ceiling)})
	}
	return rows
}

func ceiling(r *report.Report, signal string) string {
	name, inverse := strings.CutPrefix(signal, "1/")
	m, ok := r.Metrics[name]
	if !ok || name == "" {
		return ""
	}
	at, lo, hi, u := m.Center, m.Lo, m.Hi, m.Unit
	if inverse {
		at, lo, hi, u = 1/at, 1/hi, 1/lo, "1/s"
	}
	switch {
	case math.IsInf(at, 0):
		return ""
	case m.Confidence > 0 && hi > apart*lo && !math.IsInf(hi, 0):
		return span(lo, hi, u)
	}
	return "≈ " + unit.Format(at, u)
}

// apart is how many times as high as its lower end an interval's upper end is where one figure would say more than is known.
const apart = 1.05

// span writes an interval with the unit once where both ends share it: "790 – 836 /s".
func span(lo, hi float64, u string) string {
	a, b := unit.Format(lo, u), unit.Format(hi, u)
	numberA, unitA, okA := strings.Cut(a, " ")
	_, unitB, okB := strings.Cut(b, " ")
	if okA && okB && unitA == unitB {
		return numberA + " – " + b
	}
	return a + " – " + b
}

// part is one share of a step.
type part struct {
	name  string
	ratio *float64
}

// leastRest is the share of a step from which it is said that it could not be told apart; shares are rounded to half of that.
const leastRest = 0.01

// stepParts are the rows of a step, as the device spends it. Where all shares are known they sum to the whole: the time between epochs takes what of it no
// other has, and the rest of it from the wait, which holds that as well; what is then left is told.
func stepParts(s report.Step) []part {
	lacks, wait, between, rest := "wait for data", s.InputWaitRatio, s.EpochGapRatio, (*float64)(nil)
	if hiddenWait(s) != "" { // two quantities have two names
		lacks = "device lacks data"
	}
	if s.DataStall != nil {
		wait = &s.DataStall.Center
	}
	if wait != nil && s.HostRatio != nil && s.DeviceRatio != nil {
		left := 1 - *wait - *s.HostRatio - *s.DeviceRatio
		if s.H2DRatio != nil {
			left -= *s.H2DRatio
		}
		if between != nil {
			gap := min(*between, *wait+max(left, 0))
			steady := *wait - max(gap-max(left, 0), 0)
			left -= min(gap, max(left, 0))
			wait, between = &steady, &gap
		}
		if left >= leastRest {
			rest = &left
		}
	} else {
		between = nil // the wait may hold it
	}
	return []part{{lacks, wait}, {"between epochs", between}, {"host", s.HostRatio}, {"host to device", s.H2DRatio}, {"device", s.DeviceRatio},
		{"not told apart", rest}}
}

// hiddenWait says how long the trainer waits where that is not what the device lacks; "" where the two are the same to within a point.
func hiddenWait(s report.Step) string {
	if s.InputWaitRatio == nil || s.DataStall == nil || *s.InputWaitRatio-s.DataStall.Center < leastRest {
		return ""
	}
	text := fmt.Sprintf("the trainer itself waits %s; the device lacks data %s", unit.Percent(*s.InputWaitRatio), unit.Percent(s.DataStall.Center))
	if s.DataStall.Hi-s.DataStall.Lo >= 2*leastRest {
		text += fmt.Sprintf(" (%s to %s)", unit.Percent(s.DataStall.Lo), unit.Percent(s.DataStall.Hi))
	}
	return text
}

func (p *page) step(r *report.Report) {
	if r.Verdict == nil {
		return
	}
	head := "WHERE A STEP GOES"
	if t := r.Verdict.Step.TimeS; t != nil {
		head += "    " + unit.Seconds(*t) + " per step"
	}
	shown := false
	for _, s := range stepParts(r.Verdict.Step) {
		if s.ratio == nil {
			continue
		}
		if !shown {
			p.heading(head)
			shown = true
		}
		p.line("  ", pad(s.name, 24), bar(*s.ratio, 30), "  ", padLeft(unit.Percent(*s.ratio), 6))
	}
	if text := hiddenWait(r.Verdict.Step); text != "" && shown {
		p.line("  ", text)
	}
}

func (p *page) phases(r *report.Report) {
	if len(r.Phases) == 0 {
		return
	}
	switch {
	case r.Benchmark != nil:
		p.heading("WHERE AN ITEM'S TIME GOES, one worker")
	case workerless(r):
		p.heading("WHERE THE TRAINER'S TIME GOES, as it loads its data itself")
	case r.Job != nil && r.Job.Loader != nil && r.Job.Loader.FedBy != "":
		p.heading("WHERE THE TIME GOES of those who feed the trainer")
	default:
		p.heading("WHERE A WORKER'S TIME GOES")
	}
	for _, f := range r.Phases {
		p.line("  ", pad(cut(safe(f.Name), 24), 24), bar(f.Ratio, 22), "  ", padLeft(unit.Percent(f.Ratio), 6), "  ", pad(phaseTime(f), 14), safe(string(f.Basis)))
	}
}

// workerless tells whether the loader is known to have no workers.
func workerless(r *report.Report) bool {
	return r.Job != nil && r.Job.Loader != nil && r.Job.Loader.NumWorkers != nil && *r.Job.Loader.NumWorkers == 0
}

// phaseTime is a phase's time per batch or per item, "" where it is not known.
func phaseTime(f report.Phase) string {
	switch {
	case f.ItemS > 0:
		return unit.Seconds(f.ItemS) + "/item"
	case f.BatchS > 0:
		return unit.Seconds(f.BatchS) + "/batch"
	}
	return ""
}

func (p *page) ranks(r *report.Report) {
	if len(r.Ranks) < 2 {
		return
	}
	p.heading("RANKS")
	for _, k := range r.Ranks {
		mark := ""
		if k.Worst {
			mark = "waits most, shown above"
		}
		p.line("  rank ", pad(safe(k.Rank), 8), pad("pid "+fmt.Sprint(k.PID), 14), pad("waits "+optional(k.InputWaitRatio, "ratio"), 14), pad(optional(k.BatchesPerS, "1/s"), 12), mark)
	}
}

func optional(x *float64, u string) string {
	if x == nil {
		return "?"
	}
	return unit.Format(*x, u)
}
