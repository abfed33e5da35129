package probe

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// Rows of many datasets are read by h5py, too, each from the dataset that holds it.
func TestRowsOfManyDatasets(t *testing.T) {
	path := filepath.Join(onDisk(t), "a.h5")
	must.Python(t, "-c", `import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    for i in range(20):
        f[f"c{i}/x"] = n.full((30 + i, 40, 40), i % 7, "f4")`, path)
	sample, layout := surveyed(t, path)
	if !sample.Rows || len(sample.Items) != 20*30+190 {
		t.Fatalf("%+v, %d items", sample.Source, len(sample.Items))
	}
	s := pythonSession(t, []string{realPython(t)}, sample, time.Second)
	s.options.Layout = layout
	must.Do(t, timePython(t.Context(), s))
	onlyOne(t, s, metric.ItemTime, "decoder=h5py", "handle=kept", "cache=warm")
	measured(t, sample, Options{Budget: time.Second, Layout: layout, MaxWorkers: 1}, report.ProbeRead)
}

// Datasets that are an item each are read whole, by one process and several, warm and cold, and by h5py.
func TestDatasetsThatAreItems(t *testing.T) {
	path := filepath.Join(onDisk(t), "a.h5")
	must.Python(t, "-c", `import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    for i in range(300):
        f.create_dataset(f"c{i}/x", data=n.full((3, 40, 40), i % 7, "f4"), chunks=(1, 40, 40), compression="gzip")
        f[f"c{i}/y"] = i`, path)
	sample, layout := surveyed(t, path)
	if !sample.Members || len(sample.Items) != 300 {
		t.Fatalf("%+v, %d items", sample.Source, len(sample.Items))
	}
	o := Options{Budget: 3 * time.Second, Layout: layout, MaxWorkers: 2}
	const bytes = 3 * 40 * 40 * 4
	r := measured(t, sample, o, report.ProbeRead)
	for _, cache := range []string{warm, cachesDropped} {
		as := []string{"cache=" + cache, "order=random", "handle=kept"}
		item, rate := find(t, r, report.ProbeRead, metric.ItemTime, as...), find(t, r, report.ProbeRead,
			metric.ByteRate, as...)
		if each := item.Center * rate.Center; each < 0.9*bytes || each > 1.1*bytes {
			t.Errorf("%s: %.0f bytes an item, of %d", cache, each, bytes)
		}
	}
	r = measured(t, sample, o, report.ProbeScaling)
	for _, cache := range []string{warm, cachesDropped} {
		find(t, r, report.ProbeScaling, metric.Efficiency, "workers=2", "cache="+cache, "order=random", "handle=kept")
	}
	if r = measured(t, sample, o, report.ProbeHDF5); len(r.Rows.Filters) != 1 || r.Rows.Filters[0].Time.Center <= 0 ||
		len(r.Rows.Caches) > 0 {
		t.Errorf("filters %+v, chunk caches %+v", r.Rows.Filters, r.Rows.Caches)
	}
	s := pythonSession(t, []string{realPython(t)}, sample, time.Second)
	s.options.Layout = layout
	must.Do(t, timePython(t.Context(), s))
	for _, handle := range []string{"kept", "reopened"} {
		onlyOne(t, s, metric.ItemTime, "decoder=h5py", "handle="+handle, "cache=warm")
	}
	for _, probe := range []string{report.ProbeTry, report.ProbeTier} {
		if r := measured(t, sample, o, probe); len(r.Abstained) != 1 || r.Abstained[0].Reason != notRewritten {
			t.Errorf("%s: %+v", probe, r.Abstained)
		}
	}
}
