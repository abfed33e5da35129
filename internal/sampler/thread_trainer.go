package sampler

import (
	"bytes"
	"slices"
)

// What a descriptor's link begins with.
var (
	pipeLink   = []byte("pipe:")
	socketLink = []byte("socket:")
	// handOverLinks are of what others may hand a batch over by.
	handOverLinks = [][]byte{pipeLink, socketLink, []byte("anon_inode:[eventfd]")}
)

// deviceFiles begin the names of accelerators' device files: NVIDIA's and AMD's drivers, and Windows' GPUs in WSL2.
var deviceFiles = [][]byte{[]byte("/dev/nvidia"), []byte("/dev/dri/"), []byte("/dev/kfd"), []byte("/dev/dxg")}

func isDevice(target []byte) bool { return beginsWithOne(target, deviceFiles) }

func beginsWithOne(target []byte, beginnings [][]byte) bool {
	return slices.ContainsFunc(beginnings, func(b []byte) bool { return bytes.HasPrefix(target, b) })
}

// ofLoader corrects the class of a trainer's main thread that polls or receives, which may be for something else than
// a batch. The DataLoader's queues are pipes, and a tensor comes through a socket of this machine
// (multiprocessing/queues.py, resource_sharer.py); the upload of a checkpoint polls a socket with a time-out of
// seconds as well.
func (t *watchedThread) ofLoader(scratch *sampleScratch, class waitClass) waitClass {
	switch class {
	case classQueuePoll:
		if t.feeder {
			return class
		}
		target, ok := t.polled(scratch)
		switch {
		case !ok, bytes.HasPrefix(target, pipeLink):
			return class
		case isDevice(target):
			return classDevice
		}
		return classOther
	case classPipeRead:
		return t.received(class)
	}
	return class
}

// polled returns what the descriptor is that the thread polls, the first of several; false where it is not known.
func (t *watchedThread) polled(scratch *sampleScratch) (target []byte, ok bool) {
	if scratch.pollFD == nil {
		return nil, false
	}
	fd, ok := scratch.pollFD(t.task.TID, scratch.syscall.Args[0])
	if !ok {
		return nil, false
	}
	return t.links.Target(fd)
}

// pollsFeeders reports whether the main thread that was just sampled polls what others may hand a batch over by. What
// is neither a pipe, nor a socket, nor an event is none of that: a driver is polled for the end of the device's work.
func (t *watchedThread) pollsFeeders(scratch *sampleScratch, class waitClass) bool {
	if !t.polls(scratch, class) {
		return false
	}
	target, ok := t.polled(scratch)
	return !ok || beginsWithOne(target, handOverLinks)
}

// received is what a receive from a socket counts as. Which family the socket is of is known by the kernel function
// that the thread sleeps in; where it is hidden, the class stays.
func (t *watchedThread) received(class waitClass) waitClass {
	w, err := t.task.Wchan()
	if err == nil && slices.ContainsFunc(remoteReceives, func(f []byte) bool { return bytes.Contains(w, f) }) {
		return classOther
	}
	return class
}

// remoteReceives are parts of the kernel functions in which a thread waits for a connection to another machine:
// inet_stream_connect, tcp_recvmsg, sk_wait_data and, where the compiler joins them, their wait_woken;
// __skb_wait_for_more_packets and unix_stream_… are of sockets that a worker may hold.
var remoteReceives = [][]byte{[]byte("inet"), []byte("tcp_"), []byte("sk_wait"), []byte("wait_woken"), []byte("tls_")}
