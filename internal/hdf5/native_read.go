package hdf5

/*
#cgo noescape view_item
#cgo nocallback view_item
#cgo noescape view_block
#cgo nocallback view_block
#cgo noescape view_items
#cgo nocallback view_items
#cgo noescape view_chunk
#cgo nocallback view_chunk
#cgo nocallback view_chunk_size
#include <stdlib.h>
#include <string.h>
#include <hdf5.h>
#include "view.h"

// view_close is for a view that was opened halfway, too.
static void view_close(struct view *v) {
	hush();
	if (v->item > 0) H5Sclose(v->item);
	if (v->block > 0) H5Sclose(v->block);
	if (v->file > 0) H5Sclose(v->file);
	if (v->type > 0) H5Tclose(v->type);
	if (v->dset > 0) H5Dclose(v->dset);
	free(v);
}

// view_open takes the dataset over. It returns 0 for a dataset of no elements at all (H5S_NULL).
static int view_open(struct view *v) {
	hush();
	v->type = H5Dget_type(v->dset);
	if (v->type < 0) return failed(v);
	v->file = H5Dget_space(v->dset);
	if (v->file < 0) return failed(v);
	if (H5Sget_simple_extent_type(v->file) == H5S_NULL) return 0;
	v->rank = H5Sget_simple_extent_dims(v->file, v->shape, NULL);
	if (v->rank < 0) return failed(v);
	if (v->rank == 0) return 1;
	memcpy(v->count, v->shape, sizeof v->count);
	v->count[0] = 1;
	v->item = H5Screate_simple(v->rank, v->count, NULL);
	v->block = H5Screate_simple(v->rank, v->count, NULL);
	if (v->item < 0 || v->block < 0) return failed(v);
	memcpy(v->last, v->count, sizeof v->last);
	return 1;
}

// view_items reads the items at n indices, which rise, in one H5Dread. Neighbours become one run each.
static herr_t view_items(struct view *v, const long long *at, size_t n, void *to) {
	hsize_t s[H5S_MAX_RANK] = {0}, c[H5S_MAX_RANK];
	H5S_seloper_t how = H5S_SELECT_SET;
	hush();
	memcpy(c, v->count, sizeof c);
	for (size_t i = 0; i < n;) {
		size_t run = 1;
		while (i + run < n && at[i + run] == at[i] + (long long)run) run++;
		s[0] = at[i];
		c[0] = run;
		if (H5Sselect_hyperslab(v->file, how, s, NULL, c, NULL) < 0) return failed(v);
		how = H5S_SELECT_OR;
		i += run;
	}
	c[0] = n;
	if (reshape(v, c) < 0) return failed(v);
	return read_view(v, v->block, v->file, to);
}

// view_chunk_size asks what the chunk at an offset occupies; 0 where none is stored.
static herr_t view_chunk_size(struct view *v, const long long *offset, unsigned long long *size) {
	hsize_t o[H5S_MAX_RANK + 1] = {0}, got = 0;
	hush();
	for (int i = 0; i < v->rank; i++) o[i] = offset[i];
	if (H5Dget_chunk_storage_size(v->dset, o, &got) < 0) return failed(v);
	*size = got;
	return 0;
}

static herr_t view_chunk(struct view *v, const long long *offset, void *to) {
	hsize_t o[H5S_MAX_RANK + 1] = {0};
	uint32_t filters = 0;
	hush();
	for (int i = 0; i < v->rank; i++) o[i] = offset[i];
	return H5Dread_chunk(v->dset, H5P_DEFAULT, o, &filters, to) < 0 ? failed(v) : 0;
}

static herr_t view_place(struct view *v, const long long *offset, unsigned long long *at, unsigned long long *size) {
	hsize_t o[H5S_MAX_RANK + 1] = {0}, got = 0;
	haddr_t where = HADDR_UNDEF;
	unsigned mask;
	hush();
	for (int i = 0; i < v->rank; i++) o[i] = offset[i];
	if (H5Dget_chunk_info_by_coord(v->dset, o, &mask, &where, &got) < 0) return failed(v);
	*at = where;
	*size = got;
	return 0;
}

// Why a type cannot be delivered as bytes: H5T_VLEN, H5T_STRING (of variable length), H5T_REFERENCE; H5T_NO_CLASS when it can. Looked at
// through members and elements; H5Tdetect_class passes over variable-length strings in a compound type.
static H5T_class_t points(hid_t type, int depth) {
	H5T_class_t class = H5Tget_class(type), found = H5T_NO_CLASS;
	hid_t below;
	switch (class) {
	case H5T_VLEN: case H5T_REFERENCE:
		return class;
	case H5T_STRING:
		return H5Tis_variable_str(type) == 0 ? H5T_NO_CLASS : H5T_STRING;
	case H5T_ARRAY:
		if (depth == 0 || (below = H5Tget_super(type)) < 0) return H5T_REFERENCE;
		found = points(below, depth - 1);
		H5Tclose(below);
		return found;
	case H5T_COMPOUND:
		for (int i = 0, n = H5Tget_nmembers(type); i < n && found == H5T_NO_CLASS; i++) {
			if (depth == 0 || (below = H5Tget_member_type(type, i)) < 0) return H5T_REFERENCE;
			found = points(below, depth - 1);
			H5Tclose(below);
		}
		return found;
	default:
		return H5T_NO_CLASS;
	}
}

static unsigned long long userblock(hid_t dset) {
	hsize_t size = 0;
	hid_t file = H5Iget_file_id(dset), plist = file < 0 ? -1 : H5Fget_create_plist(file);
	if (plist < 0 || H5Pget_userblock(plist, &size) < 0) size = 0;
	if (plist >= 0) H5Pclose(plist);
	if (file >= 0) H5Fclose(file);
	forget();
	return size;
}
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"
)

// view is an open dataset in libhdf5's hands. All of its functions may be called from any thread, one at a time.
type view struct{ c *C.struct_view }

// newView takes the dataset over, also when it fails. empty says that the dataset has no elements and never will
// (h5py.Empty).
func newView(dataset handle) (v view, empty bool, err error) {
	// never nil: cgo's allocation functions end the program instead
	v.c = (*C.struct_view)(C.calloc(1, C.sizeof_struct_view))
	v.c.dset = C.hid_t(dataset)
	got := C.view_open(v.c)
	if err := v.result(got); err != nil {
		v.close()
		return view{}, false, err
	}
	return v, got == 0, nil
}

// bound sets how many bytes a filter may make of a chunk: none until then.
func (v view) bound(most int64) { v.c.most = C.size_t(most) }

func (v view) close() { C.view_close(v.c) }

// shape is nil for a scalar.
func (v view) shape() ([]int64, error) {
	if v.c.rank == 0 {
		return nil, nil
	}
	return dimensions(v.c.shape[:v.c.rank])
}

// elementBytes is the size of one element.
func (v view) elementBytes() int64 { return int64(min(C.H5Tget_size(v.c._type), math.MaxInt64)) }

// result is why a call for the view failed, nil where it did not.
func (v view) result(status C.herr_t) error {
	if status < 0 {
		return words(&v.c.why)
	}
	return nil
}

// item reads one index of the first axis. to must have room for it, and at least one byte.
func (v view) item(index int64, to []byte) error {
	return v.result(C.view_item(v.c, C.ulonglong(index), unsafe.Pointer(&to[0])))
}

// block reads a hyperslab, of the dataset's number of axes. The same holds for to.
func (v view) block(start, count []int64, to []byte) error {
	s, n := (*C.longlong)(unsafe.SliceData(start)), (*C.longlong)(unsafe.SliceData(count))
	return v.result(C.view_block(v.c, s, n, unsafe.Pointer(&to[0])))
}

// items reads several indices of the first axis, which rise. The same holds for to.
func (v view) items(rising []int64, to []byte) error {
	at := (*C.longlong)(unsafe.SliceData(rising))
	return v.result(C.view_items(v.c, at, C.size_t(len(rising)), unsafe.Pointer(&to[0])))
}

// chunkSize is what the chunk that begins at offset occupies; 0 where none is stored.
func (v view) chunkSize(offset []int64) (int64, error) {
	var size C.ulonglong
	err := v.result(C.view_chunk_size(v.c, (*C.longlong)(unsafe.SliceData(offset)), &size))
	return int64(min(size, math.MaxInt64)), err
}

// chunk reads a chunk as it is stored. to has chunkSize bytes, one at least.
func (v view) chunk(offset []int64, to []byte) error {
	return v.result(C.view_chunk(v.c, (*C.longlong)(unsafe.SliceData(offset)), unsafe.Pointer(&to[0])))
}

// place says where in the file a chunk lies. 1.10 counts from the end of a user block, which is added here.
func (v view) place(offset []int64) (at, size int64, err error) {
	var where, bytes C.ulonglong
	if err := v.result(C.view_place(v.c, (*C.longlong)(unsafe.SliceData(offset)), &where, &bytes)); err != nil {
		return 0, 0, err
	}
	if where > math.MaxInt64-C.userblock(v.c.dset) || bytes == 0 {
		return 0, 0, ErrNoChunk
	}
	return int64(where + C.userblock(v.c.dset)), int64(min(bytes, math.MaxInt64)), nil
}

// maxTypeDepth bounds how deep compound and array types are looked into; real ones nest two or three deep.
const maxTypeDepth = 32

// pointsTo says what elements of a type lead to instead of being plain bytes: H5T_VLEN, H5T_STRING, H5T_REFERENCE;
// H5T_NO_CLASS for nothing.
func pointsTo(id C.hid_t) C.H5T_class_t { return C.points(id, maxTypeDepth) }

// plain says why the view's elements are no plain bytes; nil when they are.
func (v view) plain() error {
	switch pointsTo(v.c._type) {
	case C.H5T_NO_CLASS:
		return nil
	case C.H5T_VLEN:
		return fmt.Errorf("%w: sequences of varying length lie elsewhere in the file", ErrPointers)
	case C.H5T_STRING:
		return fmt.Errorf("%w: strings of varying length lie elsewhere in the file", ErrPointers)
	}
	return fmt.Errorf("%w: they are references to other objects", ErrPointers)
}
