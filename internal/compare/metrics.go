package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

type direction int

const (
	either direction = iota
	more
	less
)

func (d direction) up() report.Answer {
	return [...]report.Answer{either: report.Higher, more: report.Better, less: report.Worse}[d]
}

func (d direction) down() report.Answer {
	return [...]report.Answer{either: report.Lower, more: report.Worse, less: report.Better}[d]
}

// perBatch are the figures that say nothing across different batch sizes.
var perBatch = []string{metric.BatchesPerS.Name, metric.StepTime.Name, metric.WorkerCPUBatch.Name,
	metric.FetchTime.Name}

// compared are the figures of a job that are held against each other, in the order they are shown.
var compared = []struct {
	metric string
	better direction
}{
	{metric.SamplesPerS.Name, more},
	{metric.BatchesPerS.Name, more},
	{metric.StepTime.Name, less},
	{metric.InputWait.Name, less},
	{metric.GPUBusy.Name, more},
	{metric.DeviceTime.Name, more},
	{metric.EpochGap.Name, less},
	{metric.Evaluation.Name, less},
	{metric.MadeItem.Name, less},
	{metric.FetchTime.Name, less},
	{metric.WorkerCPUBatch.Name, less},
	{metric.WorkerBusy.Name, either},
	{metric.ReadBytes.Name, either},
	{metric.StorageBytes.Name, either},
	{metric.UsableBusy.Name, either},
	{metric.MemLimitUsed.Name, less},
	{metric.GPUMemUsedRatio.Name, either},
}

// figure is a figure of a report that is held against the same of another, as a row of a comparison calls it.
type figure struct {
	report.Change // the names alone
	better        direction
	value         report.Metric
}

// figures lists those of a job in the order they are shown, and those of a benchmark in the report's.
func figures(r *report.Report) (out []figure) {
	if r.Kind == "bench-io" {
		for _, m := range r.Measurements {
			out = append(out, figure{report.Change{Key: measurementKey(m), Metric: m.Metric, Probe: m.Probe,
				Labels: m.Labels}, measuredBetter(m.Value.Unit), m.Value})
		}
		return out
	}
	for _, row := range compared {
		if m, ok := r.Metrics[row.metric]; ok {
			out = append(out, figure{report.Change{Key: row.metric, Metric: row.metric}, row.better, m})
		}
	}
	return out
}

// changes compares what both sides measured in all of their runs, in the order of BEFORE's first.
func changes(before, after []*report.Report, sameBatch bool) (out []report.Change) {
	others := 0.0
	if before[0].Kind != "bench-io" {
		others = contention(before, after)
	}
	b, a := byKey(before), byKey(after)
	seen := map[string]bool{}
	for _, f := range figures(before[0]) {
		p, ok := pairOf(b, a, f.Key, f.better, others)
		if !ok || seen[f.Key] {
			continue
		}
		seen[f.Key] = true
		c := p.change()
		if rate, ok := pairOf(b, a, metric.BatchesPerS.Name, more, others); ok && f.Key == metric.StepTime.Name {
			c = asInverse(c, rate.change())
		}
		if c.Before.Center == 0 && c.After.Center == 0 {
			continue // what neither side saw any of is no row
		}
		c.Key, c.Metric, c.Probe, c.Labels = f.Key, f.Metric, f.Probe, f.Labels
		if !sameBatch && slices.Contains(perBatch, f.Key) {
			c.Answer, c.Note = report.Unclear, "the batches are of different size"
		}
		out = append(out, c)
	}
	return out
}

// asInverse takes the change of a time per batch from that of the rate of batches, where the rate has windows: a window
// that holds one slow batch has a long time per batch and weighs as much as one with a hundred, so that the mean of
// times says something else than the rate.
func asInverse(c, r report.Change) report.Change {
	if r.Method != report.ByWindows || r.Change == nil || r.Lo == nil || !(*r.Lo > -1) || !(*r.Change > -1) ||
		c.Change == nil {
		return c
	}
	inverse := func(x float64) *float64 { return stat.Known(1/(1+x) - 1) }
	c.Lo, c.Hi, c.P, c.NBefore, c.NAfter, c.Method, c.Note, c.Answer = inverse(*r.Hi), inverse(*r.Lo), r.P, r.NBefore,
		r.NAfter, r.Method, r.Note, r.Answer
	return c
}

// byKey is, of each run, what its figures came to.
func byKey(runs []*report.Report) (out []map[string]report.Metric) {
	for _, r := range runs {
		values := map[string]report.Metric{}
		for _, f := range figures(r) {
			values[f.Key] = f.value
		}
		out = append(out, values)
	}
	return out
}

// pairOf is a figure of every run on both sides; false where one lacks it, or has it in another unit.
func pairOf(before, after []map[string]report.Metric, key string, better direction, others float64) (p pair, ok bool) {
	p.better, p.others = better, others
	for i, values := range slices.Concat(before, after) {
		m, ok := values[key]
		if !ok || i > 0 && m.Unit != p.unit {
			return p, false
		}
		p.unit = m.Unit
		if i < len(before) {
			p.before = append(p.before, m)
		} else {
			p.after = append(p.after, m)
		}
	}
	return p, true
}

// measurementKey names a figure of a benchmark: read.items_per_s{cache=warm,order=random}.
func measurementKey(m report.Measurement) string {
	var labels []string
	for _, name := range report.RowLabels(m.Labels) {
		labels = append(labels, name+"="+m.Labels[name])
	}
	if len(labels) == 0 {
		return m.Probe + "." + m.Metric
	}
	return fmt.Sprintf("%s.%s{%s}", m.Probe, m.Metric, strings.Join(labels, ","))
}

// measuredBetter goes by the unit: rates are better high, times low; sizes and counts are neither.
func measuredBetter(unit string) direction {
	switch unit {
	case "1/s", "bytes/s":
		return more
	case "s":
		return less
	}
	return either
}

// how says in words what the figures were held to.
func how(c *report.Comparison, before, after int) string {
	methods := map[string]bool{}
	for _, x := range c.Changes {
		methods[x.Method] = true
	}
	const allowance = " Single runs also differ from run to run: 2 % (2 points of a ratio) are allowed for each."
	var parts []string
	if methods[report.ByRuns] {
		parts = append(parts, fmt.Sprintf("Mann-Whitney over %d and %d runs.", before, after))
	}
	if methods[report.ByWindows] {
		parts = append(parts, "Mann-Whitney over windows, averaged in blocks since neighbouring windows resemble "+
			"each other."+allowance)
	}
	if methods[report.ByIntervals] {
		text := "By whether the 95 % intervals overlap, since there are no windows that distinguish values and fewer " +
			"than 4 runs on a side; no p can be given."
		if !methods[report.ByWindows] {
			text += allowance
		} else {
			text = "Other figures: by whether the 95 % intervals overlap."
		}
		parts = append(parts, text)
	}
	return cmp.Or(strings.Join(parts, " "), "The two sides have no figure in common.")
}
