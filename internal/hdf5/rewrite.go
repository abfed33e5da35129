package hdf5

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// Relayout says how a run of items is stored anew.
type Relayout struct {
	// indices of the first axis; a Count of 0 is all from First on, and what lies beyond the end is left out
	First, Count int64
	Chunk        []int64 // shape of a chunk, cut to the shape of what is copied; nil: contiguous, which has no filters
	Unfiltered   bool    // else the filters are those of the source
}

// slabBytes is about how much is copied at once.
const slabBytes = 16 << 20

// mostSlabBytes bounds it where whole chunks are more than that.
const mostSlabBytes = 256 << 20

// Rewrite copies items of a dataset into a new file, under the same name and in another layout, so that the layouts can
// be measured side by side. dst must not exist; it is removed again when the copy fails. It returns how many items and
// how many bytes the new file has, which is on the disk by then (fsync), so that its pages can be dropped. It is to be
// called in a child process that may write to where dst is. Its errors are those of OpenReader and Block and those of
// writing, a full disk among them; after that one the process should end, because libhdf5 holds on to a file that it
// could not close.
func Rewrite(src string, from ReaderOptions, dst string, how Relayout) (items, bytes int64, err error) {
	r, err := OpenReader(src, from)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	defer func() {
		if err != nil {
			err = fmt.Errorf("rewriting dataset %s: %w", r.dataset.Path, err)
		}
	}()
	shape, err := how.check(r)
	if err != nil {
		return 0, 0, err
	}
	if _, err := os.Lstat(dst); err == nil {
		return 0, 0, fmt.Errorf("%w: %s", os.ErrExist, untrusted.String(dst))
	}
	if err = how.copy(r, from.Dataset, dst, shape); err == nil {
		bytes, err = settle(dst)
	}
	if err != nil {
		return 0, 0, errors.Join(err, remove(dst))
	}
	return shape[0], bytes, nil
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// check returns the shape of the copy.
func (o *Relayout) check(r *Reader) ([]int64, error) {
	shape := r.Shape()
	switch {
	case len(shape) == 0 || r.empty:
		return nil, fmt.Errorf("%w: it has no axis", ErrRange)
	case o.First < 0 || o.Count < 0 || o.First >= shape[0]:
		return nil, fmt.Errorf("%w: %d items from %d on, of shape %v", ErrRange, o.Count, o.First, shape)
	case o.Chunk != nil && (len(o.Chunk) != len(shape) || slices.Min(o.Chunk) < 1):
		return nil, fmt.Errorf("%w: chunks of shape %v", ErrRange, o.Chunk)
	case r.item == 0:
		return nil, fmt.Errorf("%w: its items have no bytes", ErrRange)
	}
	shape[0] -= o.First
	if o.Count > 0 {
		shape[0] = min(shape[0], o.Count)
	}
	o.Chunk = slices.Clone(o.Chunk)
	for i, n := range o.Chunk {
		o.Chunk[i] = min(n, shape[i])
	}
	return shape, nil
}

func (o Relayout) copy(r *Reader, name, dst string, shape []int64) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := prepare(); err != nil {
		return err
	}
	var filters creation
	if !o.Unfiltered {
		if filters, err = handle(r.view.c.dset).creation(); err != nil {
			return err
		}
		defer filters.close()
	}
	w, err := create(dst, name, r.view, shape, o.Chunk, filters)
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
func (o Relayout) step(r *Reader) int64 {
	rows := max(1, slabBytes/r.item)
	most := max(1, min(mostSlabBytes, r.most)/r.item)
	row := slices.Clone(r.dataset.Shape)
	row[0] = 1
	for _, chunk := range [][]int64{r.dataset.Chunk, o.Chunk} {
		if beside := Chunks(chunk, row); beside > 0 {
			rows = min(rows, chunk[0]*max(1, mostSlabChunks/beside))
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
