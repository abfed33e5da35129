package hdf5

/*
#include <hdf5.h>
#include "reason.h"
*/
import "C"

import (
	"fmt"
	"math"
)

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
