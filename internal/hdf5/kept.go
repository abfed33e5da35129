package hdf5

import (
	"fmt"
	"runtime"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// Kept is a file that stays open while one dataset of it after the other is opened, as a job does whose samples are
// datasets of their own. It is used by one goroutine at a time.
type Kept struct {
	options ReaderOptions
	found   finder
}

// KeepOpen opens a file; the Dataset of the options is not used. It is to be called in a child process that may die.
// Its errors are those of OpenReader that are about files.
func KeepOpen(path string, o ReaderOptions) (*Kept, error) {
	runtime.LockOSThread() // libhdf5's reasons are kept per thread
	defer runtime.UnlockOSThread()
	if err := prepare(); err != nil {
		return nil, err
	}
	k := &Kept{options: o, found: finder{follow: o.Follow, locked: o.Locked}}
	if err := k.found.open(path); err != nil {
		k.found.close()
		return nil, fmt.Errorf("opening %s: %w", untrusted.String(path), err)
	}
	return k, nil
}

// Open opens a dataset of the file. The Reader is to be closed before the file is. Its errors are those of OpenReader
// that are about datasets.
func (k *Kept) Open(dataset string) (*Reader, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := prepare(); err != nil {
		return nil, err
	}
	o := k.options
	o.Dataset = dataset
	r := &Reader{found: finder{follow: o.Follow, locked: o.Locked, files: k.found.files[:1:1], shared: 1}}
	err := r.found.root()
	if err == nil {
		err = r.open(o)
	}
	if err != nil {
		r.found.close()
		return nil, fmt.Errorf("opening dataset %s: %w", untrusted.Cut(dataset, 255), err)
	}
	return r, nil
}

// Close closes the file.
func (k *Kept) Close() error {
	k.found.close()
	return nil
}
