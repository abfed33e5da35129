package document

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// changeNames are the figures in few words, with the unit where the value then needs none.
var changeNames = map[string]struct{ name, noun string }{
	metric.SamplesPerS.Name:     {"samples/s", "1/s"},
	metric.BatchesPerS.Name:     {"batches/s", "1/s"},
	metric.StepTime.Name:        {"step time", ""},
	metric.InputWait.Name:       {"input wait", ""},
	metric.GPUBusy.Name:         {"GPU busy", ""},
	metric.DeviceTime.Name:      {"device", ""},
	metric.EpochGap.Name:        {"between epochs", ""},
	metric.Evaluation.Name:      {"evaluating", ""},
	metric.MadeItem.Name:        {"making an item", ""},
	metric.FetchTime.Name:       {"making a batch", ""},
	metric.WorkerCPUBatch.Name:  {"CPU per batch", ""},
	metric.WorkerBusy.Name:      {"workers busy", ""},
	metric.ReadBytes.Name:       {"read", ""},
	metric.StorageBytes.Name:    {"from storage", ""},
	metric.UsableBusy.Name:      {"CPU in use", ""},
	metric.MemLimitUsed.Name:    {"memory in use", ""},
	metric.GPUMemUsedRatio.Name: {"GPU memory in use", ""},
}

// plainLabels are labels whose values speak for themselves.
var plainLabels = []string{report.LabelCache, report.LabelOrder, report.LabelHandle, report.LabelMode,
	report.LabelDecoder, report.LabelTier}

// changeName is a metric's words; a benchmark's figure says its probe, what was measured, and its labels.
func changeName(x report.Change) string {
	if x.Probe == "" {
		return cmp.Or(changeNames[x.Metric].name, strings.ReplaceAll(x.Metric, "_", " "))
	}
	var values []string
	for _, name := range report.RowLabels(x.Labels) {
		v := x.Labels[name]
		switch {
		case v == "", v == "kept":
		case slices.Contains(plainLabels, name):
			values = append(values, v)
		default:
			values = append(values, name+" "+v)
		}
	}
	if (x.Metric == metric.ItemRate.Name || x.Metric == metric.ByteRate.Name) && len(values) > 0 {
		return x.Probe + " " + strings.Join(values, " ")
	}
	what := x.Metric
	for _, suffix := range []string{"_per_s", "_time_s", "_s"} {
		what = strings.TrimSuffix(what, suffix)
	}
	what = strings.ReplaceAll(what, "_", " ")
	if x.Unit == "1/s" || x.Unit == "bytes/s" {
		what += "/s"
	}
	return joined(" ", x.Probe, strings.Join(values, " ")) + ": " + what
}

func changeValue(v float64, x report.Change) string {
	if changeNames[x.Metric].noun == x.Unit && x.Probe == "" {
		return unit.Number(v)
	}
	return unit.Format(v, x.Unit)
}

func figureCell(f report.Figure, x report.Change) Cell {
	c := Cell{Text: changeValue(f.Center, x)}
	switch {
	case f.Confidence <= 0 || f.Lo == f.Hi:
	case changeNames[x.Metric].noun == x.Unit && x.Probe == "":
		c.Interval = between(f.Lo, f.Hi)
	default:
		c.Interval = span(f.Lo, f.Hi, x.Unit)
	}
	return c
}

// movement is a change with its interval. What the data cannot tell from chance is "~", with the interval it could be
// in.
func movement(x report.Change) (change, interval string) {
	if x.Change == nil {
		return "?", ""
	}
	change = signed(*x.Change, x.Difference)
	if x.Answer == report.Unclear {
		change = "~"
	}
	if x.Lo != nil && x.Hi != nil {
		lo, hi := signed(*x.Lo, x.Difference), signed(*x.Hi, x.Difference)
		if number, sign, _ := strings.Cut(lo, " "); strings.HasSuffix(hi, " "+sign) {
			lo = number
		}
		interval = lo + " to " + hi
	}
	return change, interval
}

// factorFrom is the change from which on a factor reads better than a percentage.
const factorFrom = 10

