package probe

import (
	"testing"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
)

// compressed is the script for an HDF5 file of 256 items in compressed chunks of 64.
const compressed = `import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("group/images", data=n.arange(256*16*16, dtype="f4").reshape(256, 16, 16) // 7, chunks=(64, 16, 16), compression="gzip")
`

// compressedLarge is the same with items that are large enough for a chunk of their own.
const compressedLarge = `import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("group/images", data=n.arange(256*56*56, dtype="f4").reshape(256, 56, 56) // 7, chunks=(64, 56, 56), compression="gzip")
`

// surveyed is what lies at a path, as bench-io finds it.
func surveyed(t *testing.T, path string) (dataset.Sample, *dataset.Access) {
	t.Helper()
	r := must.Get(dataset.Survey(path, dataset.SurveyOptions{Seed: 1}))(t)
	return r.Sample, r.Access
}
