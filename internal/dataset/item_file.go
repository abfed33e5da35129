package dataset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
)

// plainFile is a regular file that is read by pread(2), so that no position is shared and no page is mapped: one that
// shrinks gives an error, not SIGBUS.
type plainFile struct {
	fd   int
	path string
	size int64 // when it was opened
	seen int64 // when the dataset was looked through; never more than it should have now
}

var errNotRegular = errors.New("not a regular file")

// openPlain opens without waiting for the other end of a FIFO and without taking a terminal.
func openPlain(f File) (*plainFile, error) {
	p := &plainFile{path: string(f.Path), seen: f.Bytes}
	err := isolate.Persist(func() (err error) {
		p.fd, err = unix.Open(p.path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, p.failed("open", err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(p.fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotRegular
	}
	if err != nil {
		_ = p.Close() // nothing was written
		return nil, p.failed("open", err)
	}
	p.size = st.Size
	return p, nil
}

func (p *plainFile) failed(doing string, err error) error {
	return &fs.PathError{Op: doing, Path: p.path, Err: err}
}

func (p *plainFile) Close() error {
	if err := unix.Close(p.fd); err != nil && !errors.Is(err, unix.EINTR) { // Linux closes it all the same
		return p.failed("close", err)
	}
	return nil
}

// ReadAt fills buf. A file that ends before that gives io.ErrUnexpectedEOF.
func (p *plainFile) ReadAt(buf []byte, at int64) (int, error) {
	done := 0
	for done < len(buf) {
		n, err := unix.Pread(p.fd, buf[done:], at+int64(done))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil && n == 0:
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return done, p.failed("read", err)
		}
		done += n
	}
	return done, nil
}

// read delivers some bytes of the file, in buf where they fit. The size is checked before a buffer is made for it.
func (p *plainFile) read(buf []byte, at, size int64) ([]byte, error) {
	if at < 0 || at > max(p.size, p.seen)-size {
		return nil, p.failed("read", io.ErrUnexpectedEOF)
	}
	buf, err := p.room(buf, size)
	if err != nil {
		return nil, err
	}
	if _, err := p.ReadAt(buf, at); err != nil {
		return nil, err
	}
	return buf, nil
}

// room is buf with the length of an item.
func (p *plainFile) room(buf []byte, size int64) ([]byte, error) {
	switch {
	case size < 0 || size > MaxItemBytes:
		return nil, p.failed("read", fmt.Errorf("an item of %d bytes; at most %d are read", size, int64(MaxItemBytes)))
	case int64(cap(buf)) < size:
		return make([]byte, size), nil
	}
	return buf[:size], nil
}

// plainly is how files of a kind are opened whose items are read by pread(2), with nothing else to look at first.
func plainly(handle func(Source, *plainFile) Handle) func(Source, File) (Handle, error) {
	return func(s Source, f File) (Handle, error) {
		p, err := openPlain(f)
		if err != nil {
			return nil, err
		}
		return handle(s, p), nil
	}
}

// whole is a file that is one item.
type whole struct{ *plainFile }

// Read delivers the whole file, as long as it was when it was opened.
func (w whole) Read(_ Ref, buf []byte) ([]byte, error) {
	return w.read(buf, 0, max(w.size, w.seen))
}

// Frame says that nothing goes before the items.
func (p *plainFile) Frame() (size int64, head []byte, err error) { return p.size, nil, nil }
