package hdf5

/*
#cgo CFLAGS: -DH5_USE_110_API
#cgo linux CFLAGS: -I/usr/include/hdf5/serial
#cgo linux,amd64 LDFLAGS: -L/usr/lib/x86_64-linux-gnu/hdf5/serial
#cgo linux,arm64 LDFLAGS: -L/usr/lib/aarch64-linux-gnu/hdf5/serial
#cgo LDFLAGS: -lhdf5 -lz
#include <hdf5.h>
#include "bound.h"
#include "reason.h"

// start fills libhdf5's tables, the first time, keeps this thread from printing, and has no filter plugin loaded from
// HDF5_PLUGIN_PATH or anywhere else.
static herr_t start(void) {
	if (H5open() < 0) return -1;
	hush();
	return H5PLset_loading_state(0);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// handle is an identifier of libhdf5. Zero is none.
type handle int64

// reason returns libhdf5's own words for the last failure in this thread, and forgets it.
func reason() error {
	var r C.struct_reason
	C.explain(&r)
	return words(&r)
}

// reasonOf is the reason of a call that has failed in this thread, nil of another.
func reasonOf(status C.herr_t) error {
	if status < 0 {
		return reason()
	}
	return nil
}

// opened takes what a call of this thread has opened.
func opened(id C.hid_t) (handle, error) {
	if id < 0 {
		return 0, reason()
	}
	return handle(id), nil
}

// words makes an error of what libhdf5 said.
func words(r *C.struct_reason) error {
	text := untrusted.Cut(C.GoString(&r.what[0]), 200).String()
	switch {
	case text == "":
		return errors.New("no reason given")
	case strings.Contains(text, "bad version number"):
		// H5Oalloc.c, H5Odtype.c, H5Olayout.c and others: "bad version number for … message"
		return fmt.Errorf("%w (%s)", ErrNewer, text)
	case strings.Contains(text, "unable to lock file, errno = 11"): // EWOULDBLOCK of flock(2)
		return ErrLocked
	}
	return errors.New(text)
}

// prepare sets libhdf5 up for this thread and for the files it opens next. Nothing does in a process that asks it for
// nothing: the tables take 3 MB.
func prepare() error {
	if err := reasonOf(C.start()); err != nil {
		return fmt.Errorf("starting libhdf5: %w", err)
	}
	// libhdf5 reads this variable once, when it first has to do with a file, and believes it more than what a file is
	// opened with.
	if err := os.Unsetenv("HDF5_USE_FILE_LOCKING"); err != nil {
		return fmt.Errorf("choosing HDF5's file locks: %w", err)
	}
	if err := boundFilters(); err != nil {
		return fmt.Errorf("bounding HDF5's filters: %w", err)
	}
	return nil
}

// version is that of the libhdf5 that is linked, such as 1.10.8.
func version() string {
	var major, minor, release C.uint
	C.H5get_libversion(&major, &minor, &release)
	return fmt.Sprintf("%d.%d.%d", major, minor, release)
}

// boundFilters has libhdf5's filters make no more of a chunk than they may.
var boundFilters = sync.OnceValue(func() error { return reasonOf(C.bound_filters()) })
