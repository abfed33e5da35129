package probe

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
)

const (
	sequential = benchmark.Sequential
	random     = benchmark.Random
)

func inOrder(sample *dataset.Sample, order string, seed uint64) []int {
	items := make([]int, len(sample.Items))
	for i := range items {
		items[i] = i
	}
	if order == random {
		shuffle(items, seed, 0)
	}
	return items
}

// shuffle mixes items; the same seed and turn give the same order.
func shuffle(items []int, seed, turn uint64) {
	rng := rand.New(rand.NewPCG(seed, turn))
	rng.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
}

// keptOpen keeps the items of the files that occur first, of as many as a process keeps open.
func keptOpen(sample *dataset.Sample, items []int) []int {
	files := map[int]bool{}
	var kept []int
	for _, i := range items {
		if f := sample.Items[i].File; files[f] || len(files) < dataset.MaxOpen {
			files[f] = true
			kept = append(kept, i)
		}
	}
	return kept
}

// unlinked leaves out the items of files that are further names of another's inode, whose pages are the same.
func unlinked(sample *dataset.Sample, items []int) []int {
	first := map[[2]uint64]int{}
	return slices.DeleteFunc(slices.Clone(items), func(i int) bool {
		file := sample.Items[i].File
		inode := [2]uint64{sample.Files[file].Device, sample.Files[file].Inode}
		was, known := first[inode]
		if !known && inode != [2]uint64{} {
			first[inode] = file
		}
		return known && was != file
	})
}

// mostAhead is how many times as much as was read, piece by piece, the kernel has read then.
//
// Measured with a read-ahead of 8 MiB (Linux 6.18): 1.0 to 2.0 times for one piece of 4 KiB to 1 MiB, 11 times at most
// for several.
const mostAhead = 12

// apart keeps at most so many items, in the order given, that lie at a distance from all kept before them in the same
// file, so that what the kernel reads ahead of one item, and the chunk that holds it, does not make another one warm.
// ahead is how much the kernel reads ahead at most; chunks are those that are read whole.
func apart(sample *dataset.Sample, items []int, most int, ahead int64, chunks grid) []int {
	rows := rowsOf(sample)
	places := map[int][]stretch{} // of the kept items of a file, sorted
	read := newMet(chunks)
	var kept []int
	for _, i := range items {
		ref := sample.Items[i]
		s := place(sample, ref, rows, chunks)
		s.ahead = s.end + min(ahead, mostAhead*s.read)
		near := places[ref.File]
		k, _ := slices.BinarySearchFunc(near, s.at, func(s stretch, at int64) int { return cmp.Compare(s.at, at) })
		if read.has(ref) || k > 0 && s.at < near[k-1].ahead || k < len(near) && near[k].at < s.ahead {
			continue
		}
		read.add(ref)
		places[ref.File] = slices.Insert(near, k, s)
		if kept = append(kept, i); len(kept) >= most {
			break
		}
	}
	return kept
}

// sharing keeps those items that share a chunk with one of the others, or are one of them.
func sharing(sample *dataset.Sample, items, others []int, chunks grid) []int {
	found, read := map[int]bool{}, newMet(chunks)
	for _, i := range others {
		found[i] = true
		read.add(sample.Items[i])
	}
	return slices.DeleteFunc(slices.Clone(items), func(i int) bool { return !found[i] && !read.has(sample.Items[i]) })
}

// rowsOf says how many indices each file has at least, by the largest that was drawn.
func rowsOf(sample *dataset.Sample) map[int]int64 {
	rows := map[int]int64{}
	for _, ref := range sample.Items {
		rows[ref.File] = max(rows[ref.File], ref.Index+1)
	}
	return rows
}

// stretch is a part of a file.
type stretch struct {
	at, end int64
	read    int64 // what is read for it: the chunk that it lies in
	ahead   int64 // where what is read ahead of it ends
}

// place is where in its file an item lies: exactly in an archive, else by its share of the file.
func place(sample *dataset.Sample, ref dataset.Ref, rows map[int]int64, chunks grid) stretch {
	if ref.Bytes > 0 {
		return stretch{at: ref.At, end: ref.At + ref.Bytes, read: ref.Bytes}
	}
	each := float64(sample.Files[ref.File].Reach()) / float64(max(1, rows[ref.File]))
	takes, reads := int64(1), int64(1)
	if len(sample.ItemShape) > 0 {
		takes = sample.ItemShape[0]
	}
	if len(chunks.chunk) > 0 {
		reads = chunks.chunk[0]
	}
	at := int64(each * float64(ref.Index))
	return stretch{at: at, end: at + int64(each*float64(takes)), read: int64(each * float64(max(takes, reads)))}
}

// rotated is at most so many of a list, round and round from a place on, none twice.
func rotated(list []int, from, most int) []int {
	from %= len(list)
	return slices.Concat(list[from:], list[:from])[:min(most, len(list))]
}
