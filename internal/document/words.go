package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

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

func between(lo, hi float64) string { return unit.Number(lo) + " – " + unit.Number(hi) }

// optional writes a value that may be missing.
func optional(x *float64, u string) string {
	if x == nil {
		return "?"
	}
	return unit.Format(*x, u)
}

// rateNouns are the rates whose unit reads better as a noun.
var rateNouns = map[string]string{metric.BatchesPerS.Name: "batches/s", metric.SamplesPerS.Name: "samples/s",
	metric.ItemRate.Name: "items/s"}

// effectText writes the interval an effect is predicted to land in: "14.2 – 15.1 batches/s". One that says nothing
// says so.
func effectText(e report.Effect) string {
	text := strings.ReplaceAll(e.Metric, "_", " ") + " " + span(e.Lo, e.Hi, e.Unit)
	noun := rateNouns[e.Metric]
	if e.Metric == report.RelativeThroughput {
		noun = "times as fast"
	}
	if noun != "" {
		text = between(e.Lo, e.Hi) + " " + noun
	}
	switch {
	case !report.Vague(e.Lo, e.Hi):
		return text
	case e.Metric == metric.ItemRate.Name:
		return "cannot tell on this budget (" + text + ")"
	}
	return "cannot tell from this watch (" + text + ")"
}

// sentence begins text with a capital and ends it with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}

func orUnknown(s string) string { return cmp.Or(s, "?") }

func joined(separator string, texts ...string) string {
	texts = slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" })
	return strings.Join(texts, separator)
}
