package hdf5

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/pipetune/pipetune/internal/format"
)

const (
	// MaxHeldBytes is the most memory that one read may take: what it delivers, and what libhdf5 holds of chunks
	// meanwhile. It leaves a child that may have 1 GiB in all a quarter for the rest.
	MaxHeldBytes = 768 << 20
	// ProcessBytes is the address space that a process which reads needs, and should have, beyond what it has at its
	// start: what one read holds, an arena of Go's, and what libhdf5 keeps of open files. A damaged file may have
	// libhdf5 take all of it. With some 30 MiB that such a process holds at its start and 64 of an arena that is mapped
	// by then, that is 1 GiB.
	ProcessBytes = MaxHeldBytes + 160<<20
	// MaxChunkBytes is the largest chunk that is read; the format allows 4 GiB less a byte. Training sets have chunks
	// of some MiB at the most.
	MaxChunkBytes = 512 << 20

	// selectedBytes is what libhdf5 1.10 holds for each chunk that a read touches: 6.6 kB with chunks of 64 bytes (119
	// MiB for 16,000 of them, 657 MiB for 100,000, where the process has 12 MiB without).
	selectedBytes = 7 << 10
)

// holding is what libhdf5 holds of chunks while one of them is decoded. It was measured by reading chunks of 200 MiB,
// one after the other into the same buffer, and looking at the most memory the process had beside that buffer:
//
//	no filter                           0, chunks larger than the cache are read in place
//	one filter, incompressible data     the chunk as it is stored and as it is decoded
//	two filters that copy (gzip after   the same, or two decoded ones, whichever is more
//	shuffle, fletcher32 is in place)
//
// Chunks that fit into the cache stay in it, beside the one that is decoded.
type holding struct {
	cached int64 // what the cache may hold
	stored int64 // a chunk as it lies in the file; 0 where it is read in place
	plain  int64 // a decoded chunk; 0 where it is read in place
}

func (h holding) bytes() int64 { return h.cached + h.stored + h.plain }

// chunks reckons the holding of the open dataset; file is the size of the file that has it.
func (d *Dataset) chunks(cache *int64, file int64) holding {
	if d.Storage != Chunked || d.ChunkBytes == nil {
		return holding{}
	}
	h := holding{cached: format.ChunkCacheBytes}
	if cache != nil {
		h.cached = max(0, *cache)
	}
	if total := Product(d.ElementBytes, d.Shape); total != nil {
		h.cached = min(h.cached, max(*total, *d.ChunkBytes))
	}
	if *d.ChunkBytes > h.cached { // it is read in place or decoded, and never put there
		h.cached = 0
	}
	if len(d.Filters) == 0 {
		return h
	}
	h.plain = *d.ChunkBytes
	// A chunk as it is stored is no larger than its file; a filter that finds nothing to compress is left out, and adds
	// nothing worth counting.
	if h.stored = min(file, h.plain); d.copies() > 1 {
		h.stored = h.plain
	}
	return h
}

// copies counts the filters that decode from one buffer into another.
func (d *Dataset) copies() (n int) {
	for _, f := range d.Filters {
		if f.ID != filterFletcher32 {
			n++
		}
	}
	return n
}

// Numbers of filters (H5Zpublic.h). Fletcher32 checks in place, and cuts off its sum.
const (
	filterFletcher32  = 3
	filterNBit        = 5
	filterScaleOffset = 6
)

// decodedMost is how many bytes a filter may make of a chunk that has so many: no more than that and what the filters
// before it can have added, which is at most 22 bytes and one in a thousand for each of 32 of them (scaleoffset's head;
// H5Z_DEFLATE_SIZE_ADJUST in H5Zdeflate.c). chunk is nil for chunks of other datasets, those that a virtual one draws
// on.
func decodedMost(chunk *int64) int64 {
	most := int64(MaxChunkBytes)
	if chunk != nil {
		most = *chunk
	}
	return most + most/16 + 1024
}

