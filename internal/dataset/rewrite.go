package dataset

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/hdf5"
)

// Relayout says how a run of items of an HDF5 file is stored anew.
type Relayout struct {
	First, Count int64   // indices of the first axis; what lies beyond its end is left out
	Chunk        []int64 // nil: contiguous, which has no filters
	Unfiltered   bool    // else the filters are those of the source
}

// Rewrite copies a run of items of the source's dataset into a new HDF5 file at dst, under the same name, and returns
// how many items and how many bytes that file has. Its errors are those of hdf5.Rewrite. It is to be called in a child
// process that may write to where dst is.
func (s Source) Rewrite(f File, dst string, how Relayout) (items, bytes int64, err error) {
	from := hdf5.ReaderOptions{Dataset: s.Dataset, Follow: s.Follow, Locked: s.Locked}
	r, err := hdf5.OpenReader(string(f.Path), from)
	if err != nil {
		return 0, 0, err
	}
	shape := r.Shape()
	if err := r.Close(); err != nil {
		return 0, 0, err
	}
	if len(shape) == 0 || how.First < 0 || how.First >= shape[0] {
		return 0, 0, fmt.Errorf("rewriting items from %d on of a dataset of shape %v: %w", how.First, shape, hdf5.ErrRange)
	}
	items = min(how.Count, shape[0]-how.First)
	o := hdf5.RewriteOptions{Chunk: how.Chunk, First: how.First, Count: items}
	if how.Unfiltered || how.Chunk == nil {
		o.Filters = hdf5.NoFilters
	}
	bytes, err = hdf5.Rewrite(string(f.Path), from, dst, o)
	return items, bytes, err
}
