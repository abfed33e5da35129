package sampler

import (
	"bytes"
	"net/netip"
	"strconv"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// remotes are the peers of the TCP connections that a trainer and those that load for it were found waiting on.
type remotes struct {
	clock   func() time.Duration
	sockets map[uint64]*remote // by inode, of the last reading; nil where it was closed by then
	hosts   map[netip.AddrPort]*remote
	next    time.Duration // when the table of connections may be read again
}

// remote is one peer.
type remote struct {
	entity, address string
	samples         uint64
	reported        bool
}

const (
	// mostRemotes bounds the peers distinguished: those beyond it count as one. An object store's name has some eight
	// addresses at a time.
	mostRemotes = 32
	// mostSockets bounds the connections that are taken from one table, of all programs in the namespace.
	mostSockets = 4096
	// connectionsEvery and connectionsBudget bound how often the table is read, and the share of a core that takes. A
	// sample waits while it is read, and holds the Loader's lock: see sampleTries.
	connectionsEvery  = 100 * time.Millisecond
	connectionsBudget = 0.002
	// callFrame is the part of the stack that a C function just called and its callers up to Python use: a page, which
	// is a choice. A socket with a time-out polls an array of one there (CPython Modules/socketmodule.c,
	// internal_select; _ssl.c, PySSL_select), 56 bytes above the stack pointer in receives, accepts, TLS and HTTP
	// (Debian's Python 3.11); that of select.poll, and so of the DataLoader's queues, is on the heap, 36 MB and more
	// above it there.
	callFrame = 4096
)

// waitsRemote reports whether the thread that was just sampled sleeps for a TCP connection, and counts it. The class is
// corrected where it polls a socket and not a queue.
func (t *watchedThread) waitsRemote(scratch *sampleScratch, class waitClass) (_ waitClass, remote bool) {
	s := &scratch.syscall
	if s.Running || s.Number < 0 || class != classPipeRead && class != classQueuePoll && class != classOther {
		return class, false
	}
	fd, ok := int(int32(s.Args[0])), false
	switch scratch.calls.of(s.Number) {
	case callRead, callReceive:
		ok = t.received(classPipeRead) == classOther
	case callPoll, callPpoll:
		if scratch.pollFD == nil || s.Args[1] != 1 || s.Args[0]-s.SP > callFrame {
			return class, false
		}
		class = classOther
		if fd, ok = scratch.pollFD(t.task.TID, s.Args[0]); ok {
			ok = t.links.TCP(fd)
		}
	}
	if !ok {
		return class, false
	}
	if t.peer = t.remotes.of(t, fd); t.peer != nil {
		t.peer.samples++
	}
	return class, true
}

// ran counts the last sample as one at a thread that runs, for others of its process do.
func (t *watchedThread) ran(class waitClass) {
	t.counts.move(class, classRunning)
	if !t.onRemote {
		return
	}
	t.counts.remote--
	if t.peer != nil {
		t.peer.samples--
	}
}

// of returns the peer of a thread's descriptor; nil where it is not known, or not yet.
func (r *remotes) of(t *watchedThread, fd int) *remote {
	target, _ := t.links.Target(fd)
	number, isSocket := bytes.CutPrefix(target, socketLink)
	inode, err := strconv.ParseUint(string(bytes.Trim(number, "[]")), 10, 64)
	if !isSocket || err != nil {
		return nil
	}
	peer, asked := r.sockets[inode]
	began := r.clock()
	if asked || began < r.next {
		return peer
	}
	met := map[uint64]netip.AddrPort{}
	_ = t.proc.Peers(func(socket uint64, at netip.AddrPort) { // what cannot be read leaves the peer unknown
		if len(met) < mostSockets || socket == inode {
			met[socket] = at
		}
	})
	clear(r.sockets)
	r.sockets[inode] = nil // where it is closed by now
	if at, ok := met[inode]; ok {
		r.sockets[inode] = r.host(at)
	}
	for socket, at := range met {
		if h := r.hosts[at]; h != nil { // of another worker, to the same peer
			r.sockets[socket] = h
		}
	}
	r.next = began + max(connectionsEvery, time.Duration(float64(r.clock()-began)/connectionsBudget))
	return r.sockets[inode]
}

// host returns the account of a peer, or that of all peers beyond the bound.
func (r *remotes) host(at netip.AddrPort) *remote {
	address := untrusted.Message(at.String())
	if len(r.hosts) >= mostRemotes {
		at, address = netip.AddrPort{}, "others"
	}
	if r.hosts[at] == nil {
		r.hosts[at] = &remote{address: address}
	}
	return r.hosts[at]
}

func (r *remotes) emit(trainer procfs.ID, sink recording.Sink) {
	for _, h := range r.hosts {
		if h.samples == 0 {
			continue
		}
		if !h.reported {
			h.reported = true
			h.entity = job.RemoteEntity(trainer, h.address)
			sink.Event(recording.EventRemote, h.entity, map[string]string{"trainer": job.Entity(trainer),
				"address": h.address})
		}
		sink.Add(metric.RemoteSamples, h.entity, float64(h.samples))
	}
}
