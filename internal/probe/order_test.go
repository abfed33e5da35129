package probe

import (
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/dataset"
)

func TestOrders(t *testing.T) {
	sample := dataset.Sample{Files: []dataset.File{{Bytes: 1 << 20}}}
	for i := range 256 {
		sample.Items = append(sample.Items, dataset.Ref{Index: int64(i)})
	}
	if got := all(sample); len(slices.Compact(slices.Clone(got))) != 256 || !slices.IsSorted(got) || got[255] != 255 {
		t.Errorf("in storage order: %v", got)
	}
	one, again, other := inOrder(&sample, random, 1), inOrder(&sample, random, 1), inOrder(&sample, random, 2)
	if !slices.Equal(one, again) || slices.Equal(one, other) || slices.IsSorted(one) {
		t.Error("the random order does not follow from its seed alone")
	}
	slices.Sort(one)
	if !slices.Equal(one, all(sample)) {
		t.Error("the random order loses items")
	}
}

func TestApart(t *testing.T) {
	const block = 4096
	sample := dataset.Sample{Files: []dataset.File{{Bytes: 1 << 20}, {Bytes: 1 << 20}}}
	for file := range 2 {
		for i := range 256 {
			sample.Items = append(sample.Items, dataset.Ref{File: file, Index: int64(i)})
		}
	}
	items := inOrder(&sample, random, 7)
	for ahead, distance := range map[int64]int64{32 << 10: 32 << 10, 128 << 10: mostAhead * block} {
		got := apart(&sample, items, 1000, ahead, grid{})
		if most := int(2 * (1 << 20) / (distance + block)); len(got) < most/3 || len(got) > most+2 {
			t.Errorf("%d items of 4 KiB at least %d bytes apart in two files of 1 MiB", len(got), distance)
		}
		for i, a := range got {
			for _, b := range got[:i] {
				x, y := sample.Items[a], sample.Items[b]
				if far := max(x.Index-y.Index, y.Index-x.Index) * block; x.File == y.File && far < distance+block {
					t.Errorf("items %v and %v are both read", x, y)
				}
			}
		}
	}
	if got := apart(&sample, items, 3, 0, grid{}); !slices.Equal(got, items[:3]) {
		t.Errorf("the first three: %v of %v", got, items[:3])
	}
	chunks := map[[2]int64]bool{}
	for _, i := range apart(&sample, items, 1000, 0, grid{chunk: []int64{64}}) {
		chunk := [2]int64{int64(sample.Items[i].File), sample.Items[i].Index / 64}
		if chunks[chunk] {
			t.Errorf("two items of chunk %v", chunk)
		}
		chunks[chunk] = true
	}
	if len(chunks) != 8 {
		t.Errorf("%d of 8 chunks are read", len(chunks))
	}
}

func TestApartInAnArchive(t *testing.T) {
	sample := dataset.Sample{Files: []dataset.File{{Bytes: 10 << 20}}, Items: []dataset.Ref{{At: 0, Bytes: 500_000},
		{At: 500_224, Bytes: 10}, {At: 5 << 20, Bytes: 10}}}
	if got := apart(&sample, []int{0, 1, 2}, 10, 128<<10, grid{}); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("members at a distance: %v", got)
	}
}

// Items of four indices each in chunks of 64 indices: sixteen lie in a chunk, and one that begins at 62 in two of them.
func TestApartInChunksOfPatches(t *testing.T) {
	sample := dataset.Sample{Source: dataset.Source{ItemShape: []int64{4, 16}}, Files: []dataset.File{{Bytes: 1 << 20}}}
	for i := range int64(64) {
		for _, column := range []int64{0, 48} {
			sample.Items = append(sample.Items, dataset.Ref{Index: 4*i + 2, Corner: []int64{4*i + 2, column}})
		}
	}
	got := apart(&sample, inOrder(&sample, random, 7), 1000, 0, grid{chunk: []int64{64, 32}, patch: sample.ItemShape})
	chunks := map[[2]int64]int{}
	for _, i := range got {
		corner := sample.Items[i].Corner
		for row := corner[0] / 64; row <= (corner[0]+3)/64; row++ {
			chunks[[2]int64{row, corner[1] / 32}]++
		}
	}
	for chunk, n := range chunks {
		if n > 1 {
			t.Errorf("%d items of chunk %v", n, chunk)
		}
	}
	if len(got) < 6 || len(chunks) < 8 {
		t.Errorf("%d items in %d chunks are read, of 10 there are", len(got), len(chunks))
	}
}
