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

func openBlocks(s Source, f File) (Handle, error) {
	p, err := openPlain(f)
	if err != nil {
		return nil, err
	}
	b := blocks{plainFile: p, block: s.BlockBytes}
	if b.block <= 0 {
		b.block = DefaultBlockBytes
	}
	return b, nil
}

// Read delivers the block of the item's index. The last block of a file ends where the file did when the dataset was
// looked through.
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

// At is where a block begins.
func (b blocks) At(item Ref) (int64, error) { return item.Index * b.block, nil }
