package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

var (
	// ErrNotHDF5 says that the file has no HDF5 signature where the format puts one.
	ErrNotHDF5 = errors.New("not an HDF5 file")
	// ErrTruncated says that the file is shorter than it says it is.
	ErrTruncated = errors.New("the HDF5 file is truncated")
	// ErrNewer says that the file was written in a form this libhdf5 does not know.
	ErrNewer = errors.New("the HDF5 file is of a newer format")
	// ErrBeingWritten says that a writer has the file open, or died with it open.
	ErrBeingWritten = errors.New("the HDF5 file is open for writing, or was not closed")
	// ErrLocked says that a file that was to be locked is locked already, as one is that is open for writing.
	ErrLocked = errors.New("another process holds a lock on it")
	// ErrUnreadable says that libhdf5 refused the file; the wrapped text is its own reason.
	ErrUnreadable = errors.New("libhdf5 cannot read the file")
)

var signature = []byte("\x89HDF\r\n\x1a\n")

// newestSuperblock is the newest version libhdf5 1.10 reads (HDF5 File Format Specification 3.0, II.A).
const newestSuperblock = 3

// ReadSuperblock finds and reads the superblock of a file of the given size, following the HDF5 File Format
// Specification 3.0, II.A. It reads at most 64 bytes at each of the places where a superblock may lie: 0, 512, 1024
// and so on, doubling. Its errors are ErrNotHDF5, ErrNewer, ErrTruncated, ErrBeingWritten and those of r.
func ReadSuperblock(r io.ReaderAt, size int64) error {
	for offset := int64(0); offset < size; {
		head := make([]byte, 64)
		n, err := r.ReadAt(head, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("reading at byte %d: %w", offset, err)
		}
		if bytes.HasPrefix(head[:n], signature) {
			return parseSuperblock(head[:n], offset, size)
		}
		switch {
		case offset == 0:
			offset = 512
		case offset > math.MaxInt64/2:
			return ErrNotHDF5
		default:
			offset *= 2
		}
	}
	return ErrNotHDF5
}

// parseSuperblock reads the fields of head, which starts with the signature and lies at offset.
func parseSuperblock(head []byte, offset, size int64) error {
	cut := fmt.Errorf("%w: it ends inside its superblock", ErrTruncated)
	if len(head) < 12 {
		return cut
	}
	version := int(head[8])
	var written error        // why it cannot be read although it is sound
	var width, addresses int // size of an address; where the base address is, with the end of file two addresses on
	switch version {
	case 0, 1:
		if len(head) < 28 {
			return cut
		}
		width, addresses = int(head[13]), 24+4*version
	case 2, 3:
		width, addresses = int(head[9]), 12
		if version == 3 && head[11]&0b101 != 0 {
			written = ErrBeingWritten
		}
	default:
		return fmt.Errorf("%w: superblock version %d, known here up to %d", ErrNewer, version, newestSuperblock)
	}
	if width != 2 && width != 4 && width != 8 {
		return written // the format allows more; libhdf5 has the last word
	}
	end := addresses + 3*width
	if len(head) < end {
		return cut
	}
	// The end of file address counts from the file's start at the time of writing; a user block put in front since
	// then moves it by the difference between where the superblock says it lies and where it does (H5Fsuper.c).
	base, okBase := littleEndian(head[addresses : addresses+width])
	stated, okEnd := littleEndian(head[end-width : end])
	if !okBase || !okEnd || stated < base || stated-base > uint64(math.MaxInt64-offset) {
		return written
	}
	if ends := offset + int64(stated-base); ends > size {
		return fmt.Errorf("%w: it has %d bytes and says it has %d", ErrTruncated, size, ends)
	}
	return written
}

// littleEndian reads an address. It is not ok when all its bits are set, which is the format's "undefined address".
func littleEndian(b []byte) (uint64, bool) {
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v, v != math.MaxUint64>>(64-8*len(b))
}
