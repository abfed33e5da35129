package benchmark_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/benchmark/benchmarktest"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// What a saved report holds is what its rows are written as: nothing is lost, renamed or added.
func TestRowsAreWrittenAsSavedReportsHoldThem(t *testing.T) {
	saved, _ := filepath.Glob("../../testdata/cases/*-bench.json")
	for _, name := range saved {
		f := must.Get(os.Open(name))(t)
		defer f.Close()
		r := must.Get(report.Decode(f))(t)
		order := func(a, b report.Measurement) int { return strings.Compare(text(a), text(b)) }
		got := benchmarktest.Rows(r.Measurements).Measurements()
		slices.SortFunc(got, order)
		slices.SortFunc(r.Measurements, order)
		if diff := cmp.Diff(r.Measurements, got, cmpopts.EquateEmpty()); diff != "" || len(got) < 20 {
			t.Errorf("%s: %d lines (-saved +written):\n%s", name, len(got), diff)
		}
	}
}

func text(m report.Measurement) string { return fmt.Sprint(m.Probe, m.Metric, m.Labels) }

// Every field of every row is written under a probe, a label or a metric of the schema, or is a row itself.
func TestFieldsAreOfTheSchema(t *testing.T) {
	var probes []string
	for kind := range reflect.TypeFor[benchmark.Rows]().Fields() {
		probes = append(probes, kind.Tag.Get("probe"))
		for _, f := range reflect.VisibleFields(kind.Type.Elem()) {
			label := f.Tag.Get("label")
			known := slices.ContainsFunc(metric.Bench,
				func(d metric.Desc) bool { return d.Name == f.Tag.Get("metric") })
			if (label != "") == known && !f.Anonymous && f.Type != reflect.TypeFor[benchmark.Read]() {
				t.Errorf("%s.%s: label %q, metric %q", kind.Name, f.Name, label, f.Tag.Get("metric"))
			}
		}
	}
	r := &report.Report{Schema: report.Schema, SchemaVersion: report.SchemaVersion, Kind: "diagnose",
		Measurements: every().Measurements()}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	for _, p := range probes {
		if !slices.ContainsFunc(r.Measurements, func(m report.Measurement) bool { return m.Probe == p }) {
			t.Errorf("no line of %s", p)
		}
	}
}

// every has one row of each kind with all fields set.
func every() benchmark.Rows {
	var out benchmark.Rows
	for _, rows := range reflect.ValueOf(&out).Elem().Fields() {
		rows.Set(reflect.MakeSlice(rows.Type(), 1, 1))
		fill(rows.Index(0))
	}
	return out
}

func fill(row reflect.Value) {
	n := int64(3)
	for _, f := range reflect.VisibleFields(row.Type()) {
		switch at := row.FieldByIndex(f.Index); at.Interface().(type) {
		case string:
			at.SetString("x")
		case int64:
			at.SetInt(n)
		case *int64:
			at.Set(reflect.ValueOf(&n))
		case benchmark.Read:
			fill(at)
		case stat.Summary:
			at.Set(reflect.ValueOf(stat.Exact(0.5)))
		}
	}
}

// What is absent is not written; a size of 0 is no absent size.
func TestAbsentFiguresAreNotWritten(t *testing.T) {
	rows := benchmark.Rows{
		Opens:  []benchmark.Open{{Cache: benchmark.Warm}, {Cache: benchmark.Cold, Time: stat.Exact(math.NaN())}},
		Caches: []benchmark.CacheSize{{Bytes: 0, Time: stat.Exact(1)}},
		Scaling: []benchmark.Processes{{Count: 2, Bound: benchmark.BoundCPU, Rate: stat.Exact(10),
			Cores: stat.Exact(2)}},
	}
	var got []string
	for _, m := range rows.Measurements() {
		got = append(got, text(m))
	}
	want := []string{"hdf5item_time_smap[chunk_cache_bytes:0]", "scalingcpu_coresmap[workers:2]",
		"scalingitems_per_smap[bound:cpu workers:2]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
