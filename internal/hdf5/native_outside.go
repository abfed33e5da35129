package hdf5

/*
#include <stdlib.h>
#include <hdf5.h>
#include "reason.h"

static hid_t virtual_space(hid_t plist) { return H5Pget_virtual_vspace(plist, 0); }
*/
import "C"

import (
	"math"
	"unsafe"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// maxOutsideName is PATH_MAX.
const maxOutsideName = 4096

// externalNames lists the files of external storage, at most limit of them.
func (c creation) externalNames(limit int) (files []string, total int) {
	total = max(0, int(C.H5Pget_external_count(C.hid_t(c))))
	name := (*C.char)(C.calloc(maxOutsideName+1, 1))
	defer C.free(unsafe.Pointer(name))
	for i := range min(total, limit) {
		var offset C.off_t
		var size C.hsize_t
		if C.H5Pget_external(C.hid_t(c), C.uint(i), maxOutsideName, name, &offset, &size) < 0 {
			break
		}
		files = append(files, C.GoString(name))
	}
	C.forget()
	return files, total
}

// external is externalNames for people.
func (c creation) external(limit int) (files []Outside, total int) {
	names, total := c.externalNames(limit)
	for _, name := range names {
		files = append(files, Outside{File: untrusted.String(name)})
	}
	return files, total
}

// virtualNames lists the sources of a virtual dataset, at most limit of them: files, and the datasets in them.
func (c creation) virtualNames(limit int) (files, datasets []string, total int, err error) {
	var count C.size_t
	if C.H5Pget_virtual_count(C.hid_t(c), &count) < 0 {
		return nil, nil, 0, reason()
	}
	total = int(min(count, math.MaxInt32))
	name := (*C.char)(C.calloc(maxOutsideName+1, 1))
	defer C.free(unsafe.Pointer(name))
	for i := range min(total, limit) {
		if C.H5Pget_virtual_filename(C.hid_t(c), C.size_t(i), name, maxOutsideName) < 0 {
			break
		}
		files, datasets = append(files, C.GoString(name)), append(datasets, "")
		if C.H5Pget_virtual_dsetname(C.hid_t(c), C.size_t(i), name, maxOutsideName) >= 0 {
			datasets[i] = C.GoString(name)
		}
	}
	C.forget()
	return files, datasets, total, nil
}

// virtual lists the sources of a virtual dataset for people, at most limit of them, and its shape.
func (c creation) virtual(limit int) (sources []Outside, total int, shape []int64, err error) {
	files, datasets, total, err := c.virtualNames(limit)
	if err != nil {
		return nil, 0, nil, err
	}
	for i := range files {
		source := Outside{File: untrusted.String(files[i])}
		if datasets[i] != "" {
			source.Dataset = untrusted.String(datasets[i])
		}
		sources = append(sources, source)
	}
	if total == 0 {
		return nil, 0, nil, nil
	}
	// The dataset itself would open its sources to tell its shape; the first mapping knows it, too.
	shape, err = extentOf(C.virtual_space(C.hid_t(c)))
	return sources, total, shape, err
}
