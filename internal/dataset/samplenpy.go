package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/hdf5"
)

var (
	errCutArray = errors.New("truncated: the array is longer than the file")
	errElements = errors.New("the size of its elements is unknown")
	errPickled  = errors.New("it holds Python objects, which only Python reads")
	errColumns  = errors.New("it is stored column by column (Fortran order), so that an item is scattered over the " +
		"whole file")
)

// surveyNpy reads the headers of NumPy files and makes lots of them.
func (s *surveyor) surveyNpy(files []File) error {
	for i, f := range files {
		if s.enough() || i > 0 && s.late(surveyShare) {
			break
		}
		a, err := s.arrayIn(f)
		switch {
		case err == nil:
			if err := s.collect(a); err != nil {
				return err
			}
		case s.asked == 1:
			return fmt.Errorf("%w: %w", ErrNoItems, err)
		default:
			s.bad.add(npyReason(err), nil, f.Path)
		}
	}
	return s.collected()
}

// npyReason is the reason without the particulars of one file.
func npyReason(err error) string {
	if errors.Is(err, errNoArray) {
		return errNoArray.Error()
	}
	return reasonOf(err)
}

// arrayIn reads the header of one NumPy file.
func (s *surveyor) arrayIn(f File) (arrayIn, error) {
	flags := asIs(f.Path)
	if s.asked == 1 && string(f.Path) == s.path {
		flags = 0
	}
	head, size, err := headOf(f, flags)
	if err != nil {
		return arrayIn{}, err
	}
	a, err := arrayOfHead(head, size)
	a.file = f
	return a, err
}

// arrayOfHead reads a header, the first bytes of a file of the given size, and holds it against that size.
func arrayOfHead(head []byte, size int64) (arrayIn, error) {
	if format.OfBytes(head).Kind != Npy {
		return arrayIn{}, errNoArray
	}
	a, err := readArray(head, size)
	if err != nil {
		return arrayIn{}, err
	}
	out := arrayIn{shape: a.Shape, itemBytes: a.ItemBytes}
	if err := out.hasItems(); err != nil {
		return out, err
	}
	if kind := a.Type.String(); strings.HasPrefix(kind, "|O") || strings.Contains(kind, "'|O'") {
		return out, errPickled
	}
	if a.Fortran && slices.ContainsFunc(a.Shape[1:], func(n int64) bool { return n > 1 }) {
		return out, errColumns
	}
	data := size - dataAt(head)
	if out.itemBytes == nil { // a type of fields: what an item takes is left for the file's length to tell
		if out.itemBytes = new(data / a.Shape[0]); data%a.Shape[0] != 0 {
			return out, errElements
		}
	}
	if whole := hdf5.Product(*out.itemBytes, a.Shape[:1]); whole == nil || *whole > data || *whole == 0 {
		return out, errCutArray
	}
	if rows := hdf5.Product(1, a.Shape[1:]); rows != nil && *rows > 0 {
		out.element = *out.itemBytes / *rows
	}
	return out, nil
}

// dataAt is where the array begins, behind a header that readArray has read.
func dataAt(head []byte) int64 {
	if head[6] >= 2 {
		return 12 + int64(binary.LittleEndian.Uint32(head[8:]))
	}
	return 10 + int64(binary.LittleEndian.Uint16(head[8:]))
}
