package sampler

import (
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
)

const (
	inReceiveOf5 = "45 0x5 0x7f 0x4000 0x0 0x0 0x0 0x7ffd0000 0x7f05\n"
	// A socket with a time-out of 60 s polls an array on its own stack.
	inSocketPoll = "7 0x7ffd0040 0x1 0xea60 0x0 0x0 0x0 0x7ffd0000 0x7f05\n"
	heading      = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	toStore      = "   1: 0100007F:D431 0500000A:01BB 01 00000000:00000000 00:00000000 00000000  1000        0 77 1 " +
		"0 20 4 30 10 -1\n"
	toCache = "   0: 00000000000000000000000001000000:D431 0000000000000000FFFF00000700A8C0:18EB 01 " +
		"00000000:00000000 00:00000000 00000000  1000        0 78 1 0\n"
)

// TestWaitsOnConnections: workers that receive are at work for the peers that the table names; one that polls a socket,
// as boto3 does, is not idle.
func TestWaitsOnConnections(t *testing.T) {
	m := newJob(t, 4)
	for pid, call := range map[int]string{101: inReceiveOf5, 102: inReceiveOf5, 103: inQueuePoll, 104: inSocketPoll} {
		m.thread(pid, pid, call, "wait_woken", 'S')
		m.link(pid, 5, "socket:[77]")
		m.put(pid, "net/tcp", heading+toStore)
		m.put(pid, "net/tcp6", heading+toCache)
	}
	m.link(102, 5, "socket:[78]")
	w := m.watch()
	w.scratch.pollFD = func(int, uint64) (int, bool) { return 5, true }
	w.samples(20)
	b := w.book()
	b.want(t, "process/101.1010", map[metric.Desc]float64{metric.ThreadRemote: 20, metric.ThreadPipeRead: 20})
	b.want(t, "process/104.1040", map[metric.Desc]float64{metric.ThreadQueuePoll: 0, metric.ThreadOther: 20})
	b.want(t, "process/103.1030", map[metric.Desc]float64{metric.ThreadRemote: 0, metric.ThreadQueuePoll: 20})
	if got := b.get(t, metric.RemoteSamples, "remote/100.1000.10.0.0.5:443"); got < 13 {
		t.Errorf("%v of 20 samples of who waits for the store name it", got)
	}
	if got := b.get(t, metric.RemoteSamples, "remote/100.1000.192.168.0.7:6379"); got < 13 {
		t.Errorf("%v of 20 samples of who waits for the cache name it", got)
	}
}

// TestConnectionsAreBounded: each sample finds another socket, and the table of connections is read ten times a second
// at most.
func TestConnectionsAreBounded(t *testing.T) {
	m := newJob(t, 1)
	m.thread(101, 101, inReceiveOf5, "wait_woken", 'S')
	m.put(101, "net/tcp", heading)
	w := m.watch()
	readings, last := 0, time.Duration(-1)
	for i := range 100 {
		m.link(101, 5, "socket:["+string(rune('1'+i%9))+string(rune('0'+i/9%10))+string(rune('0'+i/90))+"]")
		w.samples(1)
		if next := w.trainers[0].remotes.next; next != last {
			readings, last = readings+1, next
		}
	}
	r := w.trainers[0].remotes
	if want := int(100 * SampleInterval / connectionsEvery); readings < want/2 || readings > want ||
		len(r.sockets) != 1 {
		t.Errorf("%d readings in %v, want at most %d; %d sockets kept", readings, 100*SampleInterval, want,
			len(r.sockets))
	}
	b := w.book()
	b.want(t, "process/101.1010", map[metric.Desc]float64{metric.ThreadRemote: 100})
	if len(r.hosts) != 0 {
		t.Errorf("peers out of an empty table: %v", r.hosts)
	}
}
