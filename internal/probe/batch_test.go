package probe

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// hdf5Sample writes a file of items with h5py, contiguous as /x and compressed as /z, and samples one of them.
func hdf5Sample(t *testing.T, name string, items int) dataset.Sample {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.h5")
	script := `
import h5py, numpy, sys
n = int(sys.argv[2])
with h5py.File(sys.argv[1], "w") as f:
    f["x"] = numpy.arange(n * 12, dtype="f4").reshape(n, 4, 3)
    f.create_dataset("z", data=f["x"][:], chunks=(8, 4, 3), compression="gzip")
`
	must.Python(t, "-c", script, path, strconv.Itoa(items))
	s := sampleOf(t, dataset.Source{Kind: dataset.HDF5, Dataset: name}, path)
	s.Items = nil
	for i := range items {
		s.Items = append(s.Items, dataset.Ref{Index: int64(i)})
	}
	return s
}

func TestBatchesOfHDF5(t *testing.T) {
	for _, name := range []string{"/x", "/z"} {
		r := measured(t, hdf5Sample(t, name, 40), Options{Budget: 5 * time.Second, Seed: 1, BatchSize: 16},
			report.ProbeBatch)
		for _, gather := range []string{benchmark.ByItem, benchmark.BySelection} {
			want := []string{"batch_size=16", "gather=" + gather, "cache=warm", "order=random", "handle=kept"}
			batch := find(t, r, report.ProbeBatch, metric.BatchTime, want...)
			item := find(t, r, report.ProbeBatch, metric.ItemTime, want...)
			if batch.Center <= 0 || item.Center != batch.Center/16 || batch.N < 1 {
				t.Errorf("%s by %s: a batch takes %+v, an item %+v", name, gather, batch, item)
			}
		}
		if len(r.Unread)+len(r.Abstained)+len(r.Warnings) > 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestBatchesOfPictures(t *testing.T) {
	sample := somePictures(t, 6)
	cut := damage(t, sample, 0, 300)
	r := measured(t, sample, Options{Budget: 2 * time.Second, Seed: 1, BatchSize: 4}, report.ProbeBatch)
	find(t, r, report.ProbeBatch, metric.BatchTime, "batch_size=4", "gather=items", "cache=warm", "order=random")
	onlyUnread(t, r, cut, "")
}

func TestBatchLargerThanTheSample(t *testing.T) {
	r := measured(t, rawSample(t, 4096, 8, "a"), Options{BatchSize: 9}, report.ProbeBatch)
	if len(r.Abstained) != 1 || !strings.Contains(r.Abstained[0].Reason, "8 items") || len(r.Rows.Measurements()) > 0 {
		t.Errorf("%+v", r)
	}
}

// An item that cannot be read any more is named, and batches without it are measured: by one call for all as well.
func TestBatchesGoOnWithoutBadItems(t *testing.T) {
	sample := hdf5Sample(t, "/x", 40)
	sample.Items[7].Index = 1000 // not there
	c, err := gathered8(t, sample, benchmark.BySelection)
	if good := c.sound(&c.sample, c.items); err != nil || len(good) != 39 || len(c.result.Unread) != 1 {
		t.Errorf("%d items are sound, unread %+v, %v", len(good), c.result.Unread, err)
	}
}

// gathered8 gathers batches of eight items, pass by pass, until every item had its turn: by count, as a busy
// machine reads little in a moment.
func gathered8(t *testing.T, sample dataset.Sample, how string) (*workerGroup, error) {
	t.Helper()
	s := testSession(t, sample, Options{BatchSize: 8})
	c := &workerGroup{session: s, items: all(sample), pass: 10 * time.Millisecond}
	t.Cleanup(c.close)
	for read, from := 0, 0; read < len(sample.Items); {
		r, next, err := c.gatherRound(t.Context(), how, from)
		if err != nil {
			return c, err
		}
		read, from = read+8*int(r.Units), next
	}
	return c, nil
}

func TestBatchesSurviveACrash(t *testing.T) {
	c, err := gathered8(t, rawSample(t, 4096, 16, "a", "b", "crash", "c"), benchmark.ByItem)
	must.Do(t, err)
	onlyUnread(t, c.result, "/crash", "")
}

func TestBatchesOneByOneOnly(t *testing.T) {
	if _, err := gathered8(t, rawSample(t, 4096, 16, "a"), benchmark.BySelection); !errors.Is(err, errOneByOne) {
		t.Errorf("raw bytes were read by one call: %v", err)
	}
}
