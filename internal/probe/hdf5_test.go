package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// layoutScript writes 1024 items of 4 KiB; a gzip chunk of half of them is twice the default chunk cache.
const layoutScript = `
import sys, h5py, numpy
items = (numpy.arange(1024 * 1024, dtype="f4").reshape(1024, 32, 32) * 7919 % 251).astype("f4")
for path in sys.argv[2:]:
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=items, **(dict(chunks=(512, 32, 32), compression="gzip", compression_opts=1) if sys.argv[1] == "gzip" else {}))
`

// surveyedHDF5 writes HDF5 files with h5py and surveys them.
func surveyedHDF5(t *testing.T, kind string, names ...string) (dataset.Sample, *dataset.Access) {
	t.Helper()
	folder := onDisk(t)
	args := []string{"-c", layoutScript, kind}
	for _, name := range names {
		args = append(args, filepath.Join(folder, name))
	}
	must.Python(t, args...)
	for _, path := range args[3:] { // settled, as training data is
		then := time.Now().Add(-2 * settled)
		must.Do(t, os.Chtimes(path, then, then))
	}
	return surveyed(t, folder)
}

func TestHDF5Layout(t *testing.T) {
	sample, layout := surveyedHDF5(t, "gzip", "a.h5")
	r := measured(t, sample, Options{Budget: 6 * time.Second, Seed: 1, Layout: layout}, report.ProbeHDF5)
	if len(r.Unread)+len(r.Abstained) > 0 {
		t.Fatalf("unread %v, abstained %v", r.Unread, r.Abstained)
	}
	item := func(l ...string) float64 {
		v := find(t, r, report.ProbeHDF5, metric.ItemTime, append(l, "cache=warm")...)
		if v.Center <= 0 || v.Lo > v.Center || v.Hi < v.Center {
			t.Errorf("%v: %+v", l, v)
		}
		return v.Center
	}
	kept, reopened := item("order=random", "handle=kept"), item("order=random", "handle=reopened")
	if v := find(t, r, report.ProbeHDF5, metric.FilterTime, "order=random"); v.Center <= 0 ||
		v.Center > 2*max(kept, reopened) {
		t.Errorf("CPU time in the filter: %+v, of items that take %v s", v, kept)
	}
	for _, mode := range []string{"mode=locked", "mode=unlocked"} {
		if v := find(t, r, report.ProbeHDF5, metric.OpenTime, "cache=warm", mode); v.Center <= 0 {
			t.Errorf("%s: %+v", mode, v)
		}
	}
	for _, order := range []string{"order=random", "order=sequential"} {
		byDefault := item(order, "handle=kept", "chunk_cache_bytes=1048576")
		item(order, "handle=kept", "chunk_cache_bytes=0")
		item(order, "handle=kept", "chunk_cache_bytes=2097152")
		if all := item(order, "handle=kept", "chunk_cache_bytes=4194304"); all > byDefault/4 {
			// some 500 times faster: nothing is inflated any more
			t.Errorf("%s: %v s an item with all chunks in the cache, %v s with the default", order, all, byDefault)
		}
	}
}

// Compression makes a random item read its whole chunk: some hundred times what it delivers, less what gzip saves.
func TestHDF5AmplificationIsSeen(t *testing.T) {
	sample, layout := surveyedHDF5(t, "gzip", "a.h5")
	r := measured(t, sample, Options{Budget: 2 * time.Second, Seed: 1, Layout: layout}, report.ProbeRead)
	for _, cache := range []string{"cache=warm", "cache=cold"} {
		v := find(t, r, report.ProbeRead, metric.Amplification, cache, "order=random", "handle=kept")
		if v.Center < 10 || v.Center > 512 {
			t.Errorf("%s: %v bytes read per byte delivered", cache, v.Center)
		}
	}
}

