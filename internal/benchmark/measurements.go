package benchmark

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// Measurements writes the rows as a report holds them, a line for each figure that is there and a number.
func (r Rows) Measurements() []report.Measurement {
	var out []report.Measurement
	for field, rows := range reflect.ValueOf(r).Fields() {
		for i := range rows.Len() {
			out = append(out, lines(field.Tag.Get("probe"), map[string]string{}, rows.Index(i))...)
		}
	}
	return out
}

// lines writes the figures of one row with its labels and those of the row that it is part of.
func lines(probe string, labels map[string]string, row reflect.Value) (out []report.Measurement) {
	for _, f := range reflect.VisibleFields(row.Type()) {
		name := f.Tag.Get("label")
		switch x := row.FieldByIndex(f.Index).Interface().(type) {
		case string:
			if x != "" {
				labels[name] = x
			}
		case int64:
			labels[name] = strconv.FormatInt(x, 10)
		case *int64:
			if x != nil {
				labels[name] = strconv.FormatInt(*x, 10)
			}
		case Read:
			if !f.Anonymous {
				out = append(out, lines(probe, maps.Clone(labels), reflect.ValueOf(x))...)
			}
		case stat.Summary:
			if x.N > 0 && stat.Finite(x.Center, x.Lo, x.Hi) {
				out = append(out, line(probe, f.Tag.Get("metric"), maps.Clone(labels), x))
			}
		}
	}
	return out
}

func line(probe, name string, labels map[string]string, v stat.Summary) report.Measurement {
	d := metric.Bench[slices.IndexFunc(metric.Bench, func(d metric.Desc) bool { return d.Name == name })]
	return report.Measurement{Probe: probe, Labels: labels, Metric: name, Value: report.Metric{Center: v.Center,
		Lo: v.Lo, Hi: v.Hi, Confidence: v.Confidence, N: v.N, Unit: string(d.Unit), Basis: report.Measured}}
}
