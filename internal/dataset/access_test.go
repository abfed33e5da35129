package dataset

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/must"
)

func TestAccess(t *testing.T) {
	f := must.Get(hdf5.Layout(filepath.Join(fixtures, "layouts.h5"), hdf5.DefaultLimits()))(t)
	type numbers struct {
		ItemsPerChunk, ChunksPerItem *int64
		Amplification                *float64
	}
	want := map[string]numbers{
		"/contiguous":   {nil, nil, new(1.0)},
		"/chunk_item":   {new(int64(1)), new(int64(1)), new(1.0)},
		"/chunk_many":   {new(int64(8)), new(int64(1)), new(8.0)},
		"/chunk_across": {new(int64(24)), new(int64(4)), new(24.0)},
		"/types/jpeg":   {}, // contiguous references to data that lies elsewhere
	}
	seen := 0
	for _, d := range f.Datasets {
		w, ok := want[d.Path.String()]
		if !ok {
			continue
		}
		seen++
		a := access(d)
		if diff := cmp.Diff(w, numbers{a.ItemsPerChunk, a.ChunksPerItem, a.Amplification}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d.Path, diff)
		}
	}
	if seen != len(want) {
		t.Errorf("%d of %d datasets seen", seen, len(want))
	}
}

// A chunk longer than the dataset, and an edge that does not come out even: a chunk is read whole all the same.
func TestAccessAtTheEdges(t *testing.T) {
	a := access(hdf5.Dataset{Shape: []int64{3, 10}, Chunk: []int64{8, 4}, Storage: hdf5.Chunked,
		ItemBytes: new(int64(10)), ChunkBytes: new(int64(32))})
	if *a.ItemsPerChunk != 3 || *a.ChunksPerItem != 3 || *a.Amplification != 9.6 {
		t.Errorf("%d items, %d chunks, %g times; want 3, 3, 9.6", *a.ItemsPerChunk, *a.ChunksPerItem, *a.Amplification)
	}
}

func TestLikely(t *testing.T) {
	images, larger := held("/i", "uint8", 1, 100, 8, 8), held("/l", "uint8", 1, 100, 9, 9)
	images.StoredBytes, larger.StoredBytes = new(int64(1000)), new(int64(2000))
	labels := held("/y", "int64", 8, 100000)
	encoded := hdf5.Dataset{Shape: []int64{100}, ElementBytes: 16, StoredBytes: new(int64(4000))}
	unwritten, virtual := held("/u", "uint8", 1, 100, 99, 99), held("/v", "uint8", 1, 100, 64, 64)
	unwritten.StoredBytes, virtual.StoredBytes, virtual.Storage = new(int64(0)), nil, hdf5.Virtual
	scalar := hdf5.Dataset{ElementBytes: 8, StoredBytes: new(int64(8))}
	for name, c := range map[string]struct {
		datasets []hdf5.Dataset
		want     int // index, -1 for none
	}{
		"the larger of two":                                {[]hdf5.Dataset{images, larger}, 1},
		"labels are not samples":                           {[]hdf5.Dataset{labels, images}, 1},
		"labels when there is no other":                    {[]hdf5.Dataset{scalar, labels}, 1},
		"encoded images in one axis":                       {[]hdf5.Dataset{labels, images, encoded}, 2},
		"virtual, by its decoded size":                     {[]hdf5.Dataset{images, virtual}, 1},
		"what was written, not what is larger and was not": {[]hdf5.Dataset{unwritten, labels}, 1},
		"what was never written when there is no other":    {[]hdf5.Dataset{scalar, unwritten}, 1},
		"nothing but a scalar":                             {[]hdf5.Dataset{scalar}, -1},
		"an empty file":                                    {nil, -1},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Likely(hdf5.File{Datasets: c.datasets})
			if ok != (c.want >= 0) {
				t.Fatalf("found %v: %+v", ok, got)
			}
			if ok {
				if diff := cmp.Diff(c.datasets[c.want], got.Dataset); diff != "" {
					t.Errorf("chose another (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestLikelyDoesNotGuessAroundWhatItCannotRead(t *testing.T) {
	file := hdf5.File{Bytes: 1 << 20, Datasets: []hdf5.Dataset{held("/y", "int64", 8, 100)},
		Problems: []hdf5.Problem{{}}}
	if got, ok := Likely(file); ok {
		t.Errorf("chose %+v beside a dataset that could not be read", got.Dataset)
	}
	file.Bytes = 1500
	if _, ok := Likely(file); !ok {
		t.Error("what fills more than half of the file was not chosen")
	}
	file.Bytes = 4000
	for range 2 { // of four alike, one cannot be read
		file.Datasets = append(file.Datasets, held("/z", "int64", 8, 100))
	}
	if _, ok := Likely(file); !ok {
		t.Error("one of several that fill more than half of the file was not chosen")
	}
}

// TestChooseDatasetOutside refuses to read labels where the samples lie in other files.
func TestChooseDatasetOutside(t *testing.T) {
	images, labels := held("/images", "uint8", 1, 100, 64, 64), held("/labels", "int64", 8, 100)
	images.StoredBytes, images.Storage = nil, hdf5.Virtual
	first := []inside{{hdf5: hdf5.File{Datasets: []hdf5.Dataset{labels, images}}}}
	if name, err := (&surveyor{}).chooseDataset(first); !errors.Is(err, ErrOutside) || !strings.Contains(err.Error(),
		"/images;") {
		t.Errorf("%q, %v", name, err)
	}
	for want, o := range map[string]SurveyOptions{"/images": {Follow: true}, "/labels": {Dataset: "labels"}} {
		if name, err := (&surveyor{o: o}).chooseDataset(first); name != want || err != nil {
			t.Errorf("%+v: %q, %v", o, name, err)
		}
	}
}
