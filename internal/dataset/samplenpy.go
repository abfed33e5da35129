package dataset

import (
	"errors"
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
	err := s.each(files, func(f File) error {
		head, size, err := s.headOf(f)
		if err != nil {
			return err
		}
		a, err := arrayOfHead(head, size)
		if err != nil {
			return err
		}
		a.file = f
		return s.collect(a)
	})
	if err != nil {
		return err
	}
	return s.collected()
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
	out := arrayIn{shape: a.shape, itemBytes: a.itemBytes}
	if err := out.hasItems(); err != nil {
		return out, err
	}
	if strings.HasPrefix(a.kind, "|O") || strings.Contains(a.kind, "'|O'") {
		return out, errPickled
	}
	if a.fortran && slices.ContainsFunc(a.shape[1:], func(n int64) bool { return n > 1 }) {
		return out, errColumns
	}
	_, begins := headerIn(head)
	data := size - begins
	if out.itemBytes == nil { // a type of fields: what an item takes is left for the file's length to tell
		if out.itemBytes = new(data / a.shape[0]); data%a.shape[0] != 0 {
			return out, errElements
		}
	}
	if whole := hdf5.Product(*out.itemBytes, a.shape[:1]); whole == nil || *whole > data || *whole == 0 {
		return out, errCutArray
	}
	if rows := hdf5.Product(1, a.shape[1:]); rows != nil && *rows > 0 {
		out.element = *out.itemBytes / *rows
	}
	return out, nil
}
