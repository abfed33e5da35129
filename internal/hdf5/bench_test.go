package hdf5

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var benchLayouts = []string{"contiguous", "item", "many", "gzip_item", "gzip_many"}

// benchFolder holds bench.h5: the folder in PIPETUNE_BENCH, for a run side by side with h5py on the same file, or one
// made now, whose pages the kernel may still be writing out.
func benchFolder(b *testing.B) string {
	if folder := os.Getenv("PIPETUNE_BENCH"); folder != "" {
		return folder
	}
	return generate(b, "make_bench.py")
}

// benchEach opens each layout of items of 32 KiB in a warm file, and has them read in random order.
func benchEach(b *testing.B, read func(b *testing.B, r *Reader, order []int)) {
	folder := benchFolder(b)
	for _, name := range benchLayouts {
		b.Run(name, func(b *testing.B) {
			r := must.Get(OpenReader(filepath.Join(folder, "bench.h5"), ReaderOptions{Dataset: name}))(b)
			defer r.Close()
			b.SetBytes(r.ItemBytes())
			order := rand.New(rand.NewPCG(1, 2)).Perm(int(r.Shape()[0]))
			b.ReportAllocs()
			before := must.CPUTime(b)
			read(b, r, order)
			b.ReportMetric(float64(must.CPUTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkItem reads one item with each call; testdata/make_bench.py times h5py on the same.
func BenchmarkItem(b *testing.B) {
	benchEach(b, func(b *testing.B, r *Reader, order []int) {
		var buf []byte
		var err error
		for i := 0; b.Loop(); i++ {
			if buf, err = r.Item(int64(order[i%len(order)]), buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSweep reads the same items with one call for many.
func BenchmarkSweep(b *testing.B) {
	benchEach(b, func(b *testing.B, r *Reader, order []int) {
		var buf []byte
		var s Sweep
		took := make([]time.Duration, 1024)
		for i := 0; i < b.N; {
			s.Clear()
			for s.Len() < min(b.N-i, len(took)) {
				must.Do(b, s.Item(r, int64(order[(i+s.Len())%len(order)])))
			}
			done, _, filled, err := s.Read(buf, took, 20*time.Millisecond)
			must.Do(b, err)
			i, buf = i+done, filled
		}
	})
}

// BenchmarkItems reads batches of random items with one call.
func BenchmarkItems(b *testing.B) {
	folder := benchFolder(b)
	for _, name := range []string{"contiguous", "item"} {
		for _, size := range []int{16, 64, 256} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				r, err := OpenReader(filepath.Join(folder, "bench.h5"), ReaderOptions{Dataset: name})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Close()
				var batch []int64
				for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(int(r.Shape()[0]))[:size] {
					batch = append(batch, int64(i))
				}
				slices.Sort(batch)
				b.SetBytes(r.ItemBytes() * int64(size))
				var buf []byte
				for b.Loop() {
					if buf, err = r.Items(batch, buf); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkOpen opens a dataset, reads what describes it and closes it.
func BenchmarkOpen(b *testing.B) {
	folder := benchFolder(b)
	b.ReportAllocs()
	for b.Loop() {
		r := must.Get(OpenReader(filepath.Join(folder, "bench.h5"), ReaderOptions{Dataset: "item"}))(b)
		must.Do(b, r.Close())
	}
}
