package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/must"
)

// perSample writes a file with a dataset for each of n samples, by Python that has it as f and the number as i.
func perSample(t *testing.T, n int, each string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.h5")
	must.Python(t, "-c", fmt.Sprintf(`import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    for i in range(%d):
        %s`, n, each), path)
	return path
}

func TestDatasetsThatAreSamples(t *testing.T) {
	for name, c := range map[string]struct {
		n             int
		each, dataset string // what is asked for
		want          string
	}{
		"a group for each":            {20, `f[f"c{i}/x"] = n.full((3, 8, 8), i, "u1"); f[f"c{i}/y"] = i`, "", "/*/x"},
		"deeper":                      {20, `f[f"a/b_{i}/c/d"] = n.full((3, 8, 8), i, "u1")`, "", "/a/*/c/d"},
		"side by side, of many sizes": {20, `f[f"img_{i}"] = n.full((3, 8 + i, 8), i, "u1")`, "", "/*"},
		"sounds":                      {20, `f[f"s/{i}"] = n.full(100 + i, i, "f4")`, "", "/s/*"},
		"another of them": {20, `f[f"c{i}/x"] = n.full((3, 9, 9), i); f[f"c{i}/y"] = n.full((8, 2), i)`,
			"/*/y", "/*/y"},
		"one of them":              {20, `f[f"c{i}/x"] = n.full((3, 9, 9), i)`, "/c3/x", "/c3/x"},
		"columns of a table":       {20, `f[f"column_{i}"] = n.full(1000, i, "f4")`, "", "/column_0"},
		"features of a table":      {20, `f[f"feature_{i}"] = n.full((2000, 64), i, "f4")`, "", "/feature_0"},
		"few":                      {4, `f[f"part_{i}"] = n.full((50, 9, 9), i)`, "", "/part_0"},
		"recordings of many steps": {20, `f[f"demo_{i}/obs"] = n.full((50 + i, 70, 70), i, "u1")`, "", "/*/obs"},
		"slices of volumes":        {20, `f[f"v{i}"] = n.full((50, 64, 64), i, "f4")`, "", "/*"},
	} {
		t.Run(name, func(t *testing.T) {
			items, rows := map[string]int64{"recordings of many steps": 20*50 + 190, "slices of volumes": 1000}[name]
			if !rows {
				items = 20
			}
			found, err := Survey(perSample(t, c.n, c.each), SurveyOptions{Dataset: c.dataset, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, found.Sample.Dataset); diff != "" {
				t.Error(diff)
			}
			isOne := slices.Contains([]string{"/c3/x", "/column_0", "/part_0", "/feature_0"}, c.want)
			if found.Sample.Members == isOne {
				t.Errorf("members %v", found.Sample.Members)
			}
			if !isOne && (found.Items == nil || *found.Items != items || found.Sample.Rows != rows ||
				found.Part != nil) {
				t.Errorf("%v items, part %v", found.Items, found.Part)
			}
		})
	}
}

// TestLikelyOnesOfAPattern: of what a pattern names, the datasets that are likely to be samples are taken, whichever
// comes first by name.
func TestLikelyOnesOfAPattern(t *testing.T) {
	path := perSample(t, 20, `f[f"img_{i}"] = n.full((3, 8, 8), i, "u1"); f[f"box_{i}"] = n.full((2, 4), i, "f4")
        if i == 0: f["a"] = n.arange(20)`)
	found := must.Get(Survey(path, SurveyOptions{Seed: 1}))(t)
	if a := found.Access; a == nil || !slices.Equal(a.Dataset.Shape, []int64{20, 3, 8, 8}) {
		t.Errorf("%+v", a)
	}
}

// TestEncodedPicturesAreLikely: what elements of varying length refer to counts, so that a table of features beside
// encoded pictures is not taken for the samples.
func TestEncodedPicturesAreLikely(t *testing.T) {
	path := perSample(t, 1, `x = f.create_dataset("x", (64,), dtype=h5py.vlen_dtype("u1")); f["y"] = n.ones((64, 16))
        f["names"] = [f"{k:06d}.jpg" for k in range(64)]
        for k in range(64): x[k] = n.full(9000 + k, k, "u1")`)
	f := must.Get(hdf5.Layout(path, surveyLimits()))(t)
	a, ok := Likely(f)
	if !ok || a.Dataset.Path.String() != "/x" || *a.Dataset.StoredBytes < 60*9000 || *a.Dataset.StoredBytes > f.Bytes {
		t.Errorf("%+v of %d bytes", a.Dataset, f.Bytes)
	}
}

func TestReadingRowsOfDatasets(t *testing.T) {
	path := perSample(t, 20, `x = n.arange(10 * i, 10 * i + 50 + i, dtype="u2")
        f.create_dataset(f"d{i}/x", data=n.repeat(x, 4096).reshape(-1, 64, 64), chunks=(4, 64, 64),
            compression="gzip")`)
	found := must.Get(Survey(path, SurveyOptions{Seed: 1}))(t)
	a := found.Access
	if a == nil || !slices.Equal(a.Dataset.Shape, []int64{1190, 64, 64}) || a.Dataset.Chunk[0] != 4 ||
		found.ItemBytes == nil || *found.ItemBytes != 8192 {
		t.Fatalf("%+v of %v bytes", a, found.ItemBytes)
	}
	h := must.Get(found.Sample.Open(found.Sample.Files[0]))(t)
	defer h.Close()
	for _, ref := range found.Sample.Items {
		var i uint16
		if _, err := fmt.Sscanf(ref.Name, "/d%d/x", &i); err != nil || ref.Row >= 50+int64(i) {
			t.Fatalf("%+v: %v", ref, err)
		}
		got := must.Get(h.Read(ref, nil))(t)
		if want := 10*i + uint16(ref.Row); len(got) != 8192 || binary.LittleEndian.Uint16(got) != want {
			t.Errorf("%+v: %d bytes of %v, want %d", ref, len(got), binary.LittleEndian.Uint16(got), want)
		}
		if raw := must.Get(h.(ChunkReader).ReadRaw(ref, nil))(t); raw <= 0 || raw >= 4*8192 {
			t.Errorf("%+v: %d bytes are stored", ref, raw)
		}
	}
}

func TestReadingDatasetsThatAreSamples(t *testing.T) {
	path := perSample(t, 12, `x = n.full((3, 8, 8 + i % 2), i, "u1")
        f.create_dataset(f"c{i}/x", data=x, chunks=True, compression="gzip")`)
	found := must.Get(Survey(path, SurveyOptions{Seed: 1}))(t)
	if a := found.Access; a == nil || !slices.Equal(a.Dataset.Shape, []int64{12, 3, 8, 8}) || a.Dataset.Chunk[0] != 1 ||
		len(found.Sample.Items) != 12 || found.ItemBytes != nil {
		t.Fatalf("%+v, %d items of %v bytes", a, len(found.Sample.Items), found.ItemBytes)
	}
	h := must.Get(found.Sample.Open(found.Sample.Files[0]))(t)
	defer h.Close()
	for _, ref := range found.Sample.Items {
		var i, size int
		if _, err := fmt.Sscanf(ref.Name, "/c%d/x", &i); err != nil {
			t.Fatalf("%q: %v", ref.Name, err)
		}
		size = 3 * 8 * (8 + i%2)
		got := must.Get(h.Read(ref, nil))(t)
		if !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, size)) {
			t.Errorf("%s: %d bytes %v…", ref.Name, len(got), got[:1])
		}
		if raw := must.Get(h.(ChunkReader).ReadRaw(ref, nil))(t); raw <= 0 || raw >= int64(size) {
			t.Errorf("%s: %d bytes are stored, of %d", ref.Name, raw, size)
		}
	}
	if _, err := h.Read(Ref{Name: "/c99/x"}, nil); !errors.Is(err, hdf5.ErrNoDataset) {
		t.Errorf("a sample that is not there: %v", err)
	}
	_, err := Survey(path, SurveyOptions{ItemShape: []int64{1, 2, 2}, Dataset: "/*/x"})
	if !errors.Is(err, ErrItemShape) {
		t.Errorf("patches of whole datasets: %v", err)
	}
	if _, err := Survey(path, SurveyOptions{Dataset: "/*/z"}); !errors.Is(err, ErrNoDataset) {
		t.Errorf("a pattern that names nothing: %v", err)
	}
}

// Hundreds of files of a picture and its mask each are a sample each; a few files of pictures and masks are not.
func TestAFileForEachSample(t *testing.T) {
	folder := t.TempDir()
	must.Python(t, "-c", fmt.Sprintf(`import sys, h5py, numpy as n
for i in range(%d):
    with h5py.File(f"{sys.argv[1]}/{i}.h5", "w") as f:
        f["image"] = n.full((32, 40, 3), i %% 200, "u1")
        f["mask"] = n.zeros((32, 40), "u1"); f["label"] = i`, wholeFiles), folder)
	found := must.Get(Survey(folder, SurveyOptions{Seed: 1}))(t)
	if !slices.Equal(found.Sample.ItemShape, []int64{32, 40, 3}) || found.Sample.Dataset != "/image" {
		t.Errorf("%+v", found.Sample.Source)
	}
}
