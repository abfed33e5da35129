package dataset

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// DigestTask is the name under which a child process offers DigestHandler.
const DigestTask = "dataset-digest"

// DigestRequest asks what the items of an HDF5 file's dataset are, or of a folder of files.
type DigestRequest struct {
	Path    []byte
	Dataset string // its path in the file; "" of a folder
	Suffix  string // of a folder's files that are items, with the dot; "": all are
}

// mostDigested bounds what is decompressed for a digest, in bytes: a tenth of a second of gzip.
const mostDigested = 32 << 20

// DigestHandler answers one DigestRequest with the text of Digest. It is to run in a child process.
var DigestHandler = isolate.Decoded(func(_ context.Context, r DigestRequest) (any, error) {
	if r.Dataset == "" {
		return digestFolder(string(r.Path), r.Suffix)
	}
	return Digest(string(r.Path), r.Dataset)
})

// Digest says what the items of an HDF5 dataset are, whatever their chunks, filters and place: its shape and type, and
// of up to four of its items the index and the beginning of the SHA-256 of their bytes, as in "4096x64x128 float32
// 0=0b5c… 4095=…". Where chunks are so large that not all four can be read for 32 MiB, it names fewer, and none of a
// dataset that does not allow one. Its errors are those of hdf5.OpenReader and of reading.
func Digest(path, dataset string) (string, error) {
	r, err := hdf5.OpenReader(path, hdf5.ReaderOptions{Dataset: dataset})
	if err != nil {
		return "", err
	}
	defer r.Close()
	d, shape := r.Dataset(), r.Shape()
	if len(shape) == 0 || shape[0] == 0 {
		return "", nil
	}
	out := Dimensions(shape) + " " + d.Type
	each, left := r.ItemBytes(), int64(mostDigested)
	if a := access(d); a.ChunksPerItem != nil && d.ChunkBytes != nil {
		inflated := hdf5.Product(*d.ChunkBytes, []int64{*a.ChunksPerItem})
		if inflated == nil {
			return "", nil
		}
		each = max(each, *inflated)
	}
	var buf []byte
	seen := map[int64]bool{}
	for _, i := range []int64{0, shape[0] - 1, shape[0] / 2, shape[0] / 4} {
		if left -= each; left < 0 || seen[i] {
			continue
		}
		seen[i] = true
		if buf, err = r.Item(i, buf); err != nil {
			return "", err
		}
		sum := sha256.Sum256(buf)
		out += fmt.Sprintf(" %d=%x", i, sum[:8])
	}
	if len(seen) == 0 {
		return "", nil
	}
	return out, nil
}

// LookLimit is how long one look at a dataset may take: a folder on a loaded disk lists in well under a second, and a
// person should hear of a mount that hangs within 5 s.
const LookLimit = 5 * time.Second

// DigestAt says what the items of a dataset are, of a folder where it has no name, in a child of its own, which ends
// with the answer: reading them may end one that describing the file does not. It is "" where that cannot be
// determined; then `compare` goes by the dataset's path and size.
func DigestAt(ctx context.Context, runner *isolate.Runner, key, path string, what DigestRequest) string {
	what.Path = []byte(path)
	spec := isolate.Spec{Task: DigestTask, Key: key, Timeout: LookLimit, Only: Reach(path)}
	items, err := isolate.Call[DigestRequest, string](ctx, runner, spec, what)
	if err != nil {
		return ""
	}
	return untrusted.Sanitize(items)
}
