package dataset

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Member is a regular file inside of a tar file.
type Member struct {
	Name    string // raw
	At      int64  // of its bytes in the tar file
	Bytes   int64
	Picture bool // by its name
}

// TarIndex sums up the members of a tar file, such as a WebDataset shard (https://github.com/webdataset/webdataset).
type TarIndex struct {
	Members int64
	Sparse  int64          // members with holes, which are left out: their bytes do not lie in one piece
	More    bool           // the visitor wanted no more: the counts are lower bounds
	Problem untrusted.Text `json:",omitzero"` // why what follows the members counted cannot be read
}

// IndexTar goes through the headers of a tar file of the given size (ustar, pax, GNU) in the order they lie, which
// reads about a page for each, and calls visit with every regular member until it returns false. It holds no list:
// memory does not grow with the file. A file that is damaged or cut is no error but a Problem of the index, with the
// members before. The error is that of reading.
func IndexTar(r io.ReaderAt, size int64, visit func(Member) bool) (TarIndex, error) {
	var index TarIndex
	file := &jumper{r: r, size: size}
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return index, nil
		case file.err != nil:
			return index, fmt.Errorf("reading the headers of a tar file: %w", file.err)
		case err != nil:
			index.Problem = untrusted.Cut(err.Error(), 200)
			return index, nil
		case sparse(header):
			index.Sparse++
			continue
		case header.Typeflag != tar.TypeReg:
			continue
		}
		named, _ := format.OfName(header.Name)
		m := Member{Name: header.Name, At: file.at, Bytes: header.Size, Picture: named.Kind == Image}
		if m.Bytes > size-m.At {
			index.Problem = untrusted.Cut(fmt.Sprintf("the file ends inside of its member %q", m.Name), 200)
			return index, nil
		}
		index.Members++
		if !visit(m) {
			index.More = true
			return index, nil
		}
	}
}

func sparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for name := range h.PAXRecords {
		if strings.HasPrefix(name, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// jumper reads a file for archive/tar, which between two headers asks for the last byte of a member, for the padding
// and for a block: 1024 bytes at most, so that one call serves all three.
type jumper struct {
	r    io.ReaderAt
	size int64
	at   int64
	from int64 // of what is in window
	have int
	err  error // of the file, not of what is in it

	window [1024]byte
}

func (j *jumper) Read(p []byte) (int, error) {
	if j.at >= j.size {
		return 0, io.EOF
	}
	if j.at < j.from || j.at >= j.from+int64(j.have) {
		n, err := j.r.ReadAt(j.window[:min(int64(len(j.window)), j.size-j.at)], j.at)
		j.from, j.have = j.at, n
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // it was longer
			}
			j.err = err
			return 0, err
		}
	}
	n := copy(p, j.window[j.at-j.from:j.have])
	j.at += int64(n)
	return n, nil
}

// Seek goes no further than the end.
func (j *jumper) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += j.at
	case io.SeekEnd:
		offset += j.size
	}
	if offset < 0 || offset > j.size {
		return j.at, fmt.Errorf("seeking to byte %d of %d", offset, j.size)
	}
	j.at = offset
	return offset, nil
}
