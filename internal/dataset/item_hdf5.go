package dataset

import (
	"errors"
	"fmt"

	"github.com/pipetune/pipetune/internal/hdf5"
)

// hdf5Items reads items of one dataset of an HDF5 file. It reads batches and stored chunks, too.
type hdf5Items struct {
	reader *hdf5.Reader
	shape  []int64 // of the dataset; empty for a scalar
	patch  []int64 // of an item that is no whole index of the first axis

	rows         []int64 // of a batch
	start, count []int64 // of an item, for its chunks
	raw          []byte  // the last chunk that was read
}

// openHDF5 opens the source's dataset in a file. Its errors are those of hdf5.OpenReader.
func openHDF5(source Source, f File) (Handle, error) {
	o := hdf5.ReaderOptions{Dataset: source.Dataset, Follow: source.Follow, Locked: source.Locked,
		ChunkCacheBytes: source.ChunkCacheBytes}
	if source.Members {
		file, err := hdf5.KeepOpen(string(f.Path), o)
		if err != nil {
			return nil, err
		}
		return memberItems{file, source.Rows}, nil
	}
	r, err := hdf5.OpenReader(string(f.Path), o)
	if err != nil {
		return nil, err
	}
	h := &hdf5Items{reader: r, shape: r.Shape(), patch: source.ItemShape}
	if h.patch != nil && len(h.patch) != len(h.shape) {
		return nil, errors.Join(fmt.Errorf("opening dataset %s: items of shape %v in a dataset of shape %v",
			r.Dataset().Path, h.patch, h.shape), r.Close())
	}
	return h, nil
}

// Read reads one item: a patch where it has a corner, else all of its index. A scalar is one item, at index 0.
func (h *hdf5Items) Read(item Ref, buf []byte) ([]byte, error) {
	switch {
	case item.Corner != nil && h.patch == nil:
		return nil, h.noPatch()
	case item.Corner != nil:
		return h.reader.Block(item.Corner, h.patch, buf)
	case len(h.shape) == 0 && item.Index == 0:
		return h.reader.Block(nil, nil, buf)
	}
	return h.reader.Item(item.Index, buf)
}

// Queue puts an item on the list of a sweep, which reads it as Read does.
func (h *hdf5Items) Queue(item Ref, list *Sweep) error {
	switch {
	case item.Corner != nil && h.patch == nil:
		return h.noPatch()
	case item.Corner != nil:
		return list.Block(h.reader, item.Corner, h.patch)
	case len(h.shape) == 0 && item.Index == 0:
		return list.Block(h.reader, nil, nil)
	}
	return list.Item(h.reader, item.Index)
}

// ReadBatch reads whole items with one call of H5Dread, as h5py's indexing with a list does; see hdf5.Reader.Items.
// Patches, which libhdf5 cannot deliver one after the other, are refused.
func (h *hdf5Items) ReadBatch(items []Ref, buf []byte) ([]byte, error) {
	h.rows = h.rows[:0]
	for _, item := range items {
		if item.Corner != nil {
			return nil, fmt.Errorf("reading patches of dataset %s by one call: %w", h.reader.Dataset().Path,
				errors.ErrUnsupported)
		}
		h.rows = append(h.rows, item.Index)
	}
	return h.reader.Items(h.rows, buf)
}

func (h *hdf5Items) noPatch() error {
	return fmt.Errorf("reading a patch of dataset %s: the source has no item shape", h.reader.Dataset().Path)
}

// ReadRaw reads every chunk that holds a part of an item, whole and undecoded; unchunked, the elements.
func (h *hdf5Items) ReadRaw(item Ref, buf []byte) (raw int64, err error) {
	if cap(buf) < cap(h.raw) {
		buf = h.raw
	}
	if h.reader.Dataset().Storage != hdf5.Chunked || len(h.shape) == 0 {
		h.raw, err = h.Read(item, buf)
		return int64(len(h.raw)), err
	}
	start, count := item.Corner, h.patch
	if start == nil {
		h.start = append(h.start[:0], make([]int64, len(h.shape))...)
		h.count = append(h.count[:0], h.shape...)
		h.start[0], h.count[0] = item.Index, 1
		start, count = h.start, h.count
	}
	_, raw, h.raw, err = h.reader.RawBlock(start, count, buf)
	return raw, err
}

func (h *hdf5Items) Close() error { return h.reader.Close() }
