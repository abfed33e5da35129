// Package dataset says what lies at a path that a training job reads: an HDF5 file, a NumPy array, an image, an
// archive, or a folder of such. It judges a file by its first bytes, a folder by a bounded sample of its entries, and
// never reads a sample's data.
//
// The path belongs to the job. It may hang on a dead mount, lead to a FIFO or hold a file made to break its reader,
// so everything here that takes a path is to run in a child process; Handler is that child's task. Symbolic links
// inside a folder are counted and not followed.
package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Kind is what a path holds, in the words a recording uses.
type Kind = format.Kind

// The kinds that something here knows beyond what package format says of them.
const (
	HDF5  = format.HDF5
	Image = format.Image
	Npy   = format.Npy
	Tar   = format.Tar
	Other = format.Other
)

// Description is what lies at a path. One of the pointers at most is set: of a folder, or of an HDF5 file.
type Description struct {
	Kind   Kind
	Bytes  int64 // size of the file; for a folder, of the files whose size was looked at
	Files  int64 // 1 for a file; for a folder, the files that were seen
	Folder *Folder
	HDF5   *hdf5.File
	// Refused is why an HDF5 file is not described.
	Refused untrusted.Text `json:",omitzero"`
}

// Task is the name under which a child process offers Handler.
const Task = "dataset"

// Request asks what lies at one path, as raw bytes: a path need not be valid UTF-8.
type Request struct{ Path []byte }

// Handler answers one Request with a Description. It is to run in a child process. Its error is that of Describe.
var Handler = isolate.Decoded(func(_ context.Context, r Request) (any, error) { return Describe(string(r.Path)) })

// ErrNoData says that the path is neither a regular file nor a folder.
var ErrNoData = errors.New("neither a file nor a folder")

// Describe says what lies at path. Its errors are those of the file system and ErrNoData. A file that cannot be
// understood is no error: its Kind is Other, or Refused says why.
func Describe(path string) (Description, error) {
	f, err := open(path)
	if err != nil {
		return Description{}, fmt.Errorf("opening the dataset: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return Description{}, fmt.Errorf("looking at the dataset: %w", err)
	case info.IsDir():
		return describeFolder(f)
	case !info.Mode().IsRegular():
		return Description{}, fmt.Errorf("%w (%s)", ErrNoData, info.Mode().Type())
	}
	return describeFile(f, path, info.Size())
}

// open opens without waiting for the other end of a FIFO and without taking a terminal.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

func describeFile(f *os.File, path string, size int64) (Description, error) {
	head, err := readHead(f)
	if err != nil {
		return Description{}, fmt.Errorf("reading the dataset's first bytes: %w", err)
	}
	out := Description{Kind: format.OfBytes(head).Kind, Bytes: size, Files: 1}
	if out.Kind == HDF5 || out.Kind == Other && hasSuperblock(f, size) { // behind a user block
		out.Kind = HDF5
		file, err := hdf5.Layout(path, hdf5.DefaultLimits())
		refused, known := refusalOf(err, 300)
		switch {
		case err == nil:
			out.HDF5 = &file
		case !known:
			return Description{}, err
		}
		out.Refused = refused.Reason
	}
	return out, nil
}

func hasSuperblock(f *os.File, size int64) bool {
	err := hdf5.ReadSuperblock(f, size)
	return err == nil || errors.Is(err, hdf5.ErrTruncated) || errors.Is(err, hdf5.ErrNewer) ||
		errors.Is(err, hdf5.ErrBeingWritten)
}

func readHead(r io.ReaderAt) ([]byte, error) {
	head := make([]byte, format.HeadBytes)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head[:n], nil
}
