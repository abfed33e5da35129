package dataset

import "github.com/pipetune/pipetune/internal/hdf5"

// Relayout says how a run of items of an HDF5 file is stored anew.
type Relayout = hdf5.Relayout

// Rewrite is hdf5.Rewrite of the source's dataset.
func (s Source) Rewrite(f File, dst string, how Relayout) (items, bytes int64, err error) {
	return hdf5.Rewrite(string(f.Path), hdf5.ReaderOptions{Dataset: s.Dataset, Follow: s.Follow, Locked: s.Locked}, dst,
		how)
}
