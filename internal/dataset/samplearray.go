package dataset

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/hdf5"
)

// arrayIn is what a file holds, HDF5 or NumPy, as far as drawing items from it goes.
type arrayIn struct {
	file      File
	shape     []int64
	element   int64  // bytes; 0 where that is not known
	itemBytes *int64 // one index of the first axis
	chunk     int64  // items that lie in one chunk; 0 where there are none
	companion bool   // another array in the file is as long, labels most often
	mask      bool   // another one has the first two axes in common, as a mask of a picture, or of pictures
}

var (
	errScalar = errors.New("it holds a single value, no items")
	errLength = errors.New("one of its axes has no length")
	errShape  = errors.New("its array has another shape than those before it")
)

// votes is how many files of a folder are looked at before the dataset and what an item is are decided.
const votes = 8

// A file of a folder that holds one item, a picture say, looks the same as one that holds many short ones, its rows.
// These are the bounds of what is taken for one item when nothing says otherwise.
const (
	// a whole item is seldom larger, and what is split into files of many items is split into larger ones
	wholeBytes = 8 << 20
	wholeFiles = 256     // so many files, all small, are a file for each item
	rowBytes   = 4 << 10 // a row of 1024 float32; samples seldom are as small
	channels   = 4       // grey, RGB or RGBA before rows and columns
)

// settle decides, from the first arrays that were looked at, what an item is, and fills in Sample.ItemShape.
func (s *surveyor) settle(first []arrayIn) error {
	a := first[0]
	if patch := s.o.ItemShape; patch != nil {
		if len(patch) == len(a.shape)-1 {
			patch = append([]int64{1}, patch...)
		}
		if err := fits(patch, a.shape); err != nil {
			return err
		}
		s.out.Sample.ItemShape = patch
		return nil
	}
	if s.out.Files > 1 && s.wholeFile(first) {
		s.out.Sample.ItemShape = slices.Clone(a.shape)
		s.note("Each file is taken for one item of shape %v; name another item shape if its first axis counts items.",
			a.shape)
		return nil
	}
	if s.out.Kind == Npy && len(a.shape) == 1 && a.element <= largestNumber {
		s.out.Part = &Part{Noun: "number", Why: "the array has one axis, as of tokens: one element of it is an item; " +
			"--item-shape says how many belong together"}
	}
	return nil
}

// wholeFile says whether each file is likely to hold one item.
func (s *surveyor) wholeFile(first []arrayIn) bool {
	for _, a := range first {
		if a.companion || a.mask && s.out.Files < wholeFiles || a.itemBytes == nil ||
			!slices.Equal(a.shape, first[0].shape) || a.shape[0] < 2 {
			return false
		}
	}
	a := first[0]
	if whole := hdf5.Product(*a.itemBytes, a.shape[:1]); whole == nil || *whole > wholeBytes {
		return false
	}
	return s.out.Files >= wholeFiles || *a.itemBytes < rowBytes && len(a.shape) >= 2 || a.shape[0] <= channels &&
		len(a.shape) >= 3
}

// collect takes one array. The first ones wait until there are enough of them to settle what an item is.
func (s *surveyor) collect(a arrayIn) error {
	s.waiting = append(s.waiting, a)
	if s.settled || len(s.waiting) >= votes {
		return s.collected()
	}
	return nil
}

// collected makes lots of the arrays that wait.
func (s *surveyor) collected() error {
	if !s.settled && len(s.waiting) > 0 {
		if err := s.settle(s.waiting); err != nil {
			return err
		}
		s.settled = true
	}
	for _, a := range s.waiting {
		if err := s.addArray(a); err != nil {
			s.bad.add(err.Error(), nil, a.file.Path)
		}
	}
	s.waiting = s.waiting[:0]
	return nil
}

// fits says why a patch does not lie within a shape.
func fits(patch, shape []int64) error {
	if len(patch) != len(shape) {
		return fmt.Errorf("%w: it has %d axes, the dataset has %v", ErrItemShape, len(patch), shape)
	}
	for axis := range patch {
		if patch[axis] < 1 || patch[axis] > shape[axis] {
			return fmt.Errorf("%w: %v in a dataset of %v", ErrItemShape, patch, shape)
		}
	}
	return nil
}

// hasItems says why an array has nothing to read.
func (a arrayIn) hasItems() error {
	switch {
	case len(a.shape) == 0:
		return errScalar
	case slices.Contains(a.shape, 0):
		return errLength
	}
	return nil
}

// addArray makes a lot of an array, once what an item is has been settled.
func (s *surveyor) addArray(a arrayIn) error {
	l := lot{file: a.file, items: a.shape[0], shape: a.shape, chunk: a.chunk}
	itemBytes := a.itemBytes
	if patch := s.out.Sample.ItemShape; patch != nil {
		if err := fits(patch, a.shape); err != nil {
			return err
		}
		if s.o.ItemShape == nil && !slices.Equal(patch, a.shape) {
			return errShape
		}
		l.items = a.shape[0] / patch[0]
		l.chunk = a.chunk / patch[0]
		itemBytes = nil
		if a.element > 0 {
			itemBytes = hdf5.Product(a.element, patch)
		}
	}
	switch {
	case len(s.lots) == 0:
		s.out.ItemBytes = itemBytes
	case itemBytes == nil || s.out.ItemBytes == nil || *itemBytes != *s.out.ItemBytes:
		s.out.ItemBytes = nil
	}
	s.lots = append(s.lots, l)
	return nil
}

// enough says whether the files looked at hold a sample: a run of items of each, or all it has.
func (s *surveyor) enough() bool {
	var items int64
	for _, l := range s.lots {
		items += min(l.items, runItems)
	}
	return items >= int64(s.o.MaxItems)
}
