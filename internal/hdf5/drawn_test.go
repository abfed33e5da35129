package hdf5

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

func TestDrawnBy(t *testing.T) {
	folder := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Python(t, "-c", `import os, sys, h5py, numpy as n
os.chdir(sys.argv[1])
os.mkdir("parts")
for i in range(2):
    with h5py.File("parts/%d.h5" % i, "w") as f:
        f["x"] = n.zeros((8, 4), "u1")
        f.create_dataset("z", data=n.zeros((8, 4), "u1"), chunks=(4 + i, 4))
def virtual(name, *sources):
    layout = h5py.VirtualLayout(shape=(8 * len(sources), 4), dtype="u1")
    for i, (file, x) in enumerate(sources):
        layout[8 * i : 8 * i + 8] = h5py.VirtualSource(file, x, shape=(8, 4))
    with h5py.File(name, "a") as f: f.create_virtual_dataset("x", layout)
virtual("one.h5", ("parts/0.h5", "x"), ("parts/1.h5", "x"))
virtual("chunked.h5", ("parts/0.h5", "z"), ("parts/1.h5", "z"), ("parts/1.h5", "z"))
virtual("nested.h5", ("one.h5", "x"))
virtual("missing.h5", ("parts/0.h5", "x"), ("parts/2.h5", "x"), ("parts/1.h5", "nothing"))
virtual("absolute.h5", (os.path.abspath("parts/0.h5"), "x"), ("/moved/away/one.h5", "x"))
with h5py.File("pattern.h5", "w") as f:
    space = h5py.h5s.create_simple((16, 4), (h5py.h5s.UNLIMITED, 4))
    space.select_hyperslab((0, 0), (h5py.h5s.UNLIMITED, 1), (8, 1), (8, 4))
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_virtual(space, b"parts/%b.h5", b"x", h5py.h5s.create_simple((8, 4)))
    h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_UINT8, space, how)
with h5py.File("within.h5", "w") as f: f["z"] = n.zeros((8, 4), "u1")
virtual("within.h5", (".", "z"))
with h5py.File("raw.h5", "w") as f: f.create_dataset("x", (8, 4), "u1", external=[("parts/a.raw", 0, 16), ("parts/b.raw", 0, 16)])
with h5py.File("plain.h5", "w") as f: f["x"] = n.zeros((8, 4), "u1")
with h5py.File("link.h5", "w") as f: f["x"] = h5py.ExternalLink("one.h5", "/x")
for name in "ab": n.zeros(16, "u1").tofile("parts/%s.raw" % name)
`, folder)
	for name, want := range map[string]Drawn{
		"plain":    {},
		"within":   {},
		"one":      {Files: []string{"parts/0.h5", "parts/1.h5"}},
		"chunked":  {Files: []string{"parts/0.h5", "parts/1.h5"}, ChunkRows: 5},
		"nested":   {Files: []string{"one.h5", "parts/0.h5", "parts/1.h5"}},
		"missing":  {Files: []string{"parts/0.h5", "parts/1.h5"}},
		"absolute": {Files: []string{"parts/0.h5", "one.h5", "parts/1.h5"}},
		"raw":      {Files: []string{"parts/a.raw", "parts/b.raw"}},
		"link":     {Files: []string{"one.h5", "parts/0.h5", "parts/1.h5"}},
		"pattern":  {Unsure: unsurePattern},
	} {
		got, err := DrawnBy(filepath.Join(folder, name+".h5"), "x")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, file := range want.Files {
			want.Files[i] = filepath.Join(folder, file)
		}
		if !slices.Equal(got.Files, want.Files) || got.ChunkRows != want.ChunkRows || got.Unsure != want.Unsure {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
