package probe

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// Of a few files that hold one item each, a job opens one for each item: what the chunk caches of open files hold is no
// read, by pipetune or by h5py. One chunk of 800 KiB fits into a cache.
func TestItemsOfFilesThatAreOpenedForEach(t *testing.T) {
	folder := onDisk(t)
	for i := range 4 {
		must.Python(t, "-c", `import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    x = n.random.default_rng(0).integers(0, 60, (1, 400, 500), dtype="i4")
    f.create_dataset("x", data=x, chunks=x.shape, compression="gzip")`, filepath.Join(folder, fmt.Sprint(i, ".h5")))
	}
	sample, layout := surveyed(t, folder)
	if !sample.OpensEach {
		t.Fatalf("%+v", sample.Source)
	}
	s := pythonSession(t, []string{realPython(t)}, sample, 2*time.Second)
	s.options.Layout = layout
	must.Do(t, read(t.Context(), s))
	const least = 0.0005 // inflating it takes 2 ms; copied out of a cache it took 18 µs
	for _, order := range []string{random, sequential} {
		as := []string{"cache=" + warm, "order=" + order, "handle=kept"}
		if item := find(t, s.result, report.ProbeRead, metric.ItemTime, as...); item.Center < least {
			t.Errorf("%s: %v s", order, item.Center)
		}
	}
	s.time = begin(s.clock, 2*time.Second)
	must.Do(t, timePython(t.Context(), s))
	timed := found(s.result, report.ProbePython, metric.ItemTime, "decoder=h5py")
	if len(timed) == 0 {
		t.Errorf("h5py is not timed: %+v", s.result.Rows.Measurements())
	}
	for _, m := range timed {
		if m.Labels[report.LabelHandle] != handleReopened || m.Value.Center < least {
			t.Errorf("%v: %v s", m.Labels, m.Value.Center)
		}
	}
}
