package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/hdf5"
)

// array is a NumPy file whose items are indices of its first axis, or patches.
type array struct {
	*plainFile
	start   int64   // of the elements, in the file
	shape   []int64 // of the array
	item    []int64 // shape of an item, as many axes
	strides []int64 // bytes from one index to the next, by axis
	bytes   int64   // of an item

	run   int64   // bytes of an item that lie in one piece
	outer int     // axes before those that a run spans
	at    []int64 // where in the outer axes a Read is
	first []int64 // the corner of an item that is no patch
}

func openArray(s Source, f File) (Handle, error) {
	p, err := openPlain(f)
	if err != nil {
		return nil, err
	}
	a := array{plainFile: p}
	if err := a.prepare(s.ItemShape); err != nil {
		_ = p.Close() // nothing was written
		return nil, p.failed("open", err)
	}
	return &a, nil
}

// prepare reads the header and holds it against the file's size.
func (a *array) prepare(item []int64) error {
	head := make([]byte, min(format.HeadBytes, a.size))
	if _, err := a.ReadAt(head, 0); err != nil {
		return err
	}
	array, err := arrayOfHead(head, a.size)
	if errors.Is(err, errCutArray) { // it was whole when the dataset was looked through
		err = fmt.Errorf("%w: %w", err, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return err
	}
	_, a.start = headerIn(head)
	a.shape, a.item = array.shape, item
	if len(item) == 0 {
		a.item = slices.Concat([]int64{1}, a.shape[1:])
	}
	return a.layOut(array.element)
}

// layOut computes the strides of the array in C order and how an item lies in it.
func (a *array) layOut(element int64) error {
	if len(a.item) != len(a.shape) {
		return fmt.Errorf("an item of %d axes in an array of %d", len(a.item), len(a.shape))
	}
	for axis, n := range a.item {
		if n < 1 || n > a.shape[axis] {
			return fmt.Errorf("an item of shape %v in an array of shape %v", a.item, a.shape)
		}
	}
	a.strides = make([]int64, len(a.shape))
	stride := element
	for axis := len(a.shape) - 1; axis >= 0; axis-- {
		a.strides[axis] = stride
		stride *= a.shape[axis] // at most the total
	}
	a.outer = len(a.shape) - 1
	for a.outer > 0 && a.item[a.outer] == a.shape[a.outer] {
		a.outer--
	}
	a.run = a.item[a.outer] * a.strides[a.outer]
	a.bytes = *hdf5.Product(element, a.item)
	a.at = make([]int64, a.outer)
	a.first = make([]int64, len(a.shape))
	return nil
}

// Read delivers the elements of an item in C order, as numpy.load(…, mmap_mode="r")[index] does once it is copied. A
// patch that lies in several pieces takes one read(2) for each, where a mapped file would take none.
func (a *array) Read(item Ref, buf []byte) ([]byte, error) {
	from, err := a.locate(item)
	if err != nil {
		return nil, a.failed("read", err)
	}
	if buf, err = a.room(buf, a.bytes); err != nil {
		return nil, err
	}
	clear(a.at)
	for rest := buf; ; {
		offset := from
		for axis, n := range a.at {
			offset += n * a.strides[axis]
		}
		if _, err := a.ReadAt(rest[:a.run], offset); err != nil {
			return nil, err
		}
		rest = rest[a.run:]
		if !a.next() {
			return buf, nil
		}
	}
}

func (a *array) locate(item Ref) (int64, error) {
	corner := item.Corner
	if corner == nil {
		corner = a.first
		corner[0] = item.Index
	}
	if len(corner) != len(a.shape) {
		return 0, fmt.Errorf("a corner of %d axes in an array of %d", len(corner), len(a.shape))
	}
	from := a.start
	for axis, n := range corner {
		if n < 0 || n > a.shape[axis]-a.item[axis] {
			return 0, fmt.Errorf("an item of shape %v at %v in an array of shape %v", a.item, corner, a.shape)
		}
		from += n * a.strides[axis]
	}
	return from, nil
}

// next counts the outer axes on, the last fastest. It is false when all were there.
func (a *array) next() bool {
	for axis := a.outer - 1; axis >= 0; axis-- {
		if a.at[axis]++; a.at[axis] < a.item[axis] {
			return true
		}
		a.at[axis] = 0
	}
	return false
}

// At is where an item begins. A patch may lie in many places of the file.
func (a *array) At(item Ref) (int64, error) {
	if a.run != a.bytes {
		return 0, errors.New("a patch lies in many places of its file")
	}
	return a.locate(item)
}

func (a *array) Frame() (size int64, head []byte, err error) {
	head = make([]byte, a.start)
	_, err = a.ReadAt(head, 0)
	return a.size, head, err
}