// signed writes a change with its sign: "+197 %", "-63 pt" (percentage points), "×12".
func signed(x float64, difference bool) string {
	if !difference && x >= factorFrom {
		return "×" + unit.Number(1+x)
	}
	p := 100 * x
	digits := 0
	if math.Abs(p) < 9.95 {
		digits = 1
	}
	s := strconv.FormatFloat(p, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		s = "0"
	} else if p > 0 {
		s = "+" + s
	}
	if difference {
		return s + " pt"
	}
	return s + " %"
}

func chanceText(p *float64) string {
	switch {
	case p == nil:
		return "–"
	case *p < 0.001:
		return "<0.001"
	}
	return strconv.FormatFloat(*p, 'f', 3, 64)
}

// outcome is the whole comparison in one line.
func outcome(c *report.Comparison) string {
	x := leadingChange(c)
	switch {
	case x == nil && len(c.Changes) > 0:
		return "how fast it trains was not measured on both sides; launch the job for both"
	case x == nil:
		return "no figure was measured on both sides"
	}
	name := changeName(*x)
	if x.Change == nil {
		return name + ": the change is unknown"
	}
	change, interval := movement(*x)
	sides := changeValue(x.Before.Center, *x) + " → " + changeValue(x.After.Center, *x)
	switch {
	case c.Comparable == report.NotComparable:
		return name + " " + sides + ": not comparable" + breaking(c)
	case x.Answer == report.Unclear && interval == "":
		return name + ": " + joined(", ", "cannot tell", x.Note)
	case x.Answer == report.Unclear:
		return name + ": no change the data can tell (" + interval + ")"
	case interval != "":
		change += " (" + interval + ")"
	}
	return name + " " + sides + ", " + change + ": " + string(x.Answer)
}

// breaking names what makes the figures incomparable.
func breaking(c *report.Comparison) string {
	for _, x := range c.Conditions {
		if x.Breaks {
			return ", " + x.Name + " differs"
		}
	}
	return ""
}

// leadingFigure is the figure of the outcome with its interval and its test.
func leadingFigure(x report.Change) string {
	text := changeName(x) + ": " + changeValue(x.Before.Center, x) + " → " + changeValue(x.After.Center, x)
	if _, interval := movement(x); interval != "" {
		text += " (95 % CI " + interval
		if x.P != nil {
			text += ", p " + strings.Replace("= "+chanceText(x.P), "= <", "< ", 1)
		}
		text += fmt.Sprintf(", n = %d + %d %s)", x.NBefore, x.NAfter, x.Method)
	}
	return text + "."
}

// leadingChange is the figure a reader looks for first: the rate of the job, of a benchmark that of warm items in
// random order; else the first.
func leadingChange(c *report.Comparison) *report.Change {
	measures := func(name string) func(report.Change) bool {
		return func(x report.Change) bool { return x.Metric == name && x.Probe == "" }
	}
	for _, want := range []func(x report.Change) bool{
		measures(metric.SamplesPerS.Name), measures(metric.BatchesPerS.Name), measures(metric.StepTime.Name),
		func(x report.Change) bool {
			return ofReading(x) && x.Labels[report.LabelCache] == "warm" && x.Labels[report.LabelOrder] == "random"
		},
		ofReading,
		func(report.Change) bool { return c.Kind != "diagnose" }, // where no rate tells, a share of time is no answer
	} {
		if i := slices.IndexFunc(c.Changes, want); i >= 0 {
			return &c.Changes[i]
		}
	}
	return nil
}

func ofReading(x report.Change) bool {
	return x.Metric == metric.ItemRate.Name && x.Probe == report.ProbeRead
}

// headChanges are the changes worth a row of the first table, and the others: of what one probe measured under the
// same labels, the rate says all.
func headChanges(c *report.Comparison) (head, rest []report.Change) {
	best := map[string]int{}
	of := func(x report.Change) string { return x.Probe + strings.TrimPrefix(x.Key, x.Probe+"."+x.Metric) }
	rank := func(x report.Change) int {
		return slices.Index([]string{metric.ByteRate.Name, metric.ItemRate.Name}, x.Metric)
	}
	for i, x := range c.Changes {
		if j, ok := best[of(x)]; !ok || rank(x) > rank(c.Changes[j]) {
			best[of(x)] = i
		}
	}
	for i, x := range c.Changes {
		if x.Probe == "" || best[of(x)] == i {
			head = append(head, x)
		} else {
			rest = append(rest, x)
		}
	}
	return head, rest
}

