package hdf5

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// Filtering says which filters a rewritten dataset has.
type Filtering string

const (
	KeepFilters Filtering = ""     // those of the source
	NoFilters   Filtering = "none" // none
	Gzip        Filtering = "gzip" // gzip, with or without shuffle before it
)

// RewriteOptions say how a dataset is stored anew. The zero value of a field has the meaning given with it.
type RewriteOptions struct {
	Chunk   []int64   // shape of a chunk, cut to the shape of what is copied; nil for contiguous, which can have no filters
	Filters Filtering // KeepFilters
	Level   int       // of gzip, 1 to 9; 0 is 4, h5py's default
	Shuffle bool      // before gzip
	First   int64     // first index of the first axis that is copied
	Count   int64     // how many; 0 is all from First on
}

// slabBytes is about how much is copied at once.
const slabBytes = 16 << 20

// mostSlabBytes bounds it where whole chunks are more than that.
const mostSlabBytes = 256 << 20

// Rewrite copies items of a dataset into a new file, under the same name and in another layout, so that the layouts can
// be measured side by side. dst must not exist; it is removed again when the copy fails. It returns the size of the new
// file, which is on the disk by then (fsync), so that its pages can be dropped. It is to be called in a child process
// that may write to where dst is. Its errors are those of OpenReader and Block and those of writing, a full disk among
// them; after that one the process should end, because libhdf5 holds on to a file that it could not close.
func Rewrite(src string, from ReaderOptions, dst string, o RewriteOptions) (bytes int64, err error) {
	r, err := OpenReader(src, from)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	shape, err := o.check(r)
	if err != nil {
		return 0, fmt.Errorf("rewriting dataset %s: %w", r.dataset.Path, err)
	}
	if _, err := os.Lstat(dst); err == nil {
		return 0, fmt.Errorf("rewriting dataset %s: %w: %s", r.dataset.Path, os.ErrExist, untrusted.String(dst))
	}
	if err := o.copy(r, from.Dataset, dst, shape); err != nil {
		return 0, errors.Join(fmt.Errorf("rewriting dataset %s: %w", r.dataset.Path, err), remove(dst))
	}
	bytes, err = settle(dst)
	if err != nil {
		return 0, errors.Join(fmt.Errorf("rewriting dataset %s: %w", r.dataset.Path, err), remove(dst))
	}
	return bytes, nil
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// check returns the shape of the copy.
func (o *RewriteOptions) check(r *Reader) ([]int64, error) {
	shape := r.Shape()
	if o.Level == 0 {
		o.Level = 4
	}
	filtered := o.Filters == Gzip || o.Filters == KeepFilters && len(r.dataset.Filters) > 0
	switch {
	case len(shape) == 0 || r.empty:
		return nil, fmt.Errorf("%w: it has no axis", ErrRange)
	case o.First < 0 || o.Count < 0 || o.First >= shape[0] || o.Count > shape[0]-o.First:
		return nil, fmt.Errorf("%w: %d items from %d on, of shape %v", ErrRange, o.Count, o.First, shape)
	case o.Filters != KeepFilters && o.Filters != NoFilters && o.Filters != Gzip:
		return nil, fmt.Errorf("no such choice of filters: %q", o.Filters)
	case o.Level < 1 || o.Level > 9:
		return nil, fmt.Errorf("a gzip level of %d", o.Level)
	case o.Chunk == nil && filtered:
		return nil, errors.New("contiguous data has no filters")
	case o.Chunk != nil && len(o.Chunk) != len(shape):
		return nil, fmt.Errorf("%w: chunks of shape %v", ErrRange, o.Chunk)
	case r.item == 0:
		return nil, fmt.Errorf("%w: its items have no bytes", ErrRange)
	}
	shape[0] -= o.First
	if o.Count > 0 {
		shape[0] = o.Count
	}
	chunk := make([]int64, len(o.Chunk))
	for i, n := range o.Chunk {
		if n < 1 {
			return nil, fmt.Errorf("%w: chunks of shape %v", ErrRange, o.Chunk)
		}
		chunk[i] = min(n, shape[i])
	}
	if o.Chunk != nil {
		o.Chunk = chunk
	}
	return shape, nil
}

func (o RewriteOptions) copy(r *Reader, name, dst string, shape []int64) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := prepare(); err != nil {
		return err
	}
	plist, err := handle(r.view.c.dset).creation()
	if err != nil {
		return err
	}
	defer plist.close()
	how := layoutOf{chunk: o.Chunk, filters: plist, keep: o.Filters == KeepFilters, shuffle: o.Filters == Gzip && o.Shuffle}
	if o.Filters == Gzip {
		how.level = o.Level
	}
	w, err := create(dst, name, r.view, shape, how)
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return err
	}
	start, count := make([]int64, len(shape)), append([]int64{}, shape...)
	var buf []byte
	for done, step := int64(0), o.step(r); done < shape[0]; done += step {
		start[0], count[0] = o.First+done, min(step, shape[0]-done)
		if buf, err = r.Block(start, count, buf); err != nil {
			return err
		}
		if err := w.rows(done, count[0], buf); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}

// mostSlabChunks bounds the chunks that are written or read at once: libhdf5 holds selectedBytes for each of them.
const mostSlabChunks = MaxHeldBytes / 4 / selectedBytes

// step is how many items are copied at once: whole chunks of what is written, so that none is compressed twice, and of
// what is read.
func (o RewriteOptions) step(r *Reader) int64 {
	rows := max(1, slabBytes/r.item)
	most := max(1, min(mostSlabBytes, r.most)/r.item)
	for _, chunk := range [][]int64{r.dataset.Chunk, o.Chunk} {
		if len(chunk) > 0 {
			rows = min(rows, chunk[0]*max(1, mostSlabChunks/across(r.dataset.Shape, chunk)))
		}
	}
	for _, chunk := range [][]int64{r.dataset.Chunk, o.Chunk} {
		if len(chunk) == 0 || chunk[0] > most {
			continue
		}
		if rows -= rows % chunk[0]; rows == 0 {
			rows = chunk[0]
		}
	}
	return rows
}

// across is how many chunks lie beside each other in a row of chunks, along all axes but the first; mostSlabChunks
// where there are more than that.
func across(shape, chunk []int64) int64 {
	n := int64(1)
	for axis := 1; axis < len(chunk); axis++ {
		along := max(1, (shape[axis]-1)/max(1, chunk[axis])+1)
		if along > mostSlabChunks/n {
			return mostSlabChunks
		}
		n *= along
	}
	return n
}

// settle brings a file to the disk and returns its size.
func settle(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("looking at the copy: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("looking at the copy: %w", err)
	}
	if err := f.Sync(); err != nil {
		return 0, fmt.Errorf("writing the copy to the disk: %w", err)
	}
	return info.Size(), nil
}