func TestHDF5WithoutChunks(t *testing.T) {
	sample, layout := surveyedHDF5(t, "contiguous", "a.h5")
	s := testSession(t, sample, Options{Budget: time.Second, Layout: layout})
	if list := s.sweep(); len(list) != 0 {
		t.Errorf("chunk caches for contiguous data: %v", list)
	}
	if err := measureLayout(t.Context(), s); err != nil || len(s.result.Abstained) > 0 {
		t.Fatalf("%v, %v", err, s.result.Abstained)
	}
	for _, m := range s.result.Rows.Measurements() {
		if m.Metric == metric.FilterTime.Name || m.Labels[report.LabelChunkCache] != "" {
			t.Errorf("without filters and chunks: %+v", m)
		}
	}
}

// TestHDF5LockIsNotTakenWhereSomebodyWrites: a reader with a lock makes a writer's open fail.
func TestHDF5LockIsNotTakenWhereSomebodyWrites(t *testing.T) {
	sample, layout := surveyedHDF5(t, "contiguous", "a.h5")
	written := time.Unix(sample.Files[0].Written, 0)
	s := testSession(t, sample, Options{Budget: time.Second, Layout: layout})
	s.clock = func() time.Time { return written.Add(settled - time.Second) }
	if age, young := s.unsettled(); !young || age != settled-time.Second {
		t.Errorf("written %v ago, and that is settled", age)
	}
	s.clock = time.Now
	s.sample.Files[0].Written = time.Now().Unix()
	must.Do(t, locks(t.Context(), s))
	find(t, s.result, report.ProbeHDF5, metric.OpenTime, "cache=warm", "mode=unlocked")
	if a := s.result.Abstained; len(a) != 1 || !strings.Contains(a[0].Reason, "keeps a writer out") {
		t.Errorf("%+v", a)
	}
	for _, m := range s.result.Rows.Measurements() {
		if m.Labels[report.LabelMode] == "locked" {
			t.Errorf("measured with a lock: %+v", m)
		}
	}
}

func TestHDF5LockThatIsRefused(t *testing.T) {
	sample, layout := surveyedHDF5(t, "contiguous", "a.h5")
	f := must.Get(os.Open(string(sample.Files[0].Path)))(t)
	defer f.Close()
	must.Do(t, unix.Flock(int(f.Fd()), unix.LOCK_EX)) // as a job does that writes to it
	s := testSession(t, sample, Options{Budget: time.Second, Layout: layout})
	must.Do(t, locks(t.Context(), s))
	find(t, s.result, report.ProbeHDF5, metric.OpenTime, "cache=warm", "mode=unlocked")
	const why = "1 of 1 sampled HDF5 files cannot be opened with file locking, as h5py opens them by default (locked: "
	warned(t, s.result, why)
	if a := s.result.Abstained; len(a) != 1 || a[0].Missing[0] != metric.BenchLock.Name ||
		!strings.HasPrefix(a[0].Reason, why) || !strings.HasSuffix(a[0].Reason, "another process holds a lock on it)") {
		t.Errorf("%+v", a)
	}
	if len(s.result.Unread) > 0 || len(s.sound(&s.sample, all(sample))) != len(sample.Items) {
		t.Errorf("a file that cannot be locked counts as unread: %v", s.result.Unread)
	}
}

func TestHDF5FileThatIsCutShort(t *testing.T) {
	sample, layout := surveyedHDF5(t, "gzip", "a.h5", "b.h5")
	must.Do(t, os.Truncate(string(sample.Files[1].Path), sample.Files[1].Bytes/2))
	r := measured(t, sample, Options{Budget: time.Second, NoCold: true, Layout: layout}, report.ProbeRead)
	onlyUnread(t, r, "b.h5", "")
	if v := find(t, r, report.ProbeRead, metric.ItemBytes, "cache=warm", "order=random",
		"handle=kept"); v.Center != 4096 {
		t.Errorf("items of %v bytes", v.Center)
	}
}

