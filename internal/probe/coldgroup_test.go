package probe

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// Cold rounds of several processes go on in the same items, each process in a share of its own, and read of storage no
// more than these: the tables that say where chunks lie are known by then, and nothing comes out of a chunk cache,
// which holds fewer chunks than a share has.
func TestColdRoundsOfSeveralProcesses(t *testing.T) {
	path := filepath.Join(onDisk(t), "a.h5")
	must.Python(t, "-c", `import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    x = n.random.default_rng(0).integers(0, 255, (1500, 64, 512), dtype="u1")
    f.create_dataset("x", data=x, chunks=(1, 64, 512), compression="gzip", compression_opts=1)`, path)
	sample, layout := surveyed(t, path)
	const bytes = 64 * 512
	s := coldly(t, sample, Options{Layout: layout})
	c := &workerGroup{session: s, cold: true, items: inOrder(&s.sample, random, 1), pass: shortestPass}
	s.time = begin(s.clock, time.Minute)
	defer c.close()
	must.Do(t, c.startUpTo(t.Context(), 2))
	must.Get(c.round(t.Context(), 2))(t)
	far, next := slices.Clone(c.far), slices.Clone(c.next)
	if len(far) < 100 || len(next) != 2 || c.staysCached(&s.sample, share(far, 0, 2)) {
		t.Fatalf("%d items lie apart, next %v", len(far), next)
	}
	r := must.Get(c.round(t.Context(), 2))(t)
	if !slices.Equal(c.far, far) || slices.Equal(c.next, next) {
		t.Errorf("%d items of %d, next %v after %v: the second round began anew", len(c.far), len(far), c.next, next)
	}
	if r.bytes == 0 || r.stored < 0.9*r.bytes || r.stored > 1.5*r.bytes || int(r.bytes)%bytes != 0 {
		t.Errorf("%.0f bytes from storage for %.0f of items", r.stored, r.bytes)
	}
}
