package hdf5

/*
#include <stdbool.h>
#include <stdlib.h>
#include <hdf5.h>
#include "reason.h"

// find_link says what a name in a group is: its type and the length of what it holds.
static herr_t find_link(hid_t group, const char *name, int *type, size_t *size) {
	H5L_info_t info;
	if (H5Lget_info(group, name, &info, H5P_DEFAULT) < 0) return -1;
	*type = info.type;
	*size = info.type == H5L_TYPE_HARD ? 0 : info.u.val_size;
	return 0;
}

// open_file opens a file for reading, with a lock where one can be had, or without one.
static hid_t open_file(const char *name, bool locked) {
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
	if (access < 0) return -1;
	if (H5Pset_file_locking(access, locked, 1) >= 0) file = H5Fopen(name, H5F_ACC_RDONLY, access);
	hid_t kept = keep_reason(file < 0);
	H5Pclose(access);
	put_back(kept);
	return file;
}

// open_dataset opens one link's dataset with a chunk cache of its own: slots and bytes, 0 slots for the library's. It
// never leaves the file for external storage unless the job would find it beside the file.
static hid_t open_dataset(hid_t group, const char *name, size_t slots, size_t bytes, const char *beside) {
	hid_t access = H5P_DEFAULT, dset = -1;
	if (slots > 0 || beside) {
		access = H5Pcreate(H5P_DATASET_ACCESS);
		if (access < 0) return -1;
	}
	if ((slots == 0 || H5Pset_chunk_cache(access, slots, bytes, H5D_CHUNK_CACHE_W0_DEFAULT) >= 0) &&
	    (!beside || H5Pset_efile_prefix(access, beside) >= 0))
		dset = H5Dopen2(group, name, access);
	hid_t kept = keep_reason(dset < 0);
	if (access != H5P_DEFAULT) H5Pclose(access);
	put_back(kept);
	return dset;
}

static hid_t open_below(hid_t group, const char *name) { return H5Oopen(group, name, H5P_DEFAULT); }

// leaves_gaps reports whether reading what was never written may leave the buffer as it was.
static bool leaves_gaps(hid_t plist) {
	H5D_fill_time_t when;
	H5D_fill_value_t defined;
	if (H5Pget_fill_time(plist, &when) < 0 || H5Pfill_value_defined(plist, &defined) < 0) { forget(); return true; }
	return when == H5D_FILL_TIME_NEVER || defined == H5D_FILL_VALUE_UNDEFINED;
}
*/
import "C"

import (
	"errors"
	"unsafe"
)

// link looks at one name of a group.
func (h handle) link(name string) (rawLink, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	var kind C.int
	var size C.size_t
	if C.find_link(C.hid_t(h), c, &kind, &size) < 0 {
		return rawLink{}, reason()
	}
	return rawLink{name: name, kind: linkKind(kind), valueSize: uint64(size)}, nil
}

// open opens what a hard link leads to; "/" is the root group.
func (h handle) open(name string) (handle, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return opened(C.open_below(C.hid_t(h), c))
}

// openName opens a file by its name. The name is the caller's to check.
func openName(name string, locked bool) (handle, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return opened(C.open_file(c, C.bool(locked)))
}

// closeFile closes what openName opened. With datasets of it open, the file stays open until they are closed.
func (h handle) closeFile() { C.H5Fclose(C.hid_t(h)) }

func (h handle) close() { C.H5Oclose(C.hid_t(h)) }

// chunkCache is the cache of decoded chunks that a dataset is opened with; no slots mean the library's default.
type chunkCache struct{ slots, bytes int64 }

// dataset opens the dataset of a hard link. beside is where its external storage is looked for: "" the working folder.
func (h handle) dataset(name string, cache chunkCache, beside string) (handle, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	var prefix *C.char
	if beside != "" {
		prefix = C.CString(beside)
		defer C.free(unsafe.Pointer(prefix))
	}
	return opened(C.open_dataset(C.hid_t(h), c, C.size_t(cache.slots), C.size_t(cache.bytes), prefix))
}

// leavesGaps reports whether libhdf5 leaves the buffer as it was where nothing was ever written.
func (c creation) leavesGaps() bool { return bool(C.leaves_gaps(C.hid_t(c))) }

// extent is the shape of a dataset that is not virtual; nil for a scalar.
func (h handle) extent() ([]int64, error) { return extentOf(C.H5Dget_space(C.hid_t(h))) }

// extentOf is the shape of a dataspace, which it closes; nil for a scalar.
func extentOf(space C.hid_t) ([]int64, error) {
	if space < 0 {
		return nil, reason()
	}
	defer C.H5Sclose(space)
	var dims [C.H5S_MAX_RANK]C.hsize_t
	rank := C.H5Sget_simple_extent_dims(space, &dims[0], nil)
	switch {
	case rank < 0:
		return nil, reason()
	case rank == 0:
		return nil, nil
	case int(rank) > len(dims):
		return nil, errors.New("more axes than the format allows")
	}
	return dimensions(dims[:rank])
}

// openObjects counts what libhdf5 holds open in this process: files, datasets, groups, types that lie in a file.
func openObjects() int { return int(C.H5Fget_obj_count(C.H5F_OBJ_ALL, C.H5F_OBJ_ALL)) }
