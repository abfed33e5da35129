package procfs

import (
	"bytes"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FDLinks lists the descriptors of one process again and again, for a caller
// that looks some ten times a second. It keeps the folder open and allocates
// nothing once warm. Use it from one goroutine; Close it before its Process.
type FDLinks struct {
	p    *Process
	dir  *hotFile
	nums []int
	link [4096]byte
}

// Links prepares a repeated listing of the process' descriptors.
func (p *Process) Links() *FDLinks { return &FDLinks{p: p} }

// Close gives the folder's descriptor back. It may be called more than once.
func (l *FDLinks) Close() {
	l.dir.close()
	l.dir = nil
}

// Each calls visit with the number and target of at most limit descriptors,
// and returns how many there are in all. Links are read, never followed. The
// target is valid during the call only, and unclean.
func (l *FDLinks) Each(limit int, visit func(num int, target []byte)) (total int, err error) {
	if err := l.open(); err != nil {
		return 0, l.p.missing(err)
	}
	if err := rewind(l.dir.fd); err != nil {
		return 0, l.p.missing(classify(l.dir.path, err))
	}
	// Listing makes the kernel look up each descriptor (19,000: 28 ms), so it stops at the limit where the folder's
	// size is the count, and goes on counting only before Linux 6.2.
	var st unix.Stat_t
	counted := l.p.onProc && fstat(l.dir.fd, &st) && st.Size > 0
	if l.nums, total, err = l.dir.numericNames(l.nums[:0], l.p.buf, limit, counted); err != nil {
		return 0, l.p.missing(err)
	}
	if counted && len(l.nums) >= limit {
		total = max(int(st.Size), total)
	}
	if total == 0 {
		// A process without any descriptor is possible and rare; one that ended
		// while its folder was held open lists empty.
		var s Stat
		if err := l.p.Stat(&s); err != nil {
			return 0, err
		}
	}
	for _, num := range l.nums {
		if n, ok := readlinkNumber(l.dir.fd, num, l.link[:]); ok {
			visit(num, l.link[:n])
		}
	}
	return total, nil
}

// Target returns where one descriptor points. It is valid until the next call.
func (l *FDLinks) Target(num int) ([]byte, bool) {
	if l.open() != nil {
		return nil, false
	}
	n, ok := readlinkNumber(l.dir.fd, num, l.link[:])
	return l.link[:n], ok
}

// SharedMemoryBytes is Process.SharedMemoryBytes for a descriptor that Each has
// just shown to lie below /dev/shm: the link is read again before it is
// followed, because the number may point elsewhere by now.
func (l *FDLinks) SharedMemoryBytes(num int) (int64, bool) {
	target, ok := l.Target(num)
	if !ok || !inSharedMemory(target) {
		return 0, false
	}
	var st unix.Stat_t
	if err := unix.Fstatat(l.dir.fd, strconv.Itoa(num), &st, 0); err != nil {
		return 0, false
	}
	return st.Size, true
}

// TCP reports whether a descriptor is a socket of TCP, by the name that the kernel gives its protocol (net/socket.c,
// sockfs_xattr_get; lsof reads it too). 4 µs.
func (l *FDLinks) TCP(num int) bool {
	if target, ok := l.Target(num); !ok || !bytes.HasPrefix(target, []byte("socket:")) {
		return false
	}
	var name [16]byte
	n, err := unix.Getxattr("/proc/self/fd/"+strconv.Itoa(l.dir.fd)+"/"+strconv.Itoa(num), "system.sockprotoname",
		name[:])
	return err == nil && bytes.HasPrefix(name[:n], []byte("TCP"))
}

func (l *FDLinks) open() (err error) {
	if l.dir == nil {
		l.dir, err = openHotAt(l.p.dirfd, "fd", l.p.path+"/fd", false)
	}
	return err
}

// readlinkNumber is readlinkat(2) for a name that is a number, without the
// allocations of unix.Readlinkat and, as pread, without telling Go's scheduler.
func readlinkNumber(dirfd, num int, dst []byte) (int, bool) {
	var name [24]byte
	strconv.AppendInt(name[:0], int64(num), 10) // the rest stays zero and ends the name
	n, _, errno := unix.RawSyscall6(unix.SYS_READLINKAT, uintptr(dirfd), uintptr(unsafe.Pointer(&name[0])),
		uintptr(unsafe.Pointer(&dst[0])), uintptr(len(dst)), 0, 0)
	if errno != 0 || int(n) > len(dst) {
		return 0, false
	}
	return int(n), true
}
