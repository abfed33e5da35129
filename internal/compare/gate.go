package compare

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// gateOf holds a figure, or all figures of that name, to the limit. It judges intervals: a loss passes where all of its
// interval lies within the limit, fails where all of it lies beyond, and else the data cannot tell. What cannot be
// compared, or was not measured, cannot be determined.
func gateOf(c *report.Comparison, before, after []*report.Report, limit float64, metric string) (*report.Gate, error) {
	if metric == "" {
		metric = usualMetric(c)
	} else if !slices.ContainsFunc(slices.Concat(before, after), func(r *report.Report) bool {
		return Compares(r, metric)
	}) {
		return nil, fmt.Errorf("%w: %.80q", ErrUnknownMetric, metric)
	}
	g := &report.Gate{Metric: metric, Limit: limit, Answer: report.GateUnclear}
	if c.Comparable == report.NotComparable {
		g.Why = "the two sides are not comparable: " + c.Conditions[0].Name + " differs"
		return g, nil
	}
	judged := 0
	for _, x := range c.Changes {
		if x.Metric != metric && x.Key != metric {
			continue
		}
		answer, why := judge(x, limit)
		switch {
		case judged == 0, answer == report.GateFailed && g.Answer != report.GateFailed,
			answer == report.GateUnclear && g.Answer == report.GatePassed:
			g.Answer, g.Why = answer, why
		}
		judged++
	}
	if judged == 0 {
		g.Why = "it was not measured on both sides"
	} else if judged > 1 {
		g.Why += fmt.Sprintf(" (%d figures of this name; the worst is shown)", judged)
	}
	return g, nil
}

func judge(x report.Change, limit float64) (report.GateAnswer, string) {
	name := x.Key
	if x.Lo == nil || x.Hi == nil {
		return report.GateUnclear, name + ": there is no interval to judge"
	}
	if x.Note != "" {
		return report.GateUnclear, name + ": " + x.Note
	}
	worst, best := -*x.Lo, -*x.Hi // the loss
	if better(x) == less {
		worst, best = *x.Hi, *x.Lo
	}
	loss := fmt.Sprintf("%s changed by %s to %s", name, points(*x.Lo, x.Difference), points(*x.Hi, x.Difference))
	switch {
	case worst <= limit:
		return report.GatePassed, loss + ", all of it within the limit"
	case best > limit:
		return report.GateFailed, loss + ", all of it beyond the limit"
	}
	return report.GateUnclear, loss + ", which reaches over the limit"
}

func points(x float64, difference bool) string {
	s := strconv.FormatFloat(100*x, 'f', 1, 64)
	if s == "-0.0" {
		s = "0.0"
	} else if x > 0 {
		s = "+" + s
	}
	if difference {
		return s + " points"
	}
	return s + " %"
}

func better(x report.Change) direction {
	if x.Probe != "" {
		return measuredBetter(x.Unit)
	}
	for _, row := range compared {
		if row.metric == x.Metric && row.better != either {
			return row.better
		}
	}
	return more
}

// usualMetric is what a gate is of unless one is named: samples per second, or batches where no side knows samples.
func usualMetric(c *report.Comparison) string {
	if c.Kind == "bench-io" {
		return metric.ItemRate.Name
	}
	has := func(metric string) bool {
		return slices.ContainsFunc(c.Changes, func(x report.Change) bool { return x.Metric == metric })
	}
	if !has(metric.SamplesPerS.Name) && has(metric.BatchesPerS.Name) {
		return metric.BatchesPerS.Name
	}
	return metric.SamplesPerS.Name
}

// Compares reports whether a report has a figure of this name that is compared.
func Compares(r *report.Report, metric string) bool {
	return slices.ContainsFunc(figures(r), func(f figure) bool { return f.Metric == metric || f.Key == metric })
}
