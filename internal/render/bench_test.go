package render

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// bare is a report of bench-io that measured nothing.
func bare(ms ...report.Measurement) *report.Report {
	return &report.Report{Schema: report.Schema, SchemaVersion: report.SchemaVersion, Kind: "bench-io",
		Host: report.Host{CPUsUsable: 2}, Measurements: ms,
		Benchmark: &report.Benchmark{Kind: "hdf5", Path: "a.h5", Files: 1, FilesExact: true, BudgetS: 10, UsedS: 4,
			Cold: report.Cold{Reason: "not asked for"}}}
}

// figured is one figure, ±2 % unless it is 0.
func figured(probe, metric string, x float64, unit string, labels ...string) report.Measurement {
	m := report.Measurement{Probe: probe, Metric: metric, Labels: map[string]string{}, Value: report.Metric{Center: x,
		Lo: x * 0.98, Hi: x * 1.02, Confidence: 0.95, N: 20, Unit: unit, Basis: report.Measured}}
	for i := 0; i+1 < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	return m
}

func textOf(t *testing.T, r *report.Report) string {
	t.Helper()
	return written(t, "text", Report(r), Options{Verbose: true})
}

// Names of figures, as probes give them.
const (
	itemTime    = "item_time_s"
	itemRate    = "items_per_s"
	itemStorage = "item_storage_bytes"
	openTime    = "open_time_s"
	filterTime  = "filter_time_s"
	readRate    = "reads_per_s"
	batchTime   = "batch_time_s"
	storedRatio = "stored_ratio"
)

