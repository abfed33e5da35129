package rewrite

import (
	"bytes"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
)

// kinds makes a dataset of each kind.
var kinds = map[string]func(t *testing.T, path string){
	"HDF5":     func(t *testing.T, path string) { must.Python(t, "-c", hdf5Of(16), path) },
	"pictures": func(t *testing.T, path string) { pngs(t, path, image.Pt(30, 20), image.Pt(31, 20), image.Pt(32, 20)) },
	"raw bytes": func(t *testing.T, path string) {
		written(t, path, bytes.Repeat([]byte("0123456789"), dataset.DefaultBlockBytes/2))
	},
	"array": func(t *testing.T, path string) {
		must.Python(t, "-c", "import sys, numpy as n\nwith open(sys.argv[1], 'wb') as f: n.save(f, n.arange(3000, "+
			"dtype='i4').reshape(100, 30))", path)
	},
	"archive": func(t *testing.T, path string) {
		pngs(t, path+"-train", image.Pt(30, 20), image.Pt(31, 20))
		must.Python(t, "-c", "import sys, tarfile\nwith tarfile.open(sys.argv[1], 'w') as f: f.add(sys.argv[2], '.')",
			path, path+"-train")
	},
}

// TestTierCopies holds the copy of each kind of dataset against the original, item by item.
func TestTierCopies(t *testing.T) {
	for kind, make := range kinds {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			make(t, path)
			s := trying(t, path)
			q := must.Get(s.placeRun())(t)
			q.Into = []byte(t.TempDir())
			made := must.Get(newWriter(t.Context(), *s.Job.Sample, q).write())(t)
			here := s.original(q, made)
			w, there := dataset.NewOpened(here, dataset.Source.Open), dataset.NewOpened(made.Sample,
				dataset.Source.Open)
			if len(here.Items) == 0 || len(here.Items) != len(made.Sample.Items) {
				t.Fatalf("%d items here, %d there", len(here.Items), len(made.Sample.Items))
			}
			for i := range here.Items {
				was := must.Get(w.Read(here.Items[i]))(t)
				was = bytes.Clone(was)
				got := must.Get(there.Read(made.Sample.Items[i]))(t)
				if len(got) == 0 || !bytes.Equal(got, was) {
					t.Errorf("item %d: %d bytes there are not the %d here", i, len(got), len(was))
				}
			}
			w.Forget()
			there.Forget()
		})
	}
}

func TestTier(t *testing.T) {
	memory := must.Get(os.MkdirTemp("/dev/shm", "pipetune-test-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	path := filepath.Join(t.TempDir(), "data.h5")
	must.Python(t, "-c", hdf5Of(16), path)
	s := trying(t, path)
	s.Other = memory
	must.Do(t, Place(t.Context(), s.Job))
	if want := []string{"here warm", "here cold", "at --compare-path warm"}; !slices.Equal(s.read, want) ||
		len(s.abstained) != 0 {
		t.Errorf("measured %q, abstained %+v", s.read, s.abstained)
	}
	nothingLeft(t, memory)
}

func TestTierAbstains(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	written(t, path, make([]byte, 1<<20))
	s := trying(t, path)
	s.Other = filepath.Join(t.TempDir(), "missing")
	must.Do(t, Place(t.Context(), s.Job))
	if a := s.abstained; len(a) != 1 || !strings.Contains(a[0].Reason, "--compare-path: looking for the folder") ||
		!strings.Contains(a[0].Reason, "no such file") || a[0].Cure == "" {
		t.Errorf("%+v", a)
	}
}

func TestTierInterrupted(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "data"), t.TempDir()
	written(t, path, make([]byte, 1<<20))
	s := trying(t, path)
	s.Other = other
	interrupted(t, s, Place, other, "0*")
}

// TestTierOfVanishedFiles copies what is still there.
func TestTierOfVanishedFiles(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "train"), t.TempDir()
	pngs(t, dir, image.Pt(30, 20), image.Pt(31, 20), image.Pt(32, 20))
	s := trying(t, dir)
	s.Other = other
	must.Do(t, os.Remove(filepath.Join(dir, "1.png")))
	must.Do(t, Place(t.Context(), s.Job))
	if u := s.failures; len(u) != 1 || u[0].Class != dataset.Vanished {
		t.Errorf("unread: %+v", u)
	}
	nothingLeft(t, other)
	if !slices.ContainsFunc(s.Rows.Tiers, func(r benchmark.Tier) bool {
		return r.Place == benchmark.Elsewhere && r.Warm.Time.N > 0
	}) {
		t.Error("nothing was measured there")
	}
}