// bearable refuses to deliver n bytes that lie in so many chunks where that and what libhdf5 holds meanwhile are too
// much together.
func (r *Reader) bearable(n, chunks int64) error {
	h := r.held
	index := int64(0)
	if r.dataset.Storage == Chunked {
		index = MaxHeldBytes // as many chunks as that are too many, too
		if chunks <= MaxHeldBytes/selectedBytes {
			index = chunks * selectedBytes
		}
	}
	if n <= MaxHeldBytes && n+h.bytes()+index <= MaxHeldBytes {
		return nil
	}
	words := fmt.Sprintf("%d bytes", n)
	if h.plain > 0 {
		words += fmt.Sprintf(", beside %d of a chunk while it is decoded (%d stored, %d decoded)", h.stored+h.plain,
			h.stored, h.plain)
	}
	if h.cached > format.ChunkCacheBytes {
		words += fmt.Sprintf(", %d of the chunk cache", h.cached)
	}
	if index > 0 && chunks > 1 {
		words += fmt.Sprintf(", and %d for each of the %d chunks it lies in", selectedBytes, chunks)
	}
	return fmt.Errorf("%w: %s; at most %d are held at once", ErrTooLarge, words, int64(MaxHeldBytes))
}

// refuseChunk refuses chunks that no read could bear, by what the header says of them.
func (r *Reader) refuseChunk() error {
	switch d := &r.dataset; {
	case d.Storage != Chunked:
		return nil
	case slices.ContainsFunc(d.Chunk, func(n int64) bool { return n < 1 }):
		return fmt.Errorf("%w: chunks of shape %v", ErrUnreadable, d.Chunk)
	case d.ChunkBytes == nil:
		return fmt.Errorf("%w: a chunk of shape %v has more bytes than can be counted", ErrTooLarge, d.Chunk)
	case *d.ChunkBytes > MaxChunkBytes:
		return fmt.Errorf("%w: a chunk of shape %v has %d bytes; chunks of at most %d are read", ErrTooLarge, d.Chunk,
			*d.ChunkBytes, int64(MaxChunkBytes))
	case *d.ChunkBytes > r.most:
		return fmt.Errorf("%w: a chunk of shape %v has %d bytes, where this file can hold %d at most", ErrTooLarge,
			d.Chunk, *d.ChunkBytes, r.most)
	}
	for _, f := range r.dataset.Filters {
		const elements, bytes = 2, 4 // H5Z_SCALEOFFSET_PARM_NELMTS and _SIZE; nbit has the same places
		if f.ID != filterNBit && f.ID != filterScaleOffset || len(f.Values) <= bytes {
			continue
		}
		if size := int64(f.Values[elements]) * int64(f.Values[bytes]); size > *r.dataset.ChunkBytes {
			// libhdf5 would make a buffer of it
			return fmt.Errorf("%w: the parameters of filter %s are for chunks of %d bytes, where they have %d",
				ErrUnreadable, f.Name, size, *r.dataset.ChunkBytes)
		}
	}
	return r.bearable(0, 1)
}

// Chunks is how many chunks data of a shape lies in, 0 where it has no elements or is not chunked. It is MaxHeldBytes
// where they are as many or cannot be counted, which is too many to read.
func Chunks(chunk, shape []int64) int64 { return touched(chunk, make([]int64, len(shape)), shape) }

// touched is how many chunks hold a part of a block, 0 of data that is not chunked. It is MaxHeldBytes where they
// cannot be counted, which is too many.
func touched(chunk, start, count []int64) int64 {
	switch {
	case len(chunk) == 0 || slices.Contains(count, 0):
		return 0
	case len(chunk) != len(count) || slices.Min(chunk) < 1:
		return MaxHeldBytes
	}
	n := int64(1)
	for i, c := range count {
		along := (start[i]+c-1)/chunk[i] - start[i]/chunk[i] + 1
		if along > MaxHeldBytes/n {
			return MaxHeldBytes
		}
		n *= along
	}
	return n
}

// largeBytes is from what size on a buffer is not made beside those that are not used any more.
const largeBytes = 64 << 20

// makeRoom makes a buffer that takes the place of a shorter one. The collector may not have come to that one yet:
// before a large buffer is made, it has to. A caller that keeps the shorter one meanwhile holds both.
func makeRoom(n int64) []byte {
	if n > largeBytes {
		debug.FreeOSMemory()
	}
	return make([]byte, n)
}
