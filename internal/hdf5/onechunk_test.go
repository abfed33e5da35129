package hdf5

// What a chunk that RawBlock reads is held against: that chunk alone.

// RawChunk reads the chunk that holds the element at coord as it is stored: no filter is run. mask has a bit set for
// each filter that was left out when this chunk was written. The error wraps ErrNoChunk where nothing is stored, and is
// else like that of Item.
func (r *Reader) RawChunk(coord []int64, buf []byte) (raw []byte, mask uint32, err error) {
	corner, err := r.chunkAt(coord)
	if err == nil {
		raw, mask, err = r.stored(corner, buf)
	}
	if err == nil && len(raw) == 0 {
		err = ErrNoChunk
	}
	if err != nil {
		return nil, 0, r.failed("the chunk at", coord, err)
	}
	return raw, mask, nil
}