// mostChanges is how many figures the first table holds; a benchmark has many more, and those that changed come first
// then. mostRemarks bounds the notes below it.
const mostChanges, mostRemarks = 24, 4

// changesSections are the figures worth a row of the first table, with the chart of the one that leads, and the
// others.
func changesSections(c *report.Comparison) (figures, more Section) {
	head, rest := headChanges(c)
	all := head
	if len(all) > mostChanges {
		last := func(x report.Change) int { return map[bool]int{true: 1}[x.Answer == report.Unclear] }
		head = slices.SortedStableFunc(slices.Values(all), func(a, b report.Change) int { return last(a) - last(b) })
		head, rest = head[:mostChanges], slices.Concat(head[mostChanges:], rest)
	}
	tested := slices.ContainsFunc(c.Changes, func(x report.Change) bool { return x.P != nil })
	const about = "~: cannot tell; pt: percentage points; intervals at 95 %"
	figures = section("Figures", about, Main, changesTable(head, tested))
	if figures.Empty() {
		return figures, Section{}
	}
	var remarks []string
	if n := len(rest); n > 0 {
		remarks = append(remarks, unit.Count(int64(n), "figure", "figures")+" more: --format json has all.")
	}
	for _, x := range all {
		if x.Note != "" && len(remarks) < mostRemarks {
			remarks = append(remarks, changeName(x)+": "+x.Note+".")
		}
	}
	figures.add(notes(remarks...)...)
	figures.add(outcomeChart(c))
	return figures, section("More figures", "", Reference, changesTable(rest, tested))
}

// changesTable is a table of figures on both sides, with a column for p where one was tested.
func changesTable(list []report.Change, tested bool) *Table {
	t := &Table{Columns: []Column{{"", false}, {"before", true}, {"after", true}, {"change", true}, {"interval", true},
		{"p", true}, {"n", true}, {"", false}}}
	for _, x := range list {
		change, interval := movement(x)
		answer := string(x.Answer)
		if x.Answer == report.Unclear {
			answer = ""
		}
		row := append(cells(changeName(x)), figureCell(x.Before, x), figureCell(x.After, x),
			Cell{Text: change, Strong: x.Answer == report.Better || x.Answer == report.Worse})
		row = append(row, cells(interval, chanceText(x.P), fmt.Sprintf("%d+%d", x.NBefore, x.NAfter), answer)...)
		t.Rows = append(t.Rows, Row{Cells: row})
	}
	if !tested {
		t.drop(5, 6)
	}
	return t
}

var chartTitles = map[string]string{metric.SamplesPerS.Name: "Samples per second",
	metric.BatchesPerS.Name: "Batches per second", metric.ItemRate.Name: "Items per second"}

// outcomeChart draws the leading rate; nil where the figure that leads is none.
func outcomeChart(c *report.Comparison) *Chart {
	x := leadingChange(c)
	if x == nil || x.Before.Center < 0 || x.After.Center < 0 || x.Unit != "1/s" {
		return nil
	}
	chart := &Chart{Title: cmp.Or(chartTitles[x.Metric], "Per second"), Unit: "per second", Digits: 2,
		Names: []string{"before", "after"}, Bars: []float64{x.Before.Center, x.After.Center}}
	most := slices.Max(chart.Bars)
	if f := c.After.Free; f != nil && c.After.FreeOf == x.Metric && *f > 0 && *f < 100*most {
		chart.Names, chart.Bars = append(chart.Names, "without waiting for data"), append(chart.Bars, *f)
		most = max(most, *f)
	}
	if !(most > 0) || most > 1e12 {
		return nil
	}
	chart.Top = math.Round(100*axisRoom*most) / 100
	return chart
}
