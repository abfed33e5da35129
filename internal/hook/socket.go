package hook

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readSlice and readsPerSlice bound what a flood costs before any message is looked at: a datagram takes some 5 µs
	// to be read and dropped, so 2.5 % of one CPU. A second's worth is more than budgets let be looked at. What is not
	// read stays with its sender, whose call fails at once: the kernel queues net.unix.max_dgram_qlen datagrams, 10
	// unless told otherwise.
	readSlice     = 100 * time.Millisecond
	readsPerSlice = 500
)

// sender is who sent a datagram, or is at the other end of a connection, as the kernel says.
type sender struct {
	pid int // as this process sees it; 0 where it sees no such process
	uid uint32
}

// nobody is whom the kernel did not name.
var nobody = sender{uid: ^uint32(0)}

// socket receives datagrams, each with its sender.
type socket struct {
	conn *net.UnixConn
	buf  []byte
	oob  []byte
}

// bind makes the socket. Senders are identified by the kernel from the first datagram on: nobody knows of the path
// before the folder's owner tells.
func bind(dir string) (*socket, error) {
	name := filepath.Join(dir, socketName)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listening to the hook: %w", err)
	}
	s := &socket{conn: conn, buf: make([]byte, MaxMessage), oob: make([]byte, unix.CmsgSpace(unix.SizeofUcred))}
	raw, err := conn.SyscallConn()
	if err == nil {
		failed := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
		})
		err = cmp.Or(failed, err)
	}
	if err == nil {
		err = os.Chmod(name, 0o600)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("listening to the hook at %s: %w", name, err)
	}
	return s, nil
}

// receive waits for a datagram. Its bytes are valid until the next call. whole is false for one that was longer than
// MaxMessage. Descriptors that come with one are closed by the kernel: there is room for the sender and no more.
func (s *socket) receive() (data []byte, from sender, whole bool, err error) {
	n, oobn, flags, _, err := s.conn.ReadMsgUnix(s.buf, s.oob)
	if err != nil {
		return nil, sender{}, false, cmp.Or(errors.Unwrap(err), err) // which may be recorded: not the socket's path
	}
	return s.buf[:n], credentials(s.oob[:oobn]), flags&unix.MSG_TRUNC == 0, nil
}

// credentials reads the sender from a control message; one that the kernel did not name is nobody.
func credentials(oob []byte) sender {
	if len(oob) < unix.SizeofCmsghdr {
		return nobody
	}
	header, data, _, err := unix.ParseOneSocketControlMessage(oob)
	if err != nil || header.Level != unix.SOL_SOCKET || header.Type != unix.SCM_CREDENTIALS {
		return nobody
	}
	m := unix.SocketControlMessage{Header: header, Data: data}
	cred, err := unix.ParseUnixCredentials(&m)
	if err != nil {
		return nobody
	}
	return sender{pid: int(cred.Pid), uid: cred.Uid}
}
