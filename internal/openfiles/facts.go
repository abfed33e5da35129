package openfiles

import (
	"context"

	"github.com/pipetune/pipetune/internal/recording"
)

// Facts is what an isolated child reports of a path. Numbers that cannot be determined are nil, never zero.
type Facts struct {
	// The row as far as the child knows it: kind, sizes, files, extension and items. Of a folder the bytes may be an
	// estimate.
	recording.Dataset
	// of the HDF5 dataset that a job most likely reads; without what the job's library and the file's name tell
	Layout *recording.Layout
	// Refused says why an HDF5 file's layout could not be determined; sanitized, "" where it could or where there is
	// none to tell.
	Refused string
}

// Describe describes what lies at a path, which may hang or hold a file made to break its reader: it has to run
// in an isolated child. key is the mount the path lies on.
type Describe func(ctx context.Context, key, path string) (Facts, error)
