package hdf5

/*
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

static herr_t link_value(hid_t g, const char *name, void *buf, size_t n) { return H5Lget_val(g, name, buf, n, H5P_DEFAULT); }
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

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

// linkKind is "" for a hard link.
func linkKind(class C.int) LinkKind {
	switch class {
	case C.H5L_TYPE_HARD:
		return ""
	case C.H5L_TYPE_SOFT:
		return LinkSoft
	case C.H5L_TYPE_EXTERNAL:
		return LinkExternal
	}
	return LinkOther
}

// kind says what an object is.
func (h handle) kind() objectKind { return objectKind(C.H5Iget_type(C.hid_t(h))) }

// links lists at most cap links of the group. longer counts the names above longest, more says that there are
// others. The error says that the walk broke off; what it found until then is returned with it.
func (h handle) links(cap, longest int) (found []rawLink, longer int, more bool, err error) {
	l := C.list(C.hid_t(h), C.size_t(cap), C.size_t(longest))
	if l == nil {
		return nil, 0, false, errors.New("out of memory")
	}
	defer C.release(l)
	for _, k := range unsafe.Slice(l.at, int(l.n)) {
		raw := rawLink{name: C.GoString(k.name), address: uint64(k.address), valueSize: uint64(k.value_size),
			kind: linkKind(k._type)}
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
