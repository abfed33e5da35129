package probe

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
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// kinds makes a dataset of each kind.
var kinds = map[string]func(t *testing.T, path string){
	"HDF5":     func(t *testing.T, path string) { runPython(t, compressed, path) },
	"pictures": func(t *testing.T, path string) { pngs(t, path, image.Pt(30, 20), image.Pt(31, 20), image.Pt(32, 20)) },
	"raw bytes": func(t *testing.T, path string) {
		written(t, path, 5*dataset.DefaultBlockBytes)
	},
	"array": func(t *testing.T, path string) {
		runPython(t, "import sys, numpy as n\nwith open(sys.argv[1], 'wb') as f: n.save(f, n.arange(3000, dtype='i4').reshape(100, 30))", path)
	},
	"archive": func(t *testing.T, path string) {
		pngs(t, path+"-train", image.Pt(30, 20), image.Pt(31, 20))
		runPython(t, "import sys, tarfile\nwith tarfile.open(sys.argv[1], 'w') as f: f.add(sys.argv[2], '.')", path, path+"-train")
	},
}

// TestTierCopies holds the copy of each kind of dataset against the original, item by item.
func TestTierCopies(t *testing.T) {
	for kind, make := range kinds {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			make(t, path)
			s := trying(t, path, Options{})
			q, err := s.tierRun()
			if err != nil {
				t.Fatal(err)
			}
			q.Into = []byte(t.TempDir())
			w := &state{sample: s.sample, handles: map[int]dataset.Handle{}, open: dataset.Source.Open}
			made, err := rewriters[q.How](t.Context(), w, q)
			if err != nil {
				t.Fatal(err)
			}
			here := s.original(q, made)
			there := &state{sample: made.Sample, handles: map[int]dataset.Handle{}, open: dataset.Source.Open}
			w.sample = here
			if len(here.Items) == 0 || len(here.Items) != len(made.Sample.Items) {
				t.Fatalf("%d items here, %d there", len(here.Items), len(made.Sample.Items))
			}
			for i := range here.Items {
				was, err := w.bytesOf(here.Items[i])
				if err != nil {
					t.Fatal(err)
				}
				was = bytes.Clone(was)
				got, err := there.bytesOf(made.Sample.Items[i])
				if err != nil {
					t.Fatal(err)
				}
				if len(got) == 0 || !bytes.Equal(got, was) {
					t.Errorf("item %d: %d bytes there are not the %d here", i, len(got), len(was))
				}
			}
			w.forget()
			there.forget()
		})
	}
}

func TestTier(t *testing.T) {
	memory, err := os.MkdirTemp("/dev/shm", "pipetune-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	path := filepath.Join(t.TempDir(), "data.h5")
	runPython(t, compressed, path)
	s := trying(t, path, Options{Other: memory})
	if err := tier(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range s.result.Rows.Measurements() {
		if m.Metric == metric.ItemTime.Name {
			seen[strings.Join([]string{m.Labels[report.LabelTier], m.Labels[report.LabelCache], m.Labels[report.LabelOrder]}, " ")] = true
		}
	}
	if !seen["here warm random"] || !seen["other warm random"] || seen["other cold random"] || len(s.result.Abstained) != 0 {
		t.Errorf("measured %v, abstained %+v", seen, s.result.Abstained)
	}
	if got := left(t, memory); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestTierAbstains(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	written(t, path, 1<<20)
	s := trying(t, path, Options{Other: filepath.Join(t.TempDir(), "missing")})
	if err := tier(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if a := s.result.Abstained; len(a) != 1 || a[0].Missing[0] != report.ProbeTier || !strings.Contains(a[0].Reason, "--compare-path: looking for the folder") || !strings.Contains(a[0].Reason, "no such file") || a[0].Cure == "" {
		t.Errorf("%+v", a)
	}
}

func TestTierInterrupted(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "data"), t.TempDir()
	written(t, path, 1<<20)
	s := trying(t, path, Options{Other: other})
	interrupted(t, s, tier, other, "0*")
}

// TestTierOfVanishedFiles copies what is still there.
func TestTierOfVanishedFiles(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "train"), t.TempDir()
	pngs(t, dir, image.Pt(30, 20), image.Pt(31, 20), image.Pt(32, 20))
	s := trying(t, dir, Options{Other: other})
	if err := os.Remove(filepath.Join(dir, "1.png")); err != nil {
		t.Fatal(err)
	}
	if err := tier(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if u := s.result.Unread; len(u) != 1 || u[0].Count != 1 || !strings.HasPrefix(u[0].Reason, string(vanished)) {
		t.Errorf("unread: %+v", u)
	}
	if got := left(t, other); len(got) != 0 || len(s.result.Rows.Measurements()) == 0 {
		t.Errorf("left behind: %q; %d figures", got, len(s.result.Rows.Measurements()))
	}
	if !slices.ContainsFunc(s.result.Rows.Tiers, func(r benchmark.Tier) bool {
		return r.Place == benchmark.Elsewhere && r.Warm.Time.N > 0
	}) {
		t.Error("nothing was measured there")
	}
}
