package hdf5

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// mostMemory is what reading a damaged file of some kilobytes may take: the runtime's own and what alwaysBytes allows,
// with room for libhdf5's copies. Of 1,800 damaged files two took more, 384 and 539 MB: libhdf5 1.10.8 needs 5.7 kB for
// each of the 65,536 chunks that a flipped bit gave a dataset of 37 MB.
const mostMemory = 256 << 20

// Damaged files, cut short or with bits turned, give data or an error, or kill the child that reads them and nothing
// else; whatever sizes they claim, next to no memory is taken.
func TestDamagedFiles(t *testing.T) {
	names := []string{"contiguous", "chunk_many", "chunk_across", "gzip", "gzip_shuffle", "szip", "resizable",
		"compact", "types/compound", "types/bool", "scaleoffset"}
	random := rand.New(rand.NewPCG(5, 8))
	var mutants [][]byte
	for _, name := range []string{"layouts.h5", "layouts_v110.h5"} {
		raw := must.Get(os.ReadFile(filepath.Join(fixtures, name)))(t)
		for range 12 {
			mutants = append(mutants, raw[:random.IntN(len(raw))])
		}
		for range 60 {
			mutant := slices.Clone(raw)
			for range 1 + random.IntN(20) {
				mutant[random.IntN(len(mutant))] ^= 1 << random.IntN(8)
			}
			mutants = append(mutants, mutant)
		}
	}
	var mu sync.Mutex
	var died, answered, failed, read int
	t.Run("each", func(t *testing.T) {
		for i, mutant := range mutants {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "damaged.h5")
				must.Do(t, os.WriteFile(path, mutant, 0o600))
				out, ok, memory := child(t, job{Path: path, Datasets: names, Most: 30})
				mu.Lock()
				defer mu.Unlock()
				if memory > mostMemory {
					t.Errorf("it took %d bytes of memory", memory)
				}
				if !ok {
					died++
					return
				}
				answered++
				for _, o := range out {
					if o.Error != "" {
						failed++
					}
					if o.Items > 0 {
						read++
					}
				}
			})
		}
	})
	t.Logf("%d children read damaged files to the end, %d died; of the datasets, %d gave items and %d errors", answered,
		died, read, failed)
	if answered+died != len(mutants) || answered < len(mutants)/2 || read < 100 || failed < 100 {
		t.Error("the files were not damaged as they should be, or nothing could be read")
	}
}

// One flipped bit is enough for libhdf5 1.10.8 to read where it must not. It takes the child with it, and nothing else.
func TestCrashKillsOnlyTheChild(t *testing.T) {
	f := layout(t, "layouts.h5")
	for _, c := range []struct {
		at      int
		bit     byte
		dataset string
	}{{41246, 1 << 3, "types/bool"}, {19501, 1 << 7, "gzip_shuffle"}, {16009, 1 << 1, "gzip"}} {
		raw := must.Get(os.ReadFile(filepath.Join(fixtures, "layouts.h5")))(t)
		raw[c.at] ^= c.bit
		path := filepath.Join(t.TempDir(), "kills.h5")
		must.Do(t, os.WriteFile(path, raw, 0o600))
		out, ok, _ := child(t, job{Path: path, Datasets: []string{c.dataset}, Most: 30})
		if ok && f.Library == "1.10.8" {
			t.Errorf("byte %d: the child lived and says %+v; is this file still what kills libhdf5?", c.at, out)
		}
		if out, ok, _ = child(t, job{Path: path, Datasets: []string{"contiguous"}, Most: 30}); !ok || len(out) != 1 ||
			out[0].Items != 24 {
			t.Errorf("byte %d: the dataset beside it: %+v, alive %v", c.at, out, ok)
		}
	}
}
