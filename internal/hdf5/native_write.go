package hdf5

/*
#include <stdlib.h>
#include <hdf5.h>
#include "bound.h"
#include "reason.h"

// create_file makes a file that must not be there yet.
static hid_t create_file(const char *name) {
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
	if (access < 0) return -1;
	if (H5Pset_file_locking(access, 0, 1) >= 0) file = H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, access);
	hid_t kept = keep_reason(file < 0);
	H5Pclose(access);
	put_back(kept);
	return file;
}

// keep_filters copies the filters of one dataset to another that is to be made.
static herr_t keep_filters(hid_t from, hid_t to) {
	unsigned values[256], flags;
	for (int i = 0, n = H5Pget_nfilters(from); i < n; i++) {
		size_t count = sizeof values / sizeof *values;
		H5Z_filter_t id = H5Pget_filter2(from, i, &flags, &count, values, 0, NULL, NULL);
		if (id < 0 || count > sizeof values / sizeof *values || H5Pset_filter(to, id, flags, count, values) < 0) return -1;
	}
	return 0;
}

// create_dataset makes a dataset of elements of the same type, and the groups on its way.
static hid_t create_dataset(hid_t file, const char *name, hid_t like, hid_t creation, int rank, const long long *shape) {
	hsize_t dims[H5S_MAX_RANK];
	hid_t kind = -1, type = -1, space = -1, links = -1, dset = -1;
	for (int i = 0; i < rank; i++) dims[i] = shape[i];
	if ((kind = H5Dget_type(like)) >= 0 && (type = H5Tcopy(kind)) >= 0 && (space = H5Screate_simple(rank, dims, NULL)) >= 0 &&
	    (links = H5Pcreate(H5P_LINK_CREATE)) >= 0 && H5Pset_create_intermediate_group(links, 1) >= 0)
		dset = H5Dcreate2(file, name, type, space, links, creation, H5P_DEFAULT);
	hid_t kept = keep_reason(dset < 0);
	if (links >= 0) H5Pclose(links);
	if (space >= 0) H5Sclose(space);
	if (type >= 0) H5Tclose(type);
	if (kind >= 0) H5Tclose(kind);
	put_back(kept);
	return dset;
}

// write_rows writes n indices of the first axis from one on. Chunks that have been written in part are decoded for it, to at most so many bytes each.
static herr_t write_rows(hid_t dset, size_t most, unsigned long long from, unsigned long long n, const void *rows) {
	hsize_t start[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK];
	hid_t space = -1, memory = -1, type = -1;
	herr_t done = -1;
	int rank;
	if ((type = H5Dget_type(dset)) >= 0 && (space = H5Dget_space(dset)) >= 0 && (rank = H5Sget_simple_extent_dims(space, count, NULL)) > 0) {
		start[0] = from;
		count[0] = n;
		if ((memory = H5Screate_simple(rank, count, NULL)) >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0) {
			decoded_most = most;
			done = H5Dwrite(dset, type, memory, space, H5P_DEFAULT, rows);
			decoded_most = METADATA_MOST;
		}
	}
	hid_t kept = keep_reason(done < 0);
	if (memory >= 0) H5Sclose(memory);
	if (space >= 0) H5Sclose(space);
	if (type >= 0) H5Tclose(type);
	put_back(kept);
	return done;
}

static hid_t new_creation(void) { return H5Pcreate(H5P_DATASET_CREATE); }

static herr_t set_chunk(hid_t creation, int rank, const long long *chunk) {
	hsize_t dims[H5S_MAX_RANK];
	for (int i = 0; i < rank; i++) dims[i] = chunk[i];
	return H5Pset_chunk(creation, rank, dims);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// writer is a new file with one dataset in it. The thread must be locked and prepared.
type writer struct {
	file, dataset handle
	most          int64 // bytes that a filter may make of a chunk
}

// create makes the file and the dataset: like another one in its type, of another shape, in chunks with the filters of
// another one, 0 for none. Without chunks it is contiguous, and has no filters.
func create(path, name string, like view, shape, chunk []int64, filters creation) (w writer, err error) {
	c := C.CString(path)
	defer C.free(unsafe.Pointer(c))
	file := C.create_file(c)
	if file < 0 {
		return writer{}, fmt.Errorf("creating the file: %w", reason())
	}
	w.file = handle(file)
	plist := C.new_creation()
	if plist < 0 {
		return w, reason()
	}
	defer C.H5Pclose(plist)
	if chunk != nil {
		if C.set_chunk(plist, C.int(len(chunk)), (*C.longlong)(unsafe.SliceData(chunk))) < 0 ||
			filters > 0 && C.keep_filters(C.hid_t(filters), plist) < 0 {
			return w, fmt.Errorf("choosing the layout: %w", reason())
		}
		w.most = decodedMost(Product(like.elementBytes(), chunk))
	}
	n := C.CString(name)
	defer C.free(unsafe.Pointer(n))
	dataset := C.create_dataset(file, n, like.c.dset, plist, C.int(len(shape)), (*C.longlong)(unsafe.SliceData(shape)))
	if dataset < 0 {
		return w, fmt.Errorf("creating the dataset: %w", reason())
	}
	w.dataset = handle(dataset)
	return w, nil
}

// rows writes indices of the first axis, which fill their bytes.
func (w writer) rows(from, count int64, bytes []byte) error {
	return reasonOf(C.write_rows(C.hid_t(w.dataset), C.size_t(w.most), C.ulonglong(from), C.ulonglong(count),
		unsafe.Pointer(unsafe.SliceData(bytes))))
}

// close writes out what libhdf5 still holds. Its error is the one of a disk that is full.
func (w writer) close() error {
	var err error
	if w.dataset > 0 && C.H5Dclose(C.hid_t(w.dataset)) < 0 {
		err = fmt.Errorf("closing the dataset: %w", reason())
	}
	if w.file > 0 && C.H5Fclose(C.hid_t(w.file)) < 0 {
		err = errors.Join(err, fmt.Errorf("closing the file: %w", reason()))
	}
	return err
}
