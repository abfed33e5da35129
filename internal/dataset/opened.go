package dataset

import (
	"errors"
	"fmt"
)

// MaxOpen is how many files an Opened keeps open, well below the descriptors that a process is allowed.
const MaxOpen = 256

// Opened is a sample with those of its files that are open. It is used by one goroutine.
type Opened struct {
	Sample  Sample
	Open    func(Source, File) (Handle, error)
	Handles map[int]Handle // by the file's place in the sample
	Buf     []byte         // that items are read into
}

// NewOpened has no file open yet. open is Source.Open, but in tests.
func NewOpened(sample Sample, open func(Source, File) (Handle, error)) Opened {
	return Opened{Sample: sample, Open: open, Handles: map[int]Handle{}}
}

// Forget closes all files.
func (o *Opened) Forget() {
	for i, h := range o.Handles {
		_ = h.Close() // read-only: nothing is lost
		delete(o.Handles, i)
	}
}

// HandleOf returns the open file, opening it where it is not. When too many are open, all are closed: with more files
// than that in random order, keeping any of them hardly pays.
func (o *Opened) HandleOf(file int) (Handle, error) {
	if h, ok := o.Handles[file]; ok {
		return h, nil
	}
	if len(o.Handles) >= MaxOpen {
		o.Forget()
	}
	h, err := o.Open(o.Sample.Source, o.Sample.Files[file])
	if err != nil {
		return nil, err
	}
	o.Handles[file] = h
	return h, nil
}

// Item reads an item into the buffer, given away meanwhile: it and a longer one must not be held together.
func (o *Opened) Item(h Handle, ref Ref) ([]byte, error) {
	buf := o.Buf
	o.Buf = nil
	got, err := h.Read(ref, buf)
	if err != nil {
		return nil, err
	}
	o.Buf = got[:0]
	return got, nil
}

// Read reads an item. Files of many items stay open, a file that is one item is closed again.
func (o *Opened) Read(ref Ref) (got []byte, err error) {
	var h Handle
	if o.Sample.ItemIsFile() {
		if h, err = o.Open(o.Sample.Source, o.Sample.Files[ref.File]); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
	} else if h, err = o.HandleOf(ref.File); err != nil {
		return nil, err
	}
	return o.Item(h, ref)
}

// Has refuses a list that names an item which is not in the sample, and an empty one.
func (s *Sample) Has(items []int) error { return within(items, len(s.Items), "item") }

// HasFiles is Has for files.
func (s *Sample) HasFiles(files []int) error { return within(files, len(s.Files), "file") }

func within(places []int, most int, what string) error {
	if len(places) == 0 {
		return fmt.Errorf("no %ss were named", what)
	}
	for _, i := range places {
		if i < 0 || i >= most {
			return fmt.Errorf("no %s %d in a sample of %d", what, i, most)
		}
	}
	return nil
}
