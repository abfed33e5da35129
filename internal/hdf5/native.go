package hdf5

/*
#cgo CFLAGS: -DH5_USE_110_API
#cgo linux CFLAGS: -I/usr/include/hdf5/serial
#include <stdlib.h>
#include <string.h>
#include <hdf5.h>
#include "reason.h"

// The links of one group, copied out of libhdf5 while it walks the group.
struct link  { char *name; int type; unsigned long long address; unsigned long long value_size; };
struct links { struct link *at; size_t n, cap, longest, skipped; int full; };

static herr_t collect(hid_t group, const char *name, const H5L_info_t *info, void *data) {
	struct links *l = data;
	if (strlen(name) > l->longest) { l->skipped++; return 0; }
	if (l->n == l->cap) { l->full = 1; return 1; }
	char *copy = strdup(name);
	if (!copy) return -1;
	struct link *k = &l->at[l->n++];
	k->name = copy;
	k->type = info->type;
	if (info->type == H5L_TYPE_HARD) k->address = info->u.address;
	else k->value_size = info->u.val_size;
	return 0;
}

static struct links *list(hid_t group, size_t cap, size_t longest) {
	struct links *l = calloc(1, sizeof *l);
	if (!l) return NULL;
	l->at = calloc(cap ? cap : 1, sizeof *l->at);
	if (!l->at) { free(l); return NULL; }
	l->cap = cap;
	l->longest = longest;
	// The native order never makes libhdf5 read and sort a whole group first.
	if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, collect, l) < 0) l->full = -1;
	return l;
}

static void release(struct links *l) {
	for (size_t i = 0; i < l->n; i++) free(l->at[i].name);
	free(l->at);
	free(l);
}

static hid_t open_object(hid_t group, const char *name) { return H5Oopen(group, name, H5P_DEFAULT); }
static herr_t link_value(hid_t g, const char *name, void *buf, size_t n) { return H5Lget_val(g, name, buf, n, H5P_DEFAULT); }
static hid_t virtual_space(hid_t plist) { return H5Pget_virtual_vspace(plist, 0); }
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// handle is an identifier of libhdf5. Zero is none.
type handle int64

// objectKind is what H5Iget_type says.
type objectKind int

const (
	kindGroup   = objectKind(C.H5I_GROUP)
	kindDataset = objectKind(C.H5I_DATASET)
)

// rawLink is one link as it stands in a group.
type rawLink struct {
	name      string
	kind      LinkKind // "" for a hard link, the only kind that is followed
	address   uint64   // hard: where the object lies in the file
	valueSize uint64   // soft and external: the length of what it holds
}

// reason returns libhdf5's own words for the last failure in this thread, and forgets it.
func reason() error {
	var r C.struct_reason
	C.explain(&r)
	return words(&r)
}

// words makes an error of what libhdf5 said.
func words(r *C.struct_reason) error {
	text := untrusted.Cut(C.GoString(&r.what[0]), 200).String()
	switch {
	case text == "":
		return errors.New("no reason given")
	case strings.Contains(text, "bad version number"): // H5Oalloc.c, H5Odtype.c, H5Olayout.c and others: "bad version number for … message"
		return fmt.Errorf("%w (%s)", ErrNewer, text)
	}
	return errors.New(text)
}

// noPlugins keeps libhdf5 from loading filter plugins from HDF5_PLUGIN_PATH or anywhere else.
func noPlugins() error {
	if C.H5PLset_loading_state(0) < 0 {
		return reason()
	}
	return nil
}

// kind says what a hard link of the group leads to.
func (h handle) kind(name string) (objectKind, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	id := C.open_object(C.hid_t(h), c)
	if id < 0 {
		return 0, reason()
	}
	defer C.H5Oclose(id)
	return objectKind(C.H5Iget_type(id)), nil
}

// links lists at most cap links of the group. longer counts the names above longest, more says that there are
// others. The error says that the walk broke off; what it found until then is returned with it.
func (h handle) links(cap, longest int) (found []rawLink, longer int, more bool, err error) {
	l := C.list(C.hid_t(h), C.size_t(cap), C.size_t(longest))
	if l == nil {
		return nil, 0, false, errors.New("out of memory")
	}
	defer C.release(l)
	for _, k := range unsafe.Slice(l.at, int(l.n)) {
		raw := rawLink{name: C.GoString(k.name), address: uint64(k.address), valueSize: uint64(k.value_size)}
		switch k._type {
		case C.H5L_TYPE_HARD:
		case C.H5L_TYPE_SOFT:
			raw.kind = LinkSoft
		case C.H5L_TYPE_EXTERNAL:
			raw.kind = LinkExternal
		default:
			raw.kind = LinkOther
		}
		found = append(found, raw)
	}
	if l.full < 0 {
		err = reason()
	}
	return found, int(l.skipped), l.full > 0, err
}

// linked returns how many links the group says it has.
func (h handle) linked() int64 {
	var info C.H5G_info_t
	if C.H5Gget_info(C.hid_t(h), &info) < 0 || info.nlinks > math.MaxInt32 {
		C.forget()
		return 0
	}
	return int64(info.nlinks)
}

// maxLinkValue bounds what a soft or external link may hold: two paths of PATH_MAX.
const maxLinkValue = 2 * 4096

// target reads where a soft or external link points to, without going there.
func (h handle) target(l rawLink) (file, object string, err error) {
	if l.valueSize == 0 || l.valueSize > maxLinkValue {
		return "", "", fmt.Errorf("a link of %d bytes", l.valueSize)
	}
	name := C.CString(l.name)
	defer C.free(unsafe.Pointer(name))
	value := C.calloc(C.size_t(l.valueSize)+1, 1)
	defer C.free(value)
	if C.link_value(C.hid_t(h), name, value, C.size_t(l.valueSize)) < 0 {
		return "", "", reason()
	}
	if l.kind == LinkSoft {
		return "", C.GoString((*C.char)(value)), nil
	}
	var flags C.uint
	var cFile, cObject *C.char
	if C.H5Lunpack_elink_val(value, C.size_t(l.valueSize), &flags, &cFile, &cObject) < 0 {
		return "", "", reason()
	}
	return C.GoString(cFile), C.GoString(cObject), nil
}

// creation is the creation property list of a dataset: how it is stored.
type creation C.hid_t

func (h handle) creation() (creation, error) {
	id := C.H5Dget_create_plist(C.hid_t(h))
	if id < 0 {
		return 0, reason()
	}
	return creation(id), nil
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
		id := C.H5Pget_filter2(C.hid_t(c), C.uint(i), &flags, &count, &values[0], C.size_t(len(stored)-1), &stored[0], nil)
		if id < 0 {
			return out, reason()
		}
		f := Filter{ID: int(id), Available: C.H5Zfilter_avail(id) > 0}
		if name, ok := commonName(int(id)); ok {
			f.Name = untrusted.String(name)
		} else {
			f.Name = untrusted.Cut(C.GoString(&stored[0]), 64)
		}
		for _, v := range values[:min(int(count), maxFilterValues)] {
			f.Values = append(f.Values, uint32(v))
		}
		out = append(out, f)
	}
	C.forget()
	return out, nil
}

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
	space := C.virtual_space(C.hid_t(c))
	if space < 0 {
		return sources, total, nil, reason()
	}
	defer C.H5Sclose(space)
	var dims [C.H5S_MAX_RANK]C.hsize_t
	rank := C.H5Sget_simple_extent_dims(space, &dims[0], nil)
	if rank < 0 {
		return sources, total, nil, reason()
	}
	shape, err = dimensions(dims[:min(int(rank), len(dims))])
	return sources, total, shape, err
}

// stored asks what the dataset occupies in its file. For chunked data that walks the whole chunk index.
func (h handle) stored() int64 {
	size := C.H5Dget_storage_size(C.hid_t(h))
	C.forget()
	return int64(min(size, math.MaxInt64))
}

// elementType describes the type of a dataset's elements.
type elementType struct {
	class   C.H5T_class_t
	bytes   int64
	signed  bool
	big     bool
	members int // compound and enumeration
	name    string
	varying bool // holds references to data of any length
}

func (h handle) elementType() (elementType, error) {
	id := C.H5Dget_type(C.hid_t(h))
	if id < 0 {
		return elementType{}, reason()
	}
	defer C.H5Tclose(id)
	t := elementType{class: C.H5Tget_class(id), bytes: int64(min(C.H5Tget_size(id), math.MaxInt64))}
	switch t.class {
	case C.H5T_INTEGER, C.H5T_FLOAT, C.H5T_BITFIELD:
		t.big = C.H5Tget_order(id) == C.H5T_ORDER_BE && t.bytes > 1
		t.signed = t.class == C.H5T_INTEGER && C.H5Tget_sign(id) == C.H5T_SGN_2
	case C.H5T_COMPOUND, C.H5T_ENUM:
		t.members = max(0, int(C.H5Tget_nmembers(id)))
	}
	why := pointsTo(id)
	t.varying = why == C.H5T_VLEN || why == C.H5T_STRING
	t.name = typeName(t)
	C.forget()
	return t, nil
}

// typeName says the type in NumPy's words where NumPy has some.
func typeName(t elementType) string {
	order := ""
	if t.big {
		order = ">"
	}
	switch t.class {
	case C.H5T_INTEGER:
		if t.signed {
			return fmt.Sprintf("%sint%d", order, 8*t.bytes)
		}
		return fmt.Sprintf("%suint%d", order, 8*t.bytes)
	case C.H5T_FLOAT:
		return fmt.Sprintf("%sfloat%d", order, 8*t.bytes)
	case C.H5T_STRING:
		if t.varying {
			return "str"
		}
		return fmt.Sprintf("str (%d bytes)", t.bytes)
	case C.H5T_COMPOUND:
		return fmt.Sprintf("compound (%d fields)", t.members)
	case C.H5T_ENUM:
		return fmt.Sprintf("enum (%d values)", t.members)
	case C.H5T_OPAQUE:
		return fmt.Sprintf("opaque (%d bytes)", t.bytes)
	case C.H5T_BITFIELD:
		return fmt.Sprintf("bits (%d bytes)", t.bytes)
	case C.H5T_VLEN:
		return "variable-length sequence"
	case C.H5T_ARRAY:
		return fmt.Sprintf("array (%d bytes)", t.bytes)
	case C.H5T_REFERENCE:
		return "reference"
	case C.H5T_TIME:
		return "time"
	}
	return "unknown"
}
