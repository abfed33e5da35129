package dataset

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/hdf5"
)

// memberItems reads items that are datasets of their own, or rows of several. The file stays open; a dataset is opened
// for each item, as file[name][()] and file[name][i] open it, and closed again.
type memberItems struct {
	file *hdf5.Kept
	rows bool
}

func (m memberItems) Read(item Ref, buf []byte) ([]byte, error) {
	r, err := m.file.Open(item.Name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	start, count, err := m.block(r, item)
	if err != nil {
		return nil, err
	}
	return r.Block(start, count, buf)
}

func (m memberItems) ReadRaw(item Ref, buf []byte) (raw int64, err error) {
	r, err := m.file.Open(item.Name)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	start, count, err := m.block(r, item)
	if err != nil {
		return 0, err
	}
	if r.Dataset().Storage != hdf5.Chunked {
		buf, err = r.Block(start, count, buf)
		return int64(len(buf)), err
	}
	_, raw, _, err = r.RawBlock(start, count, buf)
	return raw, err
}

// block is the part of its dataset that an item is: all of it, or one index of the first axis.
func (m memberItems) block(r *hdf5.Reader, item Ref) (start, count []int64, err error) {
	count = r.Shape()
	start = make([]int64, len(count))
	switch {
	case m.rows && len(count) == 0: // it was written anew since
		return nil, nil, fmt.Errorf("%w: %s has no axis", ErrNoItems, item.Name)
	case m.rows:
		start[0], count[0] = item.Row, 1
	}
	return start, count, nil
}

func (m memberItems) Close() error { return m.file.Close() }
