package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/hdf5"
)

// Access is what reading one index of the first axis asks of an HDF5 dataset. Unknown is nil.
type Access struct {
	Dataset hdf5.Dataset
	// chunked: length of a chunk along the first axis, at most that of the dataset
	ItemsPerChunk *int64 `json:",omitempty"`
	ChunksPerItem *int64 `json:",omitempty"` // chunked: chunks that hold a part of an item
	// bytes of those chunks, decoded, over the bytes of the item; 1 when contiguous
	Amplification *float64 `json:",omitempty"`
}

// Likely chooses the dataset that training most likely reads: the one that occupies most, among those of two axes or
// more, or of items of varying length, such as encoded images; where there are none, among all with an axis. It is
// not ok when the file has no such dataset, nor when objects could not be read and what was found fills less than half
// of the file: then the samples are probably in what could not be read.
func Likely(file hdf5.File) (Access, bool) {
	if len(file.Datasets) == 0 {
		return Access{}, false
	}
	best := slices.MaxFunc(file.Datasets, func(a, b hdf5.Dataset) int {
		return cmp.Or(cmp.Compare(preference(a), preference(b)), cmp.Compare(occupies(a), occupies(b)))
	})
	found := 0.0
	for _, d := range file.Datasets {
		found += occupies(d)
	}
	unread := len(file.Problems) + file.Passed.Broken
	if preference(best) == 0 || unread > 0 && 2*found < float64(file.Bytes) {
		return Access{}, false
	}
	return access(best), true
}

// preference is 3 for what looks like samples, 2 for what has one axis (labels, most often), 1 for what was never
// written and would read as nothing but fill values, 0 for the rest.
func preference(d hdf5.Dataset) int {
	switch {
	case len(d.Shape) == 0 || d.Shape[0] == 0:
		return 0
	case d.StoredBytes != nil && *d.StoredBytes == 0:
		return 1
	case len(d.Shape) >= 2 || d.ItemBytes == nil && d.Problem.IsZero():
		return 3
	}
	return 2
}

// occupies is what a dataset takes up in the file or, where that is not known, decoded.
func occupies(d hdf5.Dataset) float64 {
	if d.StoredBytes != nil && *d.StoredBytes > 0 {
		return float64(*d.StoredBytes)
	}
	total := float64(d.ElementBytes)
	for _, n := range d.Shape {
		total *= float64(n)
	}
	return total
}

func access(d hdf5.Dataset) Access {
	out := Access{Dataset: d}
	switch {
	case d.Storage == hdf5.Contiguous || d.Storage == hdf5.Compact:
		if d.ItemBytes != nil {
			out.Amplification = new(1.0)
		}
		return out
	case d.Storage != hdf5.Chunked || len(d.Shape) == 0 || len(d.Chunk) != len(d.Shape):
		return out
	}
	chunks := hdf5.Chunks(d.Chunk, append([]int64{1}, d.Shape[1:]...))
	if d.Shape[0] < 1 || chunks == 0 || chunks == hdf5.MaxHeldBytes { // more than are counted
		return out
	}
	out.ItemsPerChunk, out.ChunksPerItem = new(min(d.Chunk[0], d.Shape[0])), &chunks
	if d.ChunkBytes == nil || d.ItemBytes == nil || *d.ItemBytes == 0 {
		return out
	}
	out.Amplification = new(float64(chunks) * float64(*d.ChunkBytes) / float64(*d.ItemBytes))
	return out
}

// Dimensions writes a shape as in "60000x28x28".
func Dimensions(shape []int64) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", "x")
}

// ChunksIn is how many chunks a dataset of that shape has, one at least; see hdf5.Chunks.
func ChunksIn(shape, chunk []int64) int64 { return max(1, hdf5.Chunks(chunk, shape)) }
