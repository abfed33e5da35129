package dataset

import (
	"io"
	"math"
)

// blocks is a file whose items are blocks of equal size, the last one shorter.
type blocks struct {
	*plainFile
	block int64
}

// Read delivers the block of the item's index; the last one ends where the file did in the survey.
func (b blocks) Read(item Ref, buf []byte) ([]byte, error) {
	size := b.size
	if b.seen > 0 {
		size = b.seen
	}
	if item.Index < 0 || item.Index > math.MaxInt64/b.block || item.Index*b.block >= size {
		return nil, b.failed("read", io.ErrUnexpectedEOF)
	}
	at := item.Index * b.block
	return b.read(buf, at, min(b.block, size-at))
}

func (b blocks) At(item Ref) (int64, error) { return item.Index * b.block, nil }
