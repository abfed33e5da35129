package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/hdf5"
)

// npyHeader is the header of a NumPy file (numpy/lib/format.py, versions 1 to 3).
type npyHeader struct {
	kind    string  // as NumPy writes it: <f4, |u1, or a list of fields
	shape   []int64 // empty for a scalar
	fortran bool    // stored column by column: one item of the first axis is scattered over the file
	// one index of the first axis; nil for scalars and types of fields or objects
	itemBytes *int64
}

var errNoArray = errors.New("not the header of a NumPy array")

// readArray parses the header in head, the first bytes of a file of the given size.
func readArray(head []byte, size int64) (npyHeader, error) {
	if len(head) < 12 {
		return npyHeader{}, errNoArray
	}
	start, end := headerIn(head)
	switch length := end - start; {
	case head[6] >= 2 && length > format.HeadBytes:
		return npyHeader{}, fmt.Errorf("%w: its header has %d bytes", errNoArray, length)
	case end > int64(len(head)):
		return npyHeader{}, fmt.Errorf("%w: it ends inside its header, of %d bytes in a file of %d", errNoArray, length,
			size)
	}
	return parseArray(string(head[start:end]))
}

// headerIn is where the text of a header lies; the array begins at its end.
func headerIn(head []byte) (start, end int64) {
	if head[6] >= 2 {
		return 12, 12 + int64(binary.LittleEndian.Uint32(head[8:]))
	}
	return 10, 10 + int64(binary.LittleEndian.Uint16(head[8:]))
}

// parseArray reads the Python dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }.
func parseArray(header string) (npyHeader, error) {
	var out npyHeader
	descr, ok := valueOf(header, "descr")
	if !ok {
		return npyHeader{}, fmt.Errorf("%w: it has no type", errNoArray)
	}
	order, ok := valueOf(header, "fortran_order")
	if !ok {
		return npyHeader{}, fmt.Errorf("%w: it has no order", errNoArray)
	}
	shape, ok := valueOf(header, "shape")
	if !ok || !strings.HasPrefix(shape, "(") {
		return npyHeader{}, fmt.Errorf("%w: it has no shape", errNoArray)
	}
	out.fortran = strings.HasPrefix(order, "True")
	inside, _, closed := strings.Cut(shape[1:], ")")
	if !closed {
		return npyHeader{}, fmt.Errorf("%w: its shape has no end", errNoArray)
	}
	for part := range strings.SplitSeq(inside, ",") {
		part = strings.TrimSuffix(strings.TrimSpace(part), "L") // Python 2 wrote long numbers so
		if part == "" {
			continue
		}
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 || len(out.shape) == 64 {
			return npyHeader{}, fmt.Errorf("%w: its shape holds %q", errNoArray, part)
		}
		out.shape = append(out.shape, n)
	}
	var element int64
	if quote := descr[0]; quote == '\'' || quote == '"' {
		out.kind, _, _ = strings.Cut(descr[1:], string(quote))
		element = elementBytes(out.kind)
	} else {
		out.kind = descr[:strings.LastIndexByte(descr, ']')+1]
	}
	if element > 0 && len(out.shape) > 0 {
		out.itemBytes = hdf5.Product(element, out.shape[1:])
	}
	return out, nil
}

// valueOf returns the rest of the header from the value of a key on; it is not empty when ok.
func valueOf(header, key string) (rest string, ok bool) {
	for _, quote := range []string{"'", `"`} {
		if _, after, found := strings.Cut(header, quote+key+quote); found {
			after = strings.TrimSpace(after)
			after, colon := strings.CutPrefix(after, ":")
			after = strings.TrimSpace(after)
			return after, colon && after != ""
		}
	}
	return "", false
}

// elementBytes is the size in a NumPy type string: 4 for <f4, 12 for <U3 (four bytes a character). It is 0 for a
// type whose elements have no size of their own, such as |O.
func elementBytes(name string) int64 {
	name = strings.TrimLeft(name, "<>|=")
	if len(name) < 2 || strings.ContainsAny(name[:1], "Omv") {
		return 0
	}
	digits := name[1:]
	if i := strings.IndexByte(digits, '['); i >= 0 { // a date's unit: M8[ns]
		digits = digits[:i]
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 1 {
		return 0
	}
	if name[0] == 'U' {
		n *= 4
	}
	return n
}