func TestHDF5FileThatIsGoneIsSaidOnce(t *testing.T) {
	sample, layout := surveyedHDF5(t, "gzip", "a.h5")
	must.Do(t, os.Remove(string(sample.Files[0].Path)))
	s := testSession(t, sample, Options{Budget: time.Second, NoCold: true, Layout: layout})
	must.Do(t, measureLayout(t.Context(), s))
	// Items cannot be read, and files cannot be opened.
	a := s.result.Abstained
	if len(a) != 2 || !strings.HasPrefix(a[0].Reason, "reading stored chunks without decompressing them; opening the "+
		"file for each item; random reads with a chunk cache of 1 MiB; ") || !strings.Contains(a[0].Reason,
		": "+errNoneReadable.Error()) || !strings.HasPrefix(a[1].Reason,
		"opening with and without the file lock: "+errNoneOpens.Error()) {
		t.Errorf("abstained: %+v", a)
	}
}

func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		name               string
		chunk, whole, most int64
		want               []int64
	}{
		{"a chunk of 2 MiB of 128", 2 * mib, 126 * mib, 256 * mib, []int64{0, 2 * mib, 8 * mib, 32 * mib, 128 * mib}},
		{"small chunks", 32 << 10, 126 * mib, 256 * mib, []int64{0, 4 * mib, 16 * mib, 64 * mib, 128 * mib}},
		{"a dataset larger than any cache", 3 * mib, 1 << 40, 64 * mib, []int64{0, 4 * mib, 16 * mib, 64 * mib}},
		{"a dataset that the default holds", 32 << 10, mib / 2, 256 * mib, []int64{0}},
		{"many files, little for each", 2 * mib, 126 * mib, mib, []int64{0}},
	} {
		if diff := cmp.Diff(c.want, candidates(c.chunk, c.whole, c.most)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// A cache that holds much of the sample is tried only where it would hold as much of the dataset.
func TestSweepIsNotFlatteredByTheSample(t *testing.T) {
	sample := dataset.Sample{Source: dataset.Source{Kind: dataset.HDF5}, Files: []dataset.File{{Bytes: 1 << 40}}}
	for run := range 64 {
		for i := range 64 {
			sample.Items = append(sample.Items, dataset.Ref{Index: int64(run*100*64 + i)})
		}
	}
	layout := &dataset.Access{ItemsPerChunk: new(int64(64)), Dataset: hdf5.Dataset{Shape: []int64{640_000, 128, 64},
		Chunk: []int64{64, 128, 64}, ChunkBytes: new(int64(2 * mib))}}
	s := newSession(nil, sample, Options{Layout: layout})
	got := map[string][]int64{}
	for _, c := range s.sweep() {
		got[c.order] = append(got[c.order], c.bytes)
	}
	// the sample's chunks are 128 MiB, the dataset's 20 GiB
	want := map[string][]int64{random: {mib, 0, 2 * mib}, sequential: {mib, 0, 2 * mib, 8 * mib, 32 * mib}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChunksOf(t *testing.T) {
	shape, chunk := []int64{100, 64, 64}, []int64{10, 32, 64}
	sample := dataset.Sample{Items: []dataset.Ref{{Index: 3}, {Index: 7}, {Index: 12}, {File: 1, Index: 3}}}
	if n, files, ok := chunksOf(&sample, shape, chunk); n != 6 || files != 2 || !ok {
		t.Errorf("%d chunks in %d files, %v", n, files, ok)
	}
	patches := dataset.Sample{Source: dataset.Source{ItemShape: []int64{20, 8, 8}},
		Items: []dataset.Ref{{Index: 5, Corner: []int64{5, 0, 0}}, {Index: 5, Corner: []int64{5, 28, 0}}}}
	if n, _, ok := chunksOf(&patches, shape, chunk); n != 6 || !ok {
		// the first lies in 3 chunks, the second in these and 3 beside them
		t.Errorf("patches lie in %d chunks, %v", n, ok)
	}
	if _, _, ok := chunksOf(&sample, shape, chunk[:2]); ok {
		t.Error("shapes that do not match are counted")
	}
}
