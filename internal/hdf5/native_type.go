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

const varyingString = "str"

// elementType describes the type of a dataset's elements.
type elementType struct {
	bytes   int64
	name    string // in NumPy's words where NumPy has some
	varying bool   // holds references to data of any length
}

func (h handle) elementType() (elementType, error) {
	id := C.H5Dget_type(C.hid_t(h))
	if id < 0 {
		return elementType{}, reason()
	}
	defer C.H5Tclose(id)
	t := elementType{bytes: int64(min(C.H5Tget_size(id), math.MaxInt64))}
	why := pointsTo(id)
	t.varying = why == C.H5T_VLEN || why == C.H5T_STRING
	t.name = t.named(id)
	C.forget()
	return t, nil
}

func (t elementType) named(id C.hid_t) string {
	switch class := C.H5Tget_class(id); class {
	case C.H5T_INTEGER, C.H5T_FLOAT:
		order, kind := "", "float"
		if t.bytes > 1 && C.H5Tget_order(id) == C.H5T_ORDER_BE {
			order = ">"
		}
		if class == C.H5T_INTEGER {
			if kind = "uint"; C.H5Tget_sign(id) == C.H5T_SGN_2 {
				kind = "int"
			}
		}
		return fmt.Sprintf("%s%s%d", order, kind, 8*t.bytes)
	case C.H5T_STRING:
		if t.varying {
			return varyingString
		}
		return fmt.Sprintf("str (%d bytes)", t.bytes)
	case C.H5T_COMPOUND:
		return fmt.Sprintf("compound (%d fields)", max(0, C.H5Tget_nmembers(id)))
	case C.H5T_ENUM:
		return fmt.Sprintf("enum (%d values)", max(0, C.H5Tget_nmembers(id)))
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
