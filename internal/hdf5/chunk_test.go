package hdf5

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// gapsScript writes datasets of 3,000 chunks of which every third was written, with each kind of chunk index.
const gapsScript = `
import h5py, os, sys
os.chdir(sys.argv[1])
with h5py.File("earliest.h5", "w") as f, h5py.File("latest.h5", "w", libver="latest") as g:
    for file in f, g:
        for name, how in ("fixed", {}), ("grows", dict(maxshape=(None, 4))), ("grows_both", dict(maxshape=(None, None))), ("gzip", dict(compression="gzip")):
            d = file.create_dataset(name, (3000, 4), "i4", chunks=(1, 4), **how)
            for i in range(0, 3000, 3):
                d[i] = i + 1
        file.create_dataset("never", (3000, 4), "i4", chunks=(1, 4))
`

// libhdf5 walks through the whole chunk index to tell that a chunk is not stored; once is enough for a block.
func TestGapsAreLookedForOnce(t *testing.T) {
	folder := t.TempDir()
	must.Python(t, "-c", gapsScript, folder)
	for _, file := range []string{"earliest.h5", "latest.h5"} {
		for name, c := range map[string]struct{ chunks, walks int }{"fixed": {1000, 1}, "grows": {1000, 1},
			"grows_both": {1000, 1}, "gzip": {1000, 1}, "never": {0, 1}} {
			r := reader(t, filepath.Join(folder, file), ReaderOptions{Dataset: name})
			for range 2 {
				chunks, stored, _, err := r.RawBlock([]int64{0, 0}, []int64{3000, 4}, nil)
				if err != nil || chunks != int64(c.chunks) || name != "gzip" && stored != chunks*16 {
					t.Errorf("%s %s: %d chunks of %d bytes in all, %v; want %d", file, name, chunks, stored, err,
						c.chunks)
				}
			}
			if r.walks > c.walks {
				t.Errorf("%s %s: the index was walked through %d times, want %d", file, name, r.walks, c.walks)
			}
			if _, err := r.RawChunk([]int64{1, 0}, nil); !errors.Is(err, ErrNoChunk) {
				t.Errorf("%s %s: a chunk that was never written: %v", file, name, err)
			}
		}
	}
}
