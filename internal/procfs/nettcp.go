package procfs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
)

// maxTCPBytes bounds what is read of one table of connections: 28,000 lines of 150 bytes.
const maxTCPBytes = 4 << 20

// Peers calls visit for each TCP socket that has a peer in the process' network namespace, with the socket's inode
// number, which is that of the link "socket:[…]", and the peer (proc_pid_net(5): tcp, tcp6). Of a longer table the
// first 4 MiB are read, one piece at a time. The kernel walks all of its hash table, in 3.4 ms for each of the two
// where it has 262,144 slots and hardly a socket (Linux 6.18).
func (p *Process) Peers(visit func(inode uint64, peer netip.AddrPort)) error {
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		h, err := p.open(name)
		if errors.Is(err, ErrNoData) && name == "net/tcp6" {
			return nil // a kernel without IPv6
		}
		if err != nil {
			return err
		}
		err = eachPeer(io.LimitReader(h, maxTCPBytes), visit)
		h.close()
		if err != nil {
			return p.missing(classify(h.path, err))
		}
	}
	return nil
}

// eachPeer parses a table of connections. A line that is cut or of another shape is no connection.
func eachPeer(r io.Reader, visit func(inode uint64, peer netip.AddrPort)) error {
	lines := bufio.NewReaderSize(r, 32<<10)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			return malformed("net/tcp", "a line of 32 KiB")
		case err != nil:
			return err
		}
		if inode, peer, ok := parsePeer(bytes.TrimSuffix(line, newline)); ok {
			visit(inode, peer)
		}
	}
}

// parsePeer parses a line of net/tcp or net/tcp6; false for the heading and for a socket without a peer.
func parsePeer(line []byte) (inode uint64, peer netip.AddrPort, ok bool) {
	const remote, socket = 2, 9 // the fields
	var field []byte
	for i := 0; i <= socket; i++ {
		field, line = nextField(line)
		switch i {
		case remote:
			if peer, ok = parseEndpoint(field); !ok {
				return 0, peer, false
			}
		case socket:
			var n int64
			n, ok = parseCount(field)
			inode = uint64(n)
		}
	}
	return inode, peer, ok && inode > 0
}

// parseEndpoint parses "0100007F:1F90": the address in words of 32 bits, each as a number of this machine's byte order.
func parseEndpoint(b []byte) (netip.AddrPort, bool) {
	address, port, found := bytes.Cut(b, []byte(":"))
	number, ok := parseHex(port)
	if !found || !ok || number == 0 || number > 65535 || len(address) != 8 && len(address) != 32 {
		return netip.AddrPort{}, false
	}
	var raw [16]byte
	for i := 0; i < len(address)/8; i++ {
		word, ok := parseHex(address[8*i : 8*i+8])
		if !ok {
			return netip.AddrPort{}, false
		}
		binary.NativeEndian.PutUint32(raw[4*i:], uint32(word))
	}
	at, _ := netip.AddrFromSlice(raw[:len(address)/2])
	return netip.AddrPortFrom(at.Unmap(), uint16(number)), true
}
