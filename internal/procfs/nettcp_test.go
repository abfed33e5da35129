package procfs

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pipetune/pipetune/internal/must"
)

// TestPeers reads tables as the kernel writes them, in pieces, and takes what is cut or spoiled for no connection.
func TestPeers(t *testing.T) {
	table := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		// listens
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 " +
		"10 0\n   1: 0100007F:D431 0500000A:01BB 01 00000000:00000000 00:00000000 00000000  1000        0 77 1 0 20 " +
		// TIME_WAIT
		"4 30 10 -1\n   2: 0100007F:D432 0500000A:01BB 06 00000000:00000000 00:00000000 00000000     0        0 0 3 " +
		"0\n   3: 0100007F:D433 0500000:01BB 01 x\n   4: 0100007F\n" +
		"   5: 00000000000000000000000001000000:D431 000000000000000000000000010000000:18EB 01 0:0 0:0 0 0 0 79 1\n" +
		"   6: 00000000000000000000000001000000:D431 0000000000000000FFFF00000700A8C0:18EB 01 0:0 0:0 0 0 0 78 1\n" +
		"   7: 0100007F:D431 0500000A:01BB 01 0:0 0:0 0 0 0 80"
	got := map[uint64]string{}
	must.Do(t, eachPeer(iotest.OneByteReader(strings.NewReader(table)),
		func(inode uint64, peer netip.AddrPort) { got[inode] = peer.String() }))
	if len(got) != 2 || got[77] != "10.0.0.5:443" || got[78] != "192.168.0.7:6379" {
		t.Errorf("got %v", got)
	}
	if err := eachPeer(strings.NewReader(strings.Repeat("x", 64<<10)), func(uint64, netip.AddrPort) {}); err == nil {
		t.Error("a line without an end is taken")
	}
}

// TestOwnConnection finds a connection of this process among its descriptors and in its table.
func TestOwnConnection(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	conn := must.Get(net.Dial("tcp", listener.Addr().String()))(t)
	defer conn.Close()
	p := open(t, FS{}, os.Getpid())
	links := p.Links()
	defer links.Close()
	if links.TCP(0) {
		t.Error("the standard input is a connection")
	}
	raw := must.Get(conn.(*net.TCPConn).SyscallConn())(t)
	target, known := "", false
	if err := raw.Control(func(fd uintptr) {
		at, _ := links.Target(int(fd))
		target, known = string(at), links.TCP(int(fd))
	}); err != nil || !known {
		t.Errorf("%s is no connection (%v)", target, err)
	}
	found := false
	if err := p.Peers(func(inode uint64, peer netip.AddrPort) {
		found = found || fmt.Sprintf("socket:[%d]", inode) == target && peer.String() == listener.Addr().String()
	}); err != nil || !found {
		t.Errorf("%s is not in the table as one to %s (%v)", target, listener.Addr(), err)
	}
}

// BenchmarkPeers parses a table of 5,000 connections.
func BenchmarkPeers(b *testing.B) {
	var table strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&table, "%4d: 0100007F:D431 0500000A:01BB 01 00000000:00000000 00:00000000 00000000  1000        "+
			"0 %d 1 0000000000000000 20 4 30 10 -1\n", i, i+1)
	}
	for b.Loop() {
		must.Do(b, eachPeer(strings.NewReader(table.String()), func(uint64, netip.AddrPort) {}))
	}
}

func FuzzPeers(f *testing.F) {
	f.Add("   1: 0100007F:D431 0500000A:01BB 01 00000000:00000000 00:00000000 00000000  1000        0 77 1\n")
	f.Fuzz(func(t *testing.T, table string) {
		_ = eachPeer(strings.NewReader(table), func(inode uint64, peer netip.AddrPort) {
			if inode == 0 || !peer.IsValid() || peer.Port() == 0 {
				t.Errorf("socket %d has peer %v", inode, peer)
			}
		})
	})
}
