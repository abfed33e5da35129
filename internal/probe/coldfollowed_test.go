package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// elsewhereIn is the script for datasets of 192 items of 64 KiB that lie in other files: virtual over three files,
// virtual over that one, virtual by a pattern, virtual over compressed chunks, and in two raw files.
const elsewhereIn = `import os, sys, h5py, numpy as n
os.chdir(sys.argv[1])
os.mkdir("parts")
whole = n.random.randint(0, 255, (192, 256, 256), dtype="u1")
for i in range(3):
    with h5py.File("parts/%d.h5" % i, "w") as f:
        f.create_dataset("x", data=whole[64 * i : 64 * i + 64])
        f.create_dataset("z", data=whole[64 * i : 64 * i + 64] // 16, chunks=(32, 256, 256), compression="gzip")
def virtual(name, sources):
    layout = h5py.VirtualLayout(shape=whole.shape, dtype="u1")
    for i, source in enumerate(sources):
        each = 192 // len(sources)
        layout[each * i : each * (i + 1)] = source
    with h5py.File(name, "w") as f: f.create_virtual_dataset("x", layout)
virtual("virtual.h5", [h5py.VirtualSource("parts/%d.h5" % i, "x", shape=(64, 256, 256)) for i in range(3)])
virtual("chunks.h5", [h5py.VirtualSource("parts/%d.h5" % i, "z", shape=(64, 256, 256)) for i in range(3)])
virtual("nested.h5", [h5py.VirtualSource("virtual.h5", "x", shape=(192, 256, 256))])
with h5py.File("pattern.h5", "w") as f:
    space = h5py.h5s.create_simple(whole.shape, (h5py.h5s.UNLIMITED, 256, 256))
    space.select_hyperslab((0, 0, 0), (h5py.h5s.UNLIMITED, 1, 1), (64, 1, 1), (64, 256, 256))
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_virtual(space, b"parts/%b.h5", b"x", h5py.h5s.create_simple((64, 256, 256)))
    h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_UINT8, space, how)
with h5py.File("external.h5", "w") as f:
    f.create_dataset("x", shape=whole.shape, dtype="u1", external=[("parts/first.raw", 0, whole.nbytes // 2), ("parts/second.raw", 0, h5py.h5f.UNLIMITED)])
whole[:96].tofile("parts/first.raw")
whole[96:].tofile("parts/second.raw")
`

// followed surveys a file that leads to others.
func followed(t *testing.T, path string) dataset.SurveyResult {
	t.Helper()
	return must.Get(dataset.Survey(path, dataset.SurveyOptions{Seed: 1, Follow: true}))(t)
}

// Reads of data in other files are cold when those files' pages are gone, not when the naming file's are.
func TestColdReadsOfOtherFiles(t *testing.T) {
	folder := onDisk(t)
	must.Python(t, "-c", elsewhereIn, folder)
	for name, files := range map[string]int{"virtual.h5": 3, "nested.h5": 4, "external.h5": 2, "chunks.h5": 3} {
		t.Run(name, func(t *testing.T) {
			found := followed(t, filepath.Join(folder, name))
			data := int64(192 * 64 << 10)
			if found.Bytes < data || len(found.Notes) == 0 || len(found.Sample.Files[0].Drawn) != files {
				t.Errorf("%d bytes, %q, %d files beside it", found.Bytes, found.Notes, len(found.Sample.Files[0].Drawn))
			}
			s := coldly(t, found.Sample, Options{Layout: found.Access})
			if name == "chunks.h5" {
				data /= 2 // four bits of each byte
			}
			items, p := coldRound(t, s, way{items: inOrder(&s.sample, random, 1), handle: handleKept, apart: true})
			if len(items) < 3 {
				t.Errorf("%d items are read", len(items))
			}
			if p.IO.Stored < p.IO.Asked*9/10 || p.IO.Asked < int64(p.Items)*data/192*9/10 {
				t.Errorf("%d items of %d bytes: %+v", p.Items, data/192, p.IO)
			}
			if name == "chunks.h5" && p.Items > 6 {
				t.Errorf("%d items of six chunks count as cold", p.Items)
			}
		})
	}
}

func TestNotColdWhereASourceStays(t *testing.T) {
	folder := onDisk(t)
	must.Python(t, "-c", elsewhereIn, folder)
	mapped(t, filepath.Join(folder, "parts", "1.h5"))
	for name, want := range map[string]string{"virtual.h5": "stay in the page cache", "pattern.h5": "by a pattern"} {
		found := followed(t, filepath.Join(folder, name))
		if found.Bytes < 192*64<<10 {
			t.Errorf("%s: %d bytes", name, found.Bytes)
		}
		s := testSession(t, found.Sample, Options{})
		if possible, err := s.canBeCold(t.Context()); err != nil || possible || !strings.Contains(s.result.Cold.Reason,
			want) {
			t.Errorf("%s: cold %+v, %v", name, s.result.Cold, err)
		}
	}
}

// Where it is not known which files are read, that which names them does not stand in for their storage.
func TestNoDeviceWhereSourcesAreNotKnown(t *testing.T) {
	folder := onDisk(t)
	must.Python(t, "-c", elsewhereIn, folder)
	r := measured(t, followed(t, filepath.Join(folder, "pattern.h5")).Sample, Options{Budget: time.Second},
		report.ProbeDevice)
	if len(r.Rows.Measurements()) > 0 || len(r.Abstained) != 1 || !strings.Contains(r.Abstained[0].Reason,
		"by a pattern") {
		t.Errorf("%d figures, abstained %+v", len(r.Rows.Measurements()), r.Abstained)
	}
}

// The storage is measured where the data is, not where it is named.
func TestDeviceReadsWhatIsFollowed(t *testing.T) {
	folder := onDisk(t)
	must.Python(t, "-c", elsewhereIn, folder)
	for _, name := range []string{"0.h5", "1.h5", "2.h5"} { // what was just written is not on the device yet
		f := must.Get(os.Open(filepath.Join(folder, "parts", name)))(t)
		must.Do(t, f.Sync())
		_ = f.Close()
	}
	survey := followed(t, filepath.Join(folder, "virtual.h5"))
	s := testSession(t, survey.Sample, Options{Budget: 2e9, Layout: survey.Access})
	must.Do(t, device(t.Context(), s))
	read := found(s.result, report.ProbeDevice, metric.ReadRate, "order="+random)
	if len(read) == 0 {
		t.Fatalf("no read in random order: %+v", s.result.Rows.Measurements())
	}
	for _, m := range read {
		if m.Labels[report.LabelBlock] != "65536" {
			t.Errorf("read of blocks of %s", m.Labels[report.LabelBlock])
		}
	}
	if read[0].Labels[report.LabelMode] == benchmark.Direct {
		warned(t, s.result, "MiB fits into a cache") // the file that names the others has some KiB
	}
}
