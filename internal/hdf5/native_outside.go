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
)

// maxOutsideName is PATH_MAX.
const maxOutsideName = 4096

// source is where a dataset that lies elsewhere draws on.
type source struct {
	file    string
	dataset string // of a virtual dataset: the one in the file
}

// external lists the files of external storage, at most limit of them.
func (c creation) external(limit int) (list []source, total int) {
	total = max(0, int(C.H5Pget_external_count(C.hid_t(c))))
	name := (*C.char)(C.calloc(maxOutsideName+1, 1))
	defer C.free(unsafe.Pointer(name))
	for i := range min(total, limit) {
		var offset C.off_t
		var size C.hsize_t
		if C.H5Pget_external(C.hid_t(c), C.uint(i), maxOutsideName, name, &offset, &size) < 0 {
			break
		}
		list = append(list, source{file: C.GoString(name)})
	}
	C.forget()
	return list, total
}

// virtual lists the sources of a virtual dataset, at most limit of them.
func (c creation) virtual(limit int) (list []source, total int, err error) {
	var count C.size_t
	if C.H5Pget_virtual_count(C.hid_t(c), &count) < 0 {
		return nil, 0, reason()
	}
	total = int(min(count, math.MaxInt32))
	name := (*C.char)(C.calloc(maxOutsideName+1, 1))
	defer C.free(unsafe.Pointer(name))
	for i := range min(total, limit) {
		if C.H5Pget_virtual_filename(C.hid_t(c), C.size_t(i), name, maxOutsideName) < 0 {
			break
		}
		list = append(list, source{file: C.GoString(name)})
		if C.H5Pget_virtual_dsetname(C.hid_t(c), C.size_t(i), name, maxOutsideName) >= 0 {
			list[i].dataset = C.GoString(name)
		}
	}
	C.forget()
	return list, total, nil
}

// virtualShape is the shape of a virtual dataset that has sources. The dataset itself would open these to tell it; the
// first mapping knows it, too.
func (c creation) virtualShape() ([]int64, error) { return extentOf(C.virtual_space(C.hid_t(c))) }
