// Package hungmount makes a real mount that hangs, or answers wrongly, for tests: a FUSE server on raw /dev/fuse that
// never answers the operations it was told to hang in, while it answers all others, with the errors it was told to
// give. A process waiting for one of them is in state D and cannot be killed until the mount is released, just as with
// a dead NFS or FUSE server. It needs root.
package hungmount

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Op is a FUSE operation code of linux/fuse.h.
type Op uint32

// The operations that can be told to hang.
const (
	Lookup  Op = 1
	Getattr Op = 3
	Open    Op = 14
	Read    Op = 15
	Statfs  Op = 17
	Readdir Op = 28
)

// The others a mount of two entries meets.
const (
	opForget      Op = 2
	opRelease     Op = 18
	opInit        Op = 26
	Opendir       Op = 27
	opReleasedir  Op = 29
	opInterrupt   Op = 36
	opBatchForget Op = 42
)

// Names of the two entries at the root of the mount.
const (
	File   = "file"   // a regular file of FileBytes bytes, unless Serve says what is in it
	Folder = "folder" // an empty folder
)

// FileBytes is the size of File.
const FileBytes = 4096

const (
	rootNode   = 1
	fileNode   = 2
	folderNode = 3
)

// Mount is a mounted file system. Release ends it and wakes everybody who waits for it.
type Mount struct {
	dir    string
	device *os.File
	hang   map[Op]bool

	mu      sync.Mutex
	hanging int
	content []byte
	faults  []Fault
	asked   map[Op]int
	served  sync.WaitGroup
}

// Fault makes the mount answer wrongly.
type Fault struct {
	Op    Op
	Nth   int           // the first request of this kind, counted from 1, that is answered wrongly
	Times int           // how many are; 0: all from there on
	Errno syscall.Errno // the error; 0: the answer to a Read is cut to its half
}

// Serve makes content that of File. It is to be called before the mount is used.
func (m *Mount) Serve(content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.content = content
}

// Break adds a fault, and begins to count anew.
func (m *Mount) Break(faults ...Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults, m.asked = faults, map[Op]int{}
}

// fault returns the fault that the next request of a kind meets.
func (m *Mount) fault(op Op) (Fault, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[op]++
	for _, f := range m.faults {
		if n := m.asked[op]; f.Op == op && n >= max(f.Nth, 1) && (f.Times == 0 || n < max(f.Nth, 1)+f.Times) {
			return f, true
		}
	}
	return Fault{}, false
}

// Asked says how often an operation was asked for since the last Break.
func (m *Mount) Asked(op Op) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[op]
}

// Start mounts on dir, which must exist.
func Start(dir string, hang ...Op) (*Mount, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening /dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", fd, os.Getuid(), os.Getgid())
	if err := unix.Mount("hungmount", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("mounting on %s: %w", dir, err)
	}
	m := &Mount{dir: dir, device: os.NewFile(uintptr(fd), "/dev/fuse"), hang: map[Op]bool{},
		content: make([]byte, FileBytes), asked: map[Op]int{}}
	for _, op := range hang {
		m.hang[op] = true
	}
	m.served.Go(m.serve)
	return m, nil
}

// Hanging says how many requests wait for an answer that will not come.
func (m *Mount) Hanging() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hanging
}

// Release closes the connection, which ends every waiting call with an error, and takes the mount away.
func (m *Mount) Release() error {
	m.device.Close()
	m.served.Wait()
	if err := unix.Unmount(m.dir, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting %s: %w", m.dir, err)
	}
	return nil
}

// serve answers requests until the connection ends. The layouts are those of linux/fuse.h, protocol 7.31.
func (m *Mount) serve() {
	buffer := make([]byte, 1<<17)
	for {
		n, err := m.device.Read(buffer)
		if err != nil || n < 40 {
			return
		}
		order := binary.NativeEndian
		op, id, node := Op(order.Uint32(buffer[4:])), order.Uint64(buffer[8:]), order.Uint64(buffer[16:])
		switch {
		case op == opForget, op == opBatchForget, op == opInterrupt: // nobody waits for an answer
			continue
		case m.hang[op]:
			m.mu.Lock()
			m.hanging++
			m.mu.Unlock()
			continue
		}
		fault, broken := m.fault(op)
		errno, body := m.reply(op, node, buffer[40:n])
		switch {
		case broken && fault.Errno != 0:
			errno, body = fault.Errno, nil
		case broken && op == Read:
			body = body[:len(body)/2]
		}
		out := make([]byte, 16, 16+len(body))
		order.PutUint32(out[0:], uint32(16+len(body)))
		order.PutUint32(out[4:], uint32(-int32(errno)))
		order.PutUint64(out[8:], id)
		_, _ = m.device.Write(append(out, body...)) // a request that was interrupted meanwhile is refused: fine
	}
}

func (m *Mount) reply(op Op, node uint64, in []byte) (errno syscall.Errno, body []byte) {
	order := binary.NativeEndian
	switch op {
	case opInit: // struct fuse_init_out
		body = make([]byte, 64)
		order.PutUint32(body[0:], 7)
		order.PutUint32(body[4:], 31)
		order.PutUint32(body[20:], 1<<16) // max_write
		return 0, body
	case Lookup: // struct fuse_entry_out: node, generation, two life times, attributes
		body = make([]byte, 40, 128)
		switch string(in[:len(in)-1]) {
		case File:
			node = fileNode
		case Folder:
			node = folderNode
		default:
			return syscall.ENOENT, nil
		}
		order.PutUint64(body[0:], node)
		return 0, append(body, m.attributes(node)...)
	case Getattr: // struct fuse_attr_out: life time, attributes
		return 0, append(make([]byte, 16), m.attributes(node)...)
	case Open, Opendir: // struct fuse_open_out; FOPEN_DIRECT_IO so that every read reaches us
		body = make([]byte, 16)
		if op == Open {
			order.PutUint32(body[8:], 1)
		}
		return 0, body
	case Read:
		from := min(order.Uint64(in[8:]), uint64(len(m.content))) // struct fuse_read_in: handle, offset, size
		return 0, m.content[from:min(from+uint64(order.Uint32(in[16:])), uint64(len(m.content)))]
	case Readdir, opRelease, opReleasedir:
		return 0, nil
	case Statfs: // struct fuse_kstatfs
		body = make([]byte, 80)
		order.PutUint64(body[0:], 1000)
		order.PutUint64(body[8:], 500)
		order.PutUint64(body[16:], 500)
		order.PutUint32(body[40:], 4096)
		order.PutUint32(body[44:], 255)
		return 0, body
	}
	return syscall.ENOSYS, nil
}

// attributes builds a struct fuse_attr of 88 bytes.
func (m *Mount) attributes(node uint64) []byte {
	order := binary.NativeEndian
	body := make([]byte, 88)
	order.PutUint64(body[0:], node)
	mode := uint32(unix.S_IFDIR | 0o755)
	if node == fileNode {
		mode = unix.S_IFREG | 0o755 // so that it can be run, too
		order.PutUint64(body[8:], uint64(len(m.content)))
	}
	order.PutUint32(body[60:], mode)
	order.PutUint32(body[64:], 1)
	order.PutUint32(body[80:], 4096)
	return body
}
