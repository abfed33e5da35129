package openfiles

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openCounter counts the opens of a dataset's files: the kernel reports each (IN_OPEN, inotify(7)). Its descriptor is
// the only thing pipetune has on the dataset; the files are not opened.
//
// The kernel merges an event with an equal one that is last in the queue, so a watch on one file that is opened again
// and again counts almost nothing: 12 of 20,000 opens. Therefore a file is watched twice, by itself and by its folder:
// each open then queues two events that differ, and those of the next open are never equal to the last. Measured on
// Linux 6.18, 2 cores, some 2,000 opens a second: 8,000 of 8,000 with one process, 7,999 with two, 7,990 with four,
// 7,971 with sixteen.
type openCounter struct {
	fd    int
	owner map[int32]*dataset
	apart map[int32]bool // watches that only keep events apart
	buf   []byte
	seed  maphash.Seed
	// lost says that the kernel's queue was full, so that counts are too low from then on.
	lost bool
}

const (
	// maxDistinct bounds the set of names seen; 65,536 hashes take about 1 MiB.
	maxDistinct = 1 << 16
	// eventBuffer is read at once; an event is 16 bytes and a name.
	eventBuffer = 64 << 10
	// maxReads bounds the reads of one call: 64 × 64 KiB are some 100,000 opens, more than the kernel's queue holds
	// (fs.inotify.max_queued_events, 16,384 by default).
	maxReads = 64
)

func newOpenCounter() (*openCounter, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &openCounter{fd: fd, owner: map[int32]*dataset{}, apart: map[int32]bool{}, buf: make([]byte, eventBuffer),
		seed: maphash.MakeSeed()}, nil
}

// add counts the opens below the given paths for a dataset; what is opened at the paths in apart is not counted. It
// reports the first error, with nothing left behind.
func (c *openCounter) add(d *dataset, paths, apart []string) error {
	for i, p := range append(append([]string{}, paths...), apart...) {
		wd, err := unix.InotifyAddWatch(c.fd, p, unix.IN_OPEN|unix.IN_MASK_CREATE)
		switch {
		case errors.Is(err, unix.EEXIST):
			continue // it counts already, for a dataset beside this one
		case errors.Is(err, unix.ENOENT) && i > 0:
			continue // it was removed since it was listed
		case err != nil:
			c.remove(d)
			return err
		}
		c.owner[int32(wd)] = d
		c.apart[int32(wd)] = i >= len(paths)
	}
	return nil
}

func (c *openCounter) remove(d *dataset) {
	for wd, owner := range c.owner {
		if owner == d {
			_, _ = unix.InotifyRmWatch(c.fd, uint32(wd)) // the watch may be gone with its folder
			delete(c.owner, wd)
			delete(c.apart, wd)
		}
	}
}

// read takes what the kernel has queued and never waits.
func (c *openCounter) read() {
	for range maxReads {
		n, err := unix.Read(c.fd, c.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		c.take(c.buf[:n])
	}
}

// take counts the events in one buffer; a record that does not fit ends it.
func (c *openCounter) take(b []byte) {
	for len(b) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(b))
		mask := binary.NativeEndian.Uint32(b[unsafe.Offsetof(unix.InotifyEvent{}.Mask):])
		length := int(binary.NativeEndian.Uint32(b[unsafe.Offsetof(unix.InotifyEvent{}.Len):]))
		if length < 0 || length > len(b)-unix.SizeofInotifyEvent {
			return
		}
		name := b[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+length]
		b = b[unix.SizeofInotifyEvent+length:]
		switch d := c.owner[wd]; {
		case mask&unix.IN_Q_OVERFLOW != 0:
			c.lost = true
		case mask&unix.IN_IGNORED != 0:
			delete(c.owner, wd)
			delete(c.apart, wd)
		case d == nil || c.apart[wd] || mask&unix.IN_OPEN == 0 || mask&unix.IN_ISDIR != 0:
		default:
			d.opens++
			c.distinct(d, wd, name)
		}
	}
}

func (c *openCounter) distinct(d *dataset, wd int32, name []byte) {
	if len(d.names) >= maxDistinct {
		return
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	var key [4]byte
	binary.NativeEndian.PutUint32(key[:], uint32(wd))
	_, _ = h.Write(key[:]) // maphash never fails
	_, _ = h.Write(name)
	d.names[h.Sum64()] = struct{}{}
}

func (c *openCounter) close() {
	if c != nil && c.fd >= 0 {
		_ = unix.Close(c.fd) // nothing was written
		c.fd = -1
	}
}
