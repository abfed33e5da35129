package probe

import (
	"fmt"
	"testing"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
)

// compressed is the script for an HDF5 file of 256 items of so many rows and columns in compressed chunks of 64.
func compressed(side int) string {
	return fmt.Sprintf(`import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("group/images", data=n.arange(256*%[1]d*%[1]d, dtype="f4").reshape(256, %[1]d, %[1]d) // 7,
                     chunks=(64, %[1]d, %[1]d), compression="gzip")
`, side)
}

// surveyed is what lies at a path, as bench-io finds it.
func surveyed(t *testing.T, path string) (dataset.Sample, *dataset.Access) {
	t.Helper()
	r := must.Get(dataset.Survey(path, dataset.SurveyOptions{Seed: 1}))(t)
	return r.Sample, r.Access
}
