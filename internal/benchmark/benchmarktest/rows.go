// Package benchmarktest reads the rows of a benchmark back from a report, for tests: of reports that were saved in
// the field, and of measurements written by hand. pipetune itself judges the rows as the probes hand them over.
package benchmarktest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// Rows returns the rows that measurements were written from: each line in the kind that has a place for its figure
// and for most of its labels. What no kind has a place for is left out.
func Rows(list []report.Measurement) benchmark.Rows {
	var out benchmark.Rows
	index := map[string]int{} // of the row with such labels
	for _, m := range list {
		var kind, row reflect.Value
		var figure []int
		best, name := len(m.Labels)+1, ""
		for field, rows := range reflect.ValueOf(&out).Elem().Fields() {
			if field.Tag.Get("probe") != m.Probe {
				continue
			}
			if r, at, left := rowOf(rows.Type().Elem(), m); at != nil && left < best {
				kind, row, figure, best, name = rows, r, at, left, field.Name
			}
		}
		if figure != nil {
			put(kind, row, figure, index, name+key(m))
		}
	}
	return out
}

// put sets the figure of the row with such a key; the first of several stays.
func put(rows, row reflect.Value, figure []int, index map[string]int, key string) {
	i, known := index[key]
	if !known {
		index[key] = rows.Len()
		rows.Set(reflect.Append(rows, row))
		return
	}
	old := rows.Index(i)
	for j := range old.NumField() { // a label that only some of a row's lines bear
		if x := old.Field(j); x.Kind() == reflect.String && x.String() == "" {
			x.Set(row.Field(j))
		}
	}
	for n := range figure { // the figure, or all of the part that it is in
		if at := old.FieldByIndex(figure[:n+1]); at.IsZero() {
			at.Set(row.FieldByIndex(figure[:n+1]))
			return
		}
	}
}

// key distinguishes rows: by all labels but those that say something of a row and do not make another one.
func key(m report.Measurement) string {
	labels := maps.Clone(m.Labels)
	besides := []string{report.LabelVersion, report.LabelCommand, report.LabelBound}
	if m.Probe == report.ProbeTry || m.Probe == report.ProbeTier {
		besides = append(besides, report.LabelCache, report.LabelOrder, report.LabelHandle) // of parts of one row
	}
	for _, beside := range besides {
		delete(labels, beside)
	}
	return fmt.Sprint(labels) // in the order of their names
}

// rowOf is a row of a type that holds one line, where in it the figure is, nil where the type has no place for it,
// and how many labels it has no place for.
func rowOf(t reflect.Type, m report.Measurement) (row reflect.Value, figure []int, left int) {
	row, left = reflect.New(t).Elem(), len(m.Labels)
	for _, f := range reflect.VisibleFields(t) {
		text, labelled := m.Labels[f.Tag.Get("label")]
		if labelled {
			left--
		}
		n, err := strconv.ParseInt(text, 10, 64)
		switch at := row.FieldByIndex(f.Index); at.Interface().(type) {
		case string:
			at.SetString(text)
		case int64:
			if err != nil {
				return row, nil, left
			}
			at.SetInt(n)
		case *int64:
			if labelled {
				at.Set(reflect.ValueOf(&n))
			}
		case benchmark.Read:
			if cold := m.Labels[report.LabelCache] == benchmark.Cold; !f.Anonymous && cold == (f.Name == "Cold") {
				part, in, others := rowOf(f.Type, m)
				at.Set(part)
				left -= len(m.Labels) - others
				if in != nil {
					figure = append(slices.Clone(f.Index), in...)
				}
			}
		case stat.Summary:
			if f.Tag.Get("metric") == m.Metric {
				figure = f.Index
				v := m.Value
				at.Set(reflect.ValueOf(stat.Summary{Center: v.Center, Lo: v.Lo, Hi: v.Hi, Confidence: v.Confidence,
					N: max(v.N, 1)}))
			}
		}
	}
	return row, figure, left
}
