package hdf5

import (
	"errors"
	"fmt"
)

// stored reads the chunk that begins at corner as it is stored; it has no bytes where nothing is.
func (r *Reader) stored(corner []int64, buf []byte) (raw []byte, err error) {
	size, err := r.view.chunkSize(corner)
	switch {
	case size > r.found.file().bytes:
		return buf[:0], fmt.Errorf("%w: a chunk of %d bytes, more than its file has", ErrTooLarge, size)
	case size > MaxReadBytes:
		return buf[:0], fmt.Errorf("%w: a chunk of %d bytes as it is stored; at most %d are read at once",
			ErrTooLarge, size, int64(MaxReadBytes))
	}
	if err == nil && size > 0 {
		if int64(cap(buf)) < size {
			buf = makeRoom(size)
		}
		if err = r.view.chunk(corner, buf[:size]); err == nil {
			return buf[:size], nil
		}
	}
	if err == nil || r.missing(corner, err) {
		return buf[:0], nil
	}
	return buf[:0], err
}

// missing reports whether the error of reading a chunk means that none is stored there. Of chunks without filters,
// libhdf5 1.10 gives the full size or an error then, which is distinguished from others by a walk through the whole
// index. That is made once for each wording: walking for each of many chunks that were never written takes time
// quadratic in their number.
func (r *Reader) missing(corner []int64, err error) bool {
	if words := err.Error(); words != r.noChunk {
		r.walks++
		if _, _, err := r.view.place(corner); !errors.Is(err, ErrNoChunk) {
			return false
		}
		r.noChunk = words
	}
	return true
}

// maxChunks bounds the chunks that RawBlock reads.
const maxChunks = 1 << 20

// RawBlock reads, one after the other and without running a filter, every chunk that holds a part of a block. It
// returns how many are stored and the bytes that these occupy; buf is used for each in turn, and returned for the next
// call. Its errors are those of Block, and ErrNoChunk where there are none.
func (r *Reader) RawBlock(start, count []int64, buf []byte) (chunks, stored int64, into []byte, err error) {
	n, err := r.blockBytes(start, count)
	if err != nil || n == 0 {
		return 0, 0, buf, err
	}
	if r.dataset.Storage != Chunked || len(r.dataset.Chunk) != len(start) {
		return 0, 0, buf, r.failed("the chunks at", start, fmt.Errorf("%w: the layout is %s", ErrNoChunk,
			r.dataset.Storage))
	}
	if err := r.ready(0, 0); err != nil {
		return 0, 0, buf, r.failed("the chunks at", start, err)
	}
	if touched(r.dataset.Chunk, start, count) > maxChunks {
		return 0, 0, buf, r.failed("the chunks at", start, fmt.Errorf("%w: more than %d hold a part of it", ErrTooLarge,
			maxChunks))
	}
	// corners of chunks
	first, last, at := make([]int64, len(start)), make([]int64, len(start)), make([]int64, len(start))
	for i, chunk := range r.dataset.Chunk {
		first[i] = start[i] - start[i]%chunk
		last[i] = start[i] + count[i] - 1
		last[i] -= last[i] % chunk
	}
	for copy(at, first); ; {
		raw, err := r.stored(at, buf)
		if err != nil {
			return chunks, stored, buf, r.failed("the chunk at", at, err)
		}
		if len(raw) > 0 {
			chunks, stored = chunks+1, stored+int64(len(raw))
		}
		buf = raw[:cap(raw)]
		axis := len(at) - 1
		for ; axis >= 0 && at[axis] == last[axis]; axis-- { // the last axis runs fastest
			at[axis] = first[axis]
		}
		if axis < 0 {
			return chunks, stored, buf, nil
		}
		at[axis] += r.dataset.Chunk[axis]
	}
}
