package dataset

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/hdf5"
)

func itemsOf(t *testing.T, source Source) *hdf5Items {
	t.Helper()
	source.Kind = HDF5
	return openItem(t, source, fileAt(t, filepath.Join(fixtures, "layouts.h5"))).(*hdf5Items)
}

// rows gives all of a dataset of 24 items of 4 x 6 bytes, item after item.
func rows(t *testing.T, h Handle) []byte {
	t.Helper()
	var all []byte
	for i := range int64(24) {
		got, err := h.Read(Ref{Index: i}, nil)
		if err != nil || len(got) != 24 {
			t.Fatalf("item %d: %d bytes, %v", i, len(got), err)
		}
		all = append(all, got...)
	}
	return all
}

// The same numbers lie in the file in five layouts, and a reader of the dataset must not notice.
func TestHDF5Items(t *testing.T) {
	want := rows(t, itemsOf(t, Source{Dataset: "/contiguous"}))
	for _, name := range []string{"chunk_item", "chunk_many", "chunk_across", "gzip", "resizable"} {
		h := itemsOf(t, Source{Dataset: name})
		if got := rows(t, h); !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes than the contiguous dataset", name)
		}
		var batch []Ref
		var expected []byte
		for _, i := range []int64{3, 4, 20, 1, 3} {
			batch = append(batch, Ref{Index: i})
			expected = append(expected, want[24*i:24*i+24]...)
		}
		if got, err := h.ReadBatch(batch, make([]byte, 7)); err != nil || !bytes.Equal(got, expected) {
			t.Errorf("%s: a batch of %d bytes, %v", name, len(got), err)
		}
	}
}

func TestHDF5Patches(t *testing.T) {
	all := rows(t, itemsOf(t, Source{Dataset: "contiguous"}))
	at := func(corner []int64) (out []byte) {
		for i := range int64(2) {
			for j := range int64(3) {
				from := (corner[0]+i)*24 + (corner[1]+j)*6 + corner[2]
				out = append(out, all[from:from+2]...)
			}
		}
		return out
	}
	for _, name := range []string{"contiguous", "chunk_across", "gzip"} {
		h := itemsOf(t, Source{Dataset: name, ItemShape: []int64{2, 3, 2}})
		for _, corner := range [][]int64{{0, 0, 0}, {22, 1, 4}, {7, 1, 3}} {
			got, err := h.Read(Ref{Index: corner[0], Corner: corner}, nil)
			if err != nil || !bytes.Equal(got, at(corner)) {
				t.Errorf("%s: the patch at %v: %v, %v", name, corner, got, err)
			}
		}
		if _, err := h.Read(Ref{Corner: []int64{23, 0, 0}}, nil); !errors.Is(err, hdf5.ErrRange) {
			t.Errorf("%s: a patch beyond the end: %v", name, err)
		}
		if _, err := h.ReadBatch([]Ref{{Corner: []int64{0, 0, 0}}}, nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: a batch of patches: %v", name, err)
		}
	}
	if _, err := itemsOf(t, Source{Dataset: "gzip"}).Read(Ref{Corner: []int64{0, 0, 0}}, nil); err == nil {
		t.Error("a patch of no shape was read")
	}
	file := fileAt(t, filepath.Join(fixtures, "layouts.h5"))
	if _, err := (Source{Kind: HDF5, Dataset: "gzip", ItemShape: []int64{1}}).Open(file); err == nil {
		t.Error("patches of one axis of a dataset of three")
	}
}

func TestHDF5RawBytes(t *testing.T) {
	compressed := int64(0)
	for name, want := range map[string]int64{"contiguous": 24, "chunk_item": 24, "chunk_many": 8 * 24,
		"chunk_across": 24 * 24, "unallocated": 0, "gzip": -1} {
		h := itemsOf(t, Source{Dataset: name})
		raw, err := h.ReadRaw(Ref{Index: 9}, nil)
		if name == "gzip" {
			compressed, want = raw, raw
		}
		if err != nil || raw != want {
			t.Errorf("%s: %d bytes, %v; want %d", name, raw, err, want)
		}
		if n := testing.AllocsPerRun(10, func() { raw, err = h.ReadRaw(Ref{Index: 9}, nil) }); n > 8 || err != nil ||
			raw != want {
			t.Errorf("%s, again: %d bytes, %v, %v allocations", name, raw, err, n)
		}
	}
	if compressed <= 0 || compressed >= 8*24 {
		t.Errorf("a compressed chunk of %d bytes, of 192 decoded", compressed)
	}
	patch := itemsOf(t, Source{Dataset: "chunk_across", ItemShape: []int64{1, 2, 3}})
	if raw, err := patch.ReadRaw(Ref{Corner: []int64{5, 0, 3}}, nil); err != nil || raw != 24*2*3 {
		t.Errorf("a patch in one chunk of 144 bytes: %d, %v", raw, err)
	}
	if _, err := patch.ReadRaw(Ref{Corner: []int64{24, 0, 3}}, nil); !errors.Is(err, hdf5.ErrRange) {
		t.Errorf("a patch beyond the end: %v", err)
	}
}

func TestHDF5Scalar(t *testing.T) {
	h := itemsOf(t, Source{Dataset: "types/scalar"})
	if got, err := h.Read(Ref{}, nil); err != nil || len(got) != 8 {
		t.Errorf("a scalar float64: %v, %v", got, err)
	}
	if _, err := h.Read(Ref{Index: 1}, nil); !errors.Is(err, hdf5.ErrRange) {
		t.Errorf("the second item of a scalar: %v", err)
	}
	if raw, err := h.ReadRaw(Ref{}, nil); err != nil || raw != 8 {
		t.Errorf("a scalar, as it is stored: %d, %v", raw, err)
	}
}

// A sweep of items of several handles reads what they read themselves, and they refuse the same.
func TestHDF5Queue(t *testing.T) {
	whole, patch, scalar := itemsOf(t, Source{Dataset: "gzip"}),
		itemsOf(t, Source{Dataset: "gzip", ItemShape: []int64{2, 3, 2}}), itemsOf(t, Source{Dataset: "types/scalar"})
	var list Sweep
	took := make([]time.Duration, 8)
	for _, c := range []struct {
		h    *hdf5Items
		item Ref
	}{
		{whole, Ref{Index: 5}}, {patch, Ref{Index: 7, Corner: []int64{7, 1, 3}}}, {scalar, Ref{}},
		{whole, Ref{Index: 23}}, {patch, Ref{Index: 2}},
		{whole, Ref{Index: 24}}, {whole, Ref{Corner: []int64{0, 0, 0}}}, {patch, Ref{Corner: []int64{23, 0, 0}}},
		{scalar, Ref{Index: 1}},
	} {
		want, refused := c.h.Read(c.item, nil)
		before := list.Len()
		err := c.h.Queue(c.item, &list)
		if refused != nil {
			if err == nil || err.Error() != refused.Error() || list.Len() != before {
				t.Errorf("%+v: %v, want %v; %d on the list", c.item, err, refused, list.Len())
			}
			continue
		}
		done, _, got, readErr := list.Read(nil, took, time.Hour)
		if err != nil || readErr != nil || done != before+1 || !bytes.Equal(got, want) {
			t.Errorf("%+v: %v, %v, %v; %d read", c.item, got, err, readErr, done)
		}
	}
	if list.Len() != 5 {
		t.Errorf("%d on the list", list.Len())
	}
}
