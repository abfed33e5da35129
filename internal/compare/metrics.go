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

// metrics compares what both sides measured in all of their runs.
func metrics(before, after []*report.Report, sameBatch bool) []report.Change {
	var out []report.Change
	others := contention(before, after)
	for _, row := range compared {
		p, ok := pairOf(before, after, metricOf(row.metric))
		if !ok {
			continue
		}
		p.better, p.others = row.better, others
		c := p.change()
		if row.metric == metric.StepTime.Name {
			c = asInverse(c, before, after, others)
		}
		if c.Before.Center == 0 && c.After.Center == 0 {
			continue // what neither side saw any of is no row
		}
		c.Key, c.Metric = row.metric, row.metric
		if !sameBatch && slices.Contains(perBatch, row.metric) {
			c.Answer, c.Note = report.Unclear, "the batches are of different size"
		}
		out = append(out, c)
	}
	return out
}

// asInverse takes the change of a time per batch from that of the rate of batches, where the rate has windows: a window
// that holds one slow batch has a long time per batch and weighs as much as one with a hundred, so that the mean of
// times says something else than the rate.
func asInverse(c report.Change, before, after []*report.Report, others float64) report.Change {
	rate, ok := pairOf(before, after, metricOf(metric.BatchesPerS.Name))
	if !ok {
		return c
	}
	rate.better, rate.others = more, others
	r := rate.change()
	if r.Method != report.ByWindows || r.Change == nil || r.Lo == nil || !(*r.Lo > -1) || !(*r.Change > -1) ||
		c.Change == nil {
		return c
	}
	inverse := func(x float64) *float64 { return stat.Known(1/(1+x) - 1) }
	c.Lo, c.Hi, c.P, c.NBefore, c.NAfter, c.Method, c.Note, c.Answer = inverse(*r.Hi), inverse(*r.Lo), r.P, r.NBefore,
		r.NAfter, r.Method, r.Note, r.Answer
	return c
}

// pairOf is a figure of every run on both sides; false where one lacks it, or has it in another unit.
func pairOf(before, after []*report.Report, figure func(*report.Report) (report.Metric, bool)) (p pair, ok bool) {
	for i, r := range slices.Concat(before, after) {
		m, ok := figure(r)
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

func metricOf(name string) func(*report.Report) (report.Metric, bool) {
	return func(r *report.Report) (report.Metric, bool) {
		m, ok := r.Metrics[name]
		return m, ok
	}
}

// measurements compares the figures of benchmarks that have the same probe, labels and metric on both sides, in
// BEFORE's order.
func measurements(before, after []*report.Report) []report.Change {
	values := map[*report.Report]map[string]report.Metric{}
	for _, r := range slices.Concat(before, after) {
		values[r] = map[string]report.Metric{}
		for _, m := range r.Measurements {
			values[r][measurementKey(m)] = m.Value
		}
	}
	var out []report.Change
	seen := map[string]bool{}
	for _, m := range before[0].Measurements {
		key := measurementKey(m)
		p, ok := pairOf(before, after, func(r *report.Report) (report.Metric, bool) {
			value, ok := values[r][key]
			return value, ok
		})
		if !ok || seen[key] {
			continue
		}
		seen[key] = true
		p.better = measuredBetter(m.Value.Unit)
		c := p.change()
		if c.Before.Center == 0 && c.After.Center == 0 {
			continue
		}
		c.Key, c.Metric, c.Probe, c.Labels = key, m.Metric, m.Probe, m.Labels
		out = append(out, c)
	}
	return out
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