// TestOnlySectionsWithDataAppear: nothing measured gives no empty tables, and no zeros that nobody measured.
func TestOnlySectionsWithDataAppear(t *testing.T) {
	got := textOf(t, bare())
	for _, title := range []string{"READING", "WHERE", "WORKERS", "WHAT IF", "ANOTHER PLACE", "\nHDF5", "A BATCH",
		"STORAGE AT BEST", "NOT MEASURED", "NOT READ", "OUTSIDE", "NOTES", "Next"} {
		if strings.Contains(got, title) {
			t.Errorf("%q appears in\n%s", title, got)
		}
	}
	for _, want := range []string{"RESULT   nothing could be summed up", "not counted", "FINDINGS    none",
		"no cold reads: not asked for", "4 s used of a budget of 10 s"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	markdown := written(t, "md", Report(bare()), Options{})
	if strings.Contains(markdown, "|") || strings.Contains(markdown, "mermaid") {
		t.Errorf("a table of nothing:\n%s", markdown)
	}
}

// TestLines holds single lines of the page to single figures.
func TestLines(t *testing.T) {
	read := func(metric string, x float64, unit string) report.Measurement {
		return figured(report.ProbeRead, metric, x, unit, "order", "random", "cache", "warm", "handle", "kept")
	}
	workers := func(n, bound string, rate float64) report.Measurement {
		return figured(report.ProbeScaling, itemRate, rate, "1/s", "workers", n, "bound", bound)
	}
	cache := func(size string, x float64) report.Measurement {
		return figured(report.ProbeHDF5, itemTime, x, "s", "chunk_cache_bytes", size, "order", "random")
	}
	try := func(candidate string, x float64, labels ...string) report.Measurement {
		return figured(report.ProbeTry, itemTime, x, "s", append(labels, "candidate", candidate)...)
	}
	few := figured(report.ProbeOpen, openTime, 0.01, "s", "cache", "warm")
	few.Value.Confidence, few.Value.N = 0, 3
	inferred := figured(report.ProbeHDF5, filterTime, 0.01, "s")
	inferred.Value.Basis = report.Inferred
	type rows = []report.Measurement
	for name, c := range map[string]struct {
		ms   rows
		want string
	}{
		"missing is ?": {rows{read(itemTime, 0.01, "s")},
			"read random warm     10 ms  9.8 – 10.2 ms      100          ?        ?\n"},
		"zero that was measured": {rows{read(itemTime, 0.01, "s"), read(itemStorage, 0, "bytes")},
			"100          ?      0 B\n"},
		"too few rounds": {rows{few}, "open file warm    ~10 ms    none, n = 3\n"},
		"another basis":  {rows{inferred}, "filters  10 ms inferred of CPU per item"},
		"rate from device": {rows{figured(report.ProbeDevice, readRate, 1000, "1/s", "block_bytes", "4096", "depth",
			"8", "mode", "direct")}, "4 KiB          8    1,000    980 – 1,020  3.91 MiB/s        ?\n"},
		"page cache is said": {rows{figured(report.ProbeDevice, readRate, 1000, "1/s", "mode", "page-cache")},
			"These are figures of a page cache, not of the device.\n"},
		"bends by a lock": {rows{workers("10", "lock", 30), workers("2", "none", 20), workers("1", "none", 10)},
			"more processes add less from 10 on: the processes wait for a lock\n"},
		"does not bend": {rows{workers("1", "none", 10), workers("2", "none", 20)},
			"no limit found up to 2 processes\n"},
		"bend unknown": {rows{workers("1", "", 10), workers("2", "", 20)},
			"what bounds it at 2 processes is unknown\n"},
		"cache pays at once": {rows{cache("4194304", 0.001), cache("1048576", 0.01)},
			"At random a larger cache pays from 4 MiB on, 10 × (9.61 – 10.4) as fast.\n"},
		"cache pays more later": {rows{cache("1048576", 0.01), cache("4194304", 0.005), cache("16777216", 0.001)},
			"2 × (1.92 – 2.08) as fast; 10 ×\n  (9.61 – 10.4) with 16 MiB.\n"},
		"cache does not pay": {rows{cache("1048576", 0.01), cache("4194304", 0.0099)},
			"At random no larger cache that was tried pays.\n"},
		"cache without comparison": {rows{cache("4194304", 0.01)}, "At random the default cache was not measured.\n"},
		"candidate without base": {rows{try("contiguous", 0.01, "order", "random")},
			"contiguous   10 ms              ?     ?\n"},
		"candidate alone in size": {rows{try("new-one", 0.01), figured(report.ProbeTry, storedRatio, 0.5, "1",
			"candidate", "new-one")}, "new-one        10 ms              ?  0.5 ×\n"},
		"cannot be told apart": {rows{try("as-is", 0.01), try("contiguous", 0.0099)},
			"~1.01 (0.97 – 1.05)     ?\n  ~ before a ratio: its interval holds 1, no difference can be shown\n"},
		"batch": {rows{figured(report.ProbeBatch, batchTime, 0.5, "s", "batch_size", "64", "gather", "selection",
			"order", "random")}, "64  one call for all items     500 ms   490 – 510 ms\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := textOf(t, bare(c.ms...)); !strings.Contains(got, c.want) {
				t.Errorf("%q is missing in\n%s", c.want, got)
			}
		})
	}
}

// TestMarkdownDrawsOneSeries: two series of bars would be drawn on top of each other.
func TestMarkdownDrawsOneSeries(t *testing.T) {
	var ms []report.Measurement
	for _, cache := range []string{"cold", "warm"} {
		for _, n := range []string{"1", "2", "many"} {
			ms = append(ms, figured(report.ProbeScaling, itemRate, float64(10*len(ms)+10), "1/s", "workers", n, "cache",
				cache, "order", "random"))
		}
	}
	markdown := written(t, "md", Report(bare(ms...)), Options{})
	if got := markdown; strings.Count(got, "\n    bar [") != 1 ||
		!strings.Contains(got, "worker processes, warm\"\n    x-axis [\"1\", \"2\"]\n    y-axis \"items/s\" 0 --> "+
			"55\n    bar [40.0, 50.0]\n") {
		t.Errorf("%s", got)
	}
}
