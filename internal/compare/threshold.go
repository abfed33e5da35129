package compare

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// Threshold is a limit that a figure of one report is held to.
type Threshold struct {
	report.Threshold // not judged yet
	operator         string
}

// ErrNoSuchFigure says that no report has the figure a threshold names.
var ErrNoSuchFigure = errors.New("no report has a figure of this name")

var thresholdForm = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9_]*)\s*(>=|<=|>|<)\s*([^\s<>=]+)\s*$`)

// ParseThreshold reads a figure's name, >=, <=, > or <, and a number: in the figure's base unit, as a percentage of a
// ratio, or as a time with its unit.
func ParseThreshold(text string) (Threshold, error) {
	m := thresholdForm.FindStringSubmatch(text)
	if m == nil {
		return Threshold{}, errors.New("a figure, >=, <=, > or <, and a number are expected, as in gpu_busy_ratio>=0.8")
	}
	all := metric.InReport()
	i := slices.IndexFunc(all, func(d metric.Desc) bool { return d.Name == m[1] })
	if i < 0 {
		return Threshold{}, fmt.Errorf("%w: %.80q", ErrNoSuchFigure, m[1])
	}
	limit, err := limitOf(m[3], all[i].Unit)
	return Threshold{report.Threshold{Text: m[1] + m[2] + m[3], Metric: m[1], Limit: limit}, m[2]}, err
}

func limitOf(text string, u metric.Unit) (float64, error) {
	number, share := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(number, 64)
	d, durationErr := time.ParseDuration(text)
	switch {
	case err != nil && durationErr == nil && u == metric.Seconds:
		return d.Seconds(), nil
	case err != nil, math.IsNaN(x), math.IsInf(x, 0):
		return 0, fmt.Errorf("%.40q is no number", text)
	case share && u != metric.Ratio:
		return 0, fmt.Errorf("%.40q: the figure is in %s, not a share", text, u)
	case share:
		x /= 100
	}
	if u == metric.Ratio && (x < 0 || x > 1) {
		return 0, fmt.Errorf("%.40q: a ratio is from 0 to 1; write 0.8 or 80%%", text)
	}
	return x, nil
}

// Judge holds a report to it. As every gate it judges the interval: it passes where all of it is on the right side,
// fails where all of it is on the wrong one, and else, or where nothing was measured, cannot tell.
func (t Threshold) Judge(r *report.Report) report.Threshold {
	out := t.Threshold
	out.Answer = report.GateUnclear
	m, ok := r.Metrics[t.Metric]
	if !ok {
		out.Why = "it was not measured"
		if i := slices.IndexFunc(r.Abstained, func(a report.Abstained) bool {
			return slices.Contains(a.Missing, t.Metric)
		}); i >= 0 {
			out.Why += ": " + r.Abstained[i].Reason
		}
		return out
	}
	out.Value = &report.Figure{Center: m.Center, Lo: m.Lo, Hi: m.Hi, Confidence: m.Confidence, Basis: m.Basis}
	holds := func(x float64) bool {
		return map[string]bool{">=": x >= t.Limit, ">": x > t.Limit, "<=": x <= t.Limit, "<": x < t.Limit}[t.operator]
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
	out.Why = "it is " + number(m.Center)
	if m.Lo != m.Hi {
		out.Why = fmt.Sprintf("it is %s to %s", number(m.Lo), number(m.Hi))
	}
	switch low, high := holds(m.Lo), holds(m.Hi); {
	case low && high:
		out.Answer = report.GatePassed
	case !low && !high:
		out.Answer = report.GateFailed
	default:
		out.Why += ", which reaches over the limit"
	}
	return out
}
