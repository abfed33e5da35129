package probe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// coldly is a session that can read cold from a device that reads ahead as much as is usual.
func coldly(t *testing.T, sample dataset.Sample, o Options) *session {
	t.Helper()
	o.Budget, o.Seed = 2*time.Second, 1
	s := testSession(t, sample, o)
	if possible, err := s.canBeCold(t.Context()); err != nil || !possible {
		t.Fatalf("cold reads are not possible: %v, %+v", err, s.result.Cold)
	}
	s.page.ahead = 128 << 10
	return s
}

// coldRound names the items of one cold round, and reads another.
func coldRound(t *testing.T, s *session, w way) (items []int, p pass) {
	t.Helper()
	w.sample, w.cold = &s.sample, true
	m := measuring{session: s, way: w, process: s.process(w.sample, time.Minute), pass: time.Second}
	defer m.process.close()
	items = m.coldItems()
	must.Get(m.coldRound(t.Context()))(t)
	if p = m.out.passes[0]; p.IO == nil {
		t.Fatal("/proc/self/io was not read")
	}
	return items, p
}

// Chunks of 512 KiB without a filter fit into libhdf5's chunk cache: it reads them whole, and each item after the first
// of a chunk comes out of memory. Only first ones are cold.
func TestColdItemsOfAChunkThatFitsTheCache(t *testing.T) {
	path := filepath.Join(onDisk(t), "chunks.h5")
	must.Python(t, "-c", `import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("x", data=n.random.randint(0, 255, (512, 64, 512), dtype="u1"), chunks=(16, 64, 512))
    f.create_dataset("gzip", data=n.random.randint(0, 9, (512, 64, 512), dtype="u1"), chunks=(16, 64, 512), compression="gzip")
`, path)
	for name, o := range map[string]dataset.SurveyOptions{
		"items of one index":          {Dataset: "x"},
		"patches of two":              {Dataset: "x", ItemShape: []int64{2, 64, 512}},
		"patches of two, compressed":  {Dataset: "gzip", ItemShape: []int64{2, 64, 512}},
		"patches of four, compressed": {Dataset: "gzip", ItemShape: []int64{4, 64, 512}},
	} {
		t.Run(name, func(t *testing.T) {
			found := must.Get(dataset.Survey(path, o))(t)
			s := coldly(t, found.Sample, Options{Layout: found.Access})
			items, p := coldRound(t, s, way{items: inOrder(&s.sample, random, 1), handle: handleKept, apart: true})
			chunks := map[int64]bool{}
			for _, i := range items {
				chunks[s.sample.Items[i].Index/16] = true
			}
			if len(items) != len(chunks) || len(chunks) < 16 {
				t.Errorf("%d items of %d chunks are read", len(items), len(chunks))
			}
			if d := found.Access.Dataset; p.IO.Asked < int64(p.Items)**d.StoredBytes/32*9/10 {
				t.Errorf("%d items read %d bytes, where chunks have %d", p.Items, p.IO.Asked, *d.StoredBytes/32)
			}
		})
	}
}

// Of a hole there is nothing to fetch: reading it is as fast with the pages gone.
func TestHolesAreNotCold(t *testing.T) {
	sample := rawSample(t, 64<<10, 256, "a")
	path := string(sample.Files[0].Path)
	must.Do(t, os.Truncate(path, 0))
	must.Do(t, os.Truncate(path, 256*64<<10))
	r := measured(t, sample, Options{Budget: 2 * time.Second, Seed: 1}, report.ProbeRead)
	notCold(t, r, report.ProbeRead, "0 % of what was read came from storage")
	s := coldly(t, sample, Options{})
	if err := (&workerGroup{session: s, cold: true}).curve(t.Context(), begin(s.clock, time.Second)); err == nil ||
		!strings.Contains(err.Error(), "0 % of what was read came from storage") {
		t.Errorf("several processes: %v", err)
	}
}

// Opening a picture asks for its inode alone, which is in memory still.
func TestOpeningWithoutReadingIsNotCold(t *testing.T) {
	r := measured(t, fileEach(t, 20), Options{Budget: 2 * time.Second, Seed: 1}, report.ProbeOpen)
	notCold(t, r, report.ProbeOpen, "nothing came from storage")
}

// Of HDF5, opening reads what the file says of itself.
func TestOpeningHDF5IsCold(t *testing.T) {
	path := filepath.Join(onDisk(t), "one.h5")
	must.Python(t, "-c", compressed(16), path)
	sample, access := surveyed(t, path)
	r := measured(t, sample, Options{Budget: 2 * time.Second, Seed: 1, Layout: access}, report.ProbeOpen)
	if v := find(t, r, report.ProbeOpen, metric.OpenTime, "cache=cold"); v.Center <= 0 {
		t.Errorf("cold: %+v", v)
	}
}

// notCold sees that no figure is called cold, and that the reason is reported.
func notCold(t *testing.T, r Result, probe, why string) {
	t.Helper()
	for _, m := range r.Rows.Measurements() {
		if m.Probe == probe && m.Labels[report.LabelCache] == cachesDropped {
			t.Errorf("called cold: %+v", m)
		}
	}
	for _, a := range r.Abstained {
		if slices.Contains(a.Missing, probe) && strings.Contains(a.Reason, why) {
			return
		}
	}
	t.Errorf("why it is not cold is not told: %+v", r.Abstained)
}

// A file that a folder has by several names is fetched once.
func TestLinksToOneFileAreColdOnce(t *testing.T) {
	folder := onDisk(t)
	for i := range 4 {
		first := filepath.Join(folder, fmt.Sprintf("%d-0.bin", i))
		must.Do(t, os.WriteFile(first, bytes.Repeat([]byte{byte(i), 7}, 50_000), 0o600))
		for k := range 4 {
			must.Do(t, os.Link(first, filepath.Join(folder, fmt.Sprintf("%d-%d.bin", i, k+1))))
		}
	}
	found, err := dataset.Survey(folder, dataset.SurveyOptions{Seed: 1, BlockBytes: 1 << 20})
	if err != nil || len(found.Sample.Files) != 20 {
		t.Fatalf("%v, %d files", err, len(found.Sample.Files))
	}
	for _, random := range []bool{true, false} {
		s := coldly(t, found.Sample, Options{})
		_, p := coldRound(t, s, way{items: all(s.sample), handle: handleReopened, apart: random})
		if p.Items != 4 || p.IO.Stored < 400_000 {
			t.Errorf("at random %v: %d items, %+v", random, p.Items, p.IO)
		}
	}
}
