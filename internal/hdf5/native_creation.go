package hdf5

/*
#include <hdf5.h>
#include "reason.h"
*/
import "C"

import (
	"cmp"
	"fmt"
	"math"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// creation is the creation property list of a dataset: how it is stored.
type creation C.hid_t

func (h handle) creation() (creation, error) {
	plist, err := opened(C.H5Dget_create_plist(C.hid_t(h)))
	return creation(plist), err
}

func (c creation) close() { C.H5Pclose(C.hid_t(c)) }

// storage tells the layout. External storage is a contiguous layout with a list of files.
func (c creation) storage() Storage {
	switch C.H5Pget_layout(C.hid_t(c)) {
	case C.H5D_COMPACT:
		return Compact
	case C.H5D_CHUNKED:
		return Chunked
	case C.H5D_VIRTUAL:
		return Virtual
	case C.H5D_CONTIGUOUS:
		if C.H5Pget_external_count(C.hid_t(c)) > 0 {
			return External
		}
		return Contiguous
	}
	C.forget()
	return Unknown
}

// chunk returns the shape of a chunk.
func (c creation) chunk() ([]int64, error) {
	var dims [C.H5S_MAX_RANK]C.hsize_t
	rank := C.H5Pget_chunk(C.hid_t(c), C.H5S_MAX_RANK, &dims[0])
	if rank < 0 {
		return nil, reason()
	}
	return dimensions(dims[:min(int(rank), len(dims))])
}

func dimensions(dims []C.hsize_t) ([]int64, error) {
	out := make([]int64, len(dims))
	for i, d := range dims {
		if d > math.MaxInt64 {
			return nil, fmt.Errorf("an axis of %d elements", uint64(d))
		}
		out[i] = int64(d)
	}
	return out, nil
}

// maxFilters is H5Z_MAX_NFILTERS of libhdf5; maxFilterValues is above what any registered filter stores.
const (
	maxFilters      = 32
	maxFilterValues = 32
)

// commonNames are those people know filters by. The first six are libhdf5's own (H5Zpublic.h), the others are The HDF
// Group's list of registered filters (docs/RegisteredFilterPlugins.md of github.com/HDFGroup/hdf5_plugins); h5py brings
// lzf, hdf5plugin most of the rest.
var commonNames = map[int]string{
	1: "gzip", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset",
	305: "lzo", 307: "bzip2", 32000: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle",
	32013: "zfp", 32015: "zstd", 32017: "sz", 32024: "sz3", 32026: "blosc2",
}

func (c creation) filters() ([]Filter, error) {
	n := int(C.H5Pget_nfilters(C.hid_t(c)))
	if n < 0 {
		return nil, reason()
	}
	var out []Filter
	for i := range min(n, maxFilters) {
		var flags C.uint
		var values [maxFilterValues]C.uint
		var stored [64]C.char
		count := C.size_t(maxFilterValues)
		id := C.H5Pget_filter2(C.hid_t(c), C.uint(i), &flags, &count, &values[0], C.size_t(len(stored)-1), &stored[0],
			nil)
		if id < 0 {
			return out, reason()
		}
		name := cmp.Or(commonNames[int(id)], C.GoString(&stored[0]))
		f := Filter{ID: int(id), Name: untrusted.Cut(name, 64), Available: C.H5Zfilter_avail(id) > 0}
		for _, v := range values[:min(int(count), maxFilterValues)] {
			f.Values = append(f.Values, uint32(v))
		}
		out = append(out, f)
	}
	C.forget()
	return out, nil
}

// stored asks what the dataset occupies in its file. For chunked data that walks the whole chunk index.
func (h handle) stored() int64 {
	size := C.H5Dget_storage_size(C.hid_t(h))
	C.forget()
	return int64(min(size, math.MaxInt64))
}
