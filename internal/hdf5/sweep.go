package hdf5

import (
	"time"
)

// Sweep is a list of items, of one reader or of several, that are read one after the other with one call of C, each to
// the same place, as a loop over Item and Block reads them. The zero value is an empty list. It is used by the
// goroutine that uses the readers.
//
// It is there for measuring. During a call of C that lasts longer than some 20 µs, Go's monitor thread (sysmon) wakes,
// takes the processor away from the waiting goroutine and stays awake for the next call: reading one item of 150 µs for
// each call costs a sixth more CPU time than libhdf5 uses, on another core (measured with Go 1.26). And the time of
// each item is free of what a call of C costs.
type Sweep struct {
	steps   []step
	readers []*Reader
	numbers []int64 // starts and counts of blocks
	largest int64   // bytes of an item
}

// Clear empties the list and keeps its memory.
func (s *Sweep) Clear() {
	clear(s.readers)
	s.steps, s.readers, s.numbers, s.largest = s.steps[:0], s.readers[:0], s.numbers[:0], 0
}

// Len is how many items are on the list.
func (s *Sweep) Len() int { return len(s.steps) }

// Item puts an index of the first axis on the list. It reads nothing, and refuses what the reader's Item refuses, with
// the same errors.
func (s *Sweep) Item(r *Reader, index int64) error {
	if err := r.checkItem(index); err != nil {
		return err
	}
	s.add(r, itemStep(index, r.item, r.gaps), r.item)
	return nil
}

// Block puts a hyperslab on the list, as Item does with an item. start and count are copied.
func (s *Sweep) Block(r *Reader, start, count []int64) error {
	n, err := r.checkBlock(start, count)
	if err != nil {
		return err
	}
	s.add(r, blockStep(len(s.numbers), n, r.gaps), n)
	s.numbers = append(append(s.numbers, start...), count...)
	return nil
}

func (s *Sweep) add(r *Reader, one step, bytes int64) {
	one.v = r.view.c
	s.steps, s.readers = append(s.steps, one), append(s.readers, r)
	s.largest = max(s.largest, bytes)
}

// Read reads the items of the list in their order, until one fails or ends later than limit after the beginning: one at
// least. It returns how many it read, what these delivered, and buf, or a longer one in its place, with the last of
// them. took has room for Len times; each of those done is from the end of the item before. The error is what Item or
// Block says of the item that comes after those done. The list stays as it is.
func (s *Sweep) Read(buf []byte, took []time.Duration, limit time.Duration) (done int, bytes int64, into []byte,
	err error) {
	if len(s.steps) == 0 {
		return 0, 0, buf, nil
	}
	_ = took[len(s.steps)-1] // C would write beyond it
	for i, r := range s.readers {
		if r.view.c != s.steps[i].v { // its memory is gone
			return 0, 0, buf, s.failed(i, errClosed)
		}
	}
	if int64(cap(buf)) < max(1, s.largest) {
		buf = makeRoom(max(1, s.largest))
	}
	done, err = sweep(s.steps, s.numbers, buf[:cap(buf)], limit, took)
	for i := range s.steps[:done] {
		bytes += int64(s.steps[i].bytes)
	}
	if err != nil {
		err = s.failed(done, err)
	}
	if done > 0 {
		buf = buf[:s.steps[done-1].bytes]
	}
	return done, bytes, buf, err
}

// failed words an error as the reader's own functions do.
func (s *Sweep) failed(i int, err error) error {
	one, r := s.steps[i], s.readers[i]
	if one.index >= 0 {
		return r.failed("item", int64(one.index), err)
	}
	return r.failed("the block at", s.numbers[one.corner:][:len(r.dataset.Shape)], err)
}
