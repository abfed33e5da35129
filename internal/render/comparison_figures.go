package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// changeNames are the figures in few words, with the unit where the value then needs none.
var changeNames = map[string]struct{ name, noun string }{
	"samples_per_s":           {"samples/s", "1/s"},
	"batches_per_s":           {"batches/s", "1/s"},
	"step_time_s":             {"step time", ""},
	"input_wait_ratio":        {"input wait", ""},
	"gpu_busy_ratio":          {"GPU busy", ""},
	"device_ratio":            {"device", ""},
	"epoch_gap_ratio":         {"between epochs", ""},
	"made_item_s":             {"making an item", ""},
	"batch_fetch_s":           {"making a batch", ""},
	"worker_cpu_per_batch_s":  {"CPU per batch", ""},
	"worker_busy_ratio":       {"workers busy", ""},
	"read_bytes_per_s":        {"read", ""},
	"storage_bytes_per_s":     {"from storage", ""},
	"usable_cpu_busy_ratio":   {"CPU in use", ""},
	"memory_limit_used_ratio": {"memory in use", ""},
	"gpu_memory_used_ratio":   {"GPU memory in use", ""},
}

// changeRow is one row of the table of changes, the same for every format; strings from the report are raw.
type changeRow struct {
	name, before, after, change, interval, p, n, answer string
}

func changeRows(changes []report.Change) []changeRow {
	var rows []changeRow
	for _, x := range changes {
		r := changeRow{name: changeName(x), before: changeValue(x.Before.Center, x), after: changeValue(x.After.Center, x), answer: answerWord(x),
			n: fmt.Sprintf("%d+%d", x.NBefore, x.NAfter), p: chanceText(x.P)}
		r.change, r.interval = changeText(x)
		rows = append(rows, r)
	}
	return rows
}

// changeName is a metric's words; a benchmark's figure says its probe, what was measured, and its labels.
func changeName(x report.Change) string {
	if x.Probe == "" {
		return cmp.Or(changeNames[x.Metric].name, strings.ReplaceAll(x.Metric, "_", " "))
	}
	_, labels, _ := strings.Cut(x.Key, "{")
	var values []string
	for _, l := range strings.Split(strings.TrimSuffix(labels, "}"), ",") {
		name, v, _ := strings.Cut(l, "=")
		switch {
		case v == "", v == "kept":
		case name == report.LabelCache || name == report.LabelOrder || name == report.LabelHandle || name == report.LabelMode || name == report.LabelDecoder || name == report.LabelTier:
			values = append(values, v)
		default:
			values = append(values, name+" "+v)
		}
	}
	if (x.Metric == "items_per_s" || x.Metric == "bytes_per_s") && len(values) > 0 {
		return x.Probe + " " + strings.Join(values, " ")
	}
	what := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(x.Metric, "_per_s"), "_time_s"), "_s"), "_", " ")
	if x.Unit == "1/s" || x.Unit == "bytes/s" {
		what += "/s"
	}
	return strings.TrimSpace(strings.TrimSpace(x.Probe+" "+strings.Join(values, " ")) + ": " + what)
}

func changeValue(v float64, x report.Change) string {
	if changeNames[x.Metric].noun == x.Unit && x.Probe == "" {
		return unit.Number(v)
	}
	return unit.Format(v, x.Unit)
}

// figureText is a figure with its interval: "812 (790 – 836)".
func figureText(f report.Figure, x report.Change) string {
	s := changeValue(f.Center, x)
	if f.Confidence <= 0 || f.Lo == f.Hi {
		return s
	}
	if changeNames[x.Metric].noun == x.Unit && x.Probe == "" {
		return s + " (" + unit.Number(f.Lo) + " – " + unit.Number(f.Hi) + ")"
	}
	return s + " (" + span(f.Lo, f.Hi, x.Unit) + ")"
}

// changeText is a change with its interval. What the data cannot tell from chance is "~", with the interval it could be in.
func changeText(x report.Change) (change, interval string) {
	if x.Change == nil {
		return "?", ""
	}
	change = signed(*x.Change, x.Difference)
	if x.Answer == report.Unclear {
		change = "~"
	}
	if x.Lo != nil && x.Hi != nil {
		lo, hi := signed(*x.Lo, x.Difference), signed(*x.Hi, x.Difference)
		number, _, _ := strings.Cut(lo, " ")
		interval = number + " to " + hi
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

// answerWord is what stands at the end of a row.
func answerWord(x report.Change) string {
	if x.Answer == report.Unclear {
		return ""
	}
	return string(x.Answer)
}

// leadingChange is the figure a reader looks for first: the rate of the job, of a benchmark that of warm items in random order; else the first.
func leadingChange(c *report.Comparison) *report.Change {
	for _, want := range []func(x report.Change) bool{
		func(x report.Change) bool { return x.Metric == "samples_per_s" && x.Probe == "" },
		func(x report.Change) bool { return x.Metric == "batches_per_s" && x.Probe == "" },
		func(x report.Change) bool {
			return ofReading(x) && x.Labels[report.LabelCache] == "warm" && x.Labels[report.LabelOrder] == "random"
		},
		ofReading,
		func(report.Change) bool { return true },
	} {
		if i := slices.IndexFunc(c.Changes, want); i >= 0 {
			return &c.Changes[i]
		}
	}
	return nil
}

func ofReading(x report.Change) bool { return x.Metric == "items_per_s" && x.Probe == report.ProbeRead }

// headChanges are the changes worth a row of the first table, and the others: of what one probe measured under the same labels, the rate says all.
func headChanges(c *report.Comparison) (head, rest []report.Change) {
	best := map[string]int{}
	of := func(x report.Change) string { return x.Probe + strings.TrimPrefix(x.Key, x.Probe+"."+x.Metric) }
	rank := func(x report.Change) int { return slices.Index([]string{"bytes_per_s", "items_per_s"}, x.Metric) }
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
