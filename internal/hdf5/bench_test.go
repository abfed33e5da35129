package hdf5

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
)

var benchLayouts = []string{"contiguous", "item", "many", "gzip_item", "gzip_many"}

// BenchmarkItem reads items of 32 KiB in random order from a warm file; testdata/make_bench.py times h5py on the same.
func BenchmarkItem(b *testing.B) {
	folder := generate(b, "make_bench.py")
	for _, name := range benchLayouts {
		b.Run(name, func(b *testing.B) {
			r, err := OpenReader(filepath.Join(folder, "bench.h5"), ReaderOptions{Dataset: name})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			b.SetBytes(r.ItemBytes())
			order := rand.New(rand.NewPCG(1, 2)).Perm(int(r.Shape()[0]))
			var buf []byte
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if buf, err = r.Item(int64(order[i%len(order)]), buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkItems reads batches of random items with one call.
func BenchmarkItems(b *testing.B) {
	folder := generate(b, "make_bench.py")
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
	folder := generate(b, "make_bench.py")
	b.ReportAllocs()
	for b.Loop() {
		r, err := OpenReader(filepath.Join(folder, "bench.h5"), ReaderOptions{Dataset: "item"})
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
