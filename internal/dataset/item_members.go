package dataset

import "github.com/pipetune/pipetune/internal/hdf5"

// wholeDatasets reads items that are datasets of their own. The file stays open; a dataset is opened for each item, as
// file[name][()] opens it, and closed again.
type wholeDatasets struct{ file *hdf5.Kept }

func (m wholeDatasets) Read(item Ref, buf []byte) ([]byte, error) {
	r, err := m.file.Open(item.Name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	start, count := all(r)
	return r.Block(start, count, buf)
}

func (m wholeDatasets) ReadRaw(item Ref, buf []byte) (raw int64, err error) {
	r, err := m.file.Open(item.Name)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	start, count := all(r)
	if r.Dataset().Storage != hdf5.Chunked {
		buf, err = r.Block(start, count, buf)
		return int64(len(buf)), err
	}
	_, raw, _, err = r.RawBlock(start, count, buf)
	return raw, err
}

// all is the block that is the whole dataset.
func all(r *hdf5.Reader) (start, count []int64) {
	count = r.Shape()
	return make([]int64, len(count)), count
}

func (m wholeDatasets) Close() error { return m.file.Close() }
