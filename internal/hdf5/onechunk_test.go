package hdf5

import "fmt"

// What a chunk that RawBlock reads is held against: that chunk alone.

// RawChunk reads the chunk that holds the element at coord as it is stored: no filter is run. The error wraps
// ErrNoChunk where nothing is stored, and is else like that of Item.
func (r *Reader) RawChunk(coord []int64, buf []byte) (raw []byte, err error) {
	corner, err := r.chunkAt(coord)
	if err == nil {
		raw, err = r.stored(corner, buf)
	}
	if err == nil && len(raw) == 0 {
		err = ErrNoChunk
	}
	if err != nil {
		return nil, r.failed("the chunk at", coord, err)
	}
	return raw, nil
}

// ChunkPlace says where in the file the chunk that holds the element at coord lies, and what it occupies. libhdf5 1.10
// walks the whole chunk index for it, where RawChunk looks the chunk up. Its errors are those of RawChunk.
func (r *Reader) ChunkPlace(coord []int64) (at, size int64, err error) {
	corner, err := r.chunkAt(coord)
	if err == nil {
		r.walks++
		at, size, err = r.view.place(corner)
	}
	if err != nil {
		return 0, 0, r.failed("the place of the chunk at", coord, err)
	}
	return at, size, nil
}

// chunkAt is the first element of the chunk that holds coord. It is good until the next call.
func (r *Reader) chunkAt(coord []int64) ([]int64, error) {
	if err := r.ready(0, 0); err != nil {
		return nil, err
	}
	if r.dataset.Storage != Chunked || len(r.dataset.Chunk) != len(r.dataset.Shape) {
		return nil, fmt.Errorf("%w: the layout is %s", ErrNoChunk, r.dataset.Storage)
	}
	if len(coord) != len(r.dataset.Shape) {
		return nil, fmt.Errorf("%w: %d axes, of shape %v", ErrRange, len(coord), r.dataset.Shape)
	}
	corner := []int64{}
	for i, c := range coord {
		if c < 0 || c >= r.dataset.Shape[i] {
			return nil, fmt.Errorf("%w, of shape %v", ErrRange, r.dataset.Shape)
		}
		corner = append(corner, c-c%r.dataset.Chunk[i])
	}
	return corner, nil
}
