package sampler

import (
	"bytes"
	"time"

	"github.com/pipetune/pipetune/internal/procfs"
)

// taker is the thread that takes a loader's batches for the main thread of a trainer, which waits for it in a lock: the
// one that PyTorch pins them in, or one of the job's own, a prefetcher. The zero value is none. PyTorch's is waited for
// as the job's own is, but its main thread may be in other locks, as for a device, while it has nothing to do. So they
// must be told apart, by their names: where PyTorch gives none (before 2.5), who is found is taken for PyTorch's.
type taker struct {
	thread   *watchedThread // nil: the main thread takes them, or nobody was found yet
	tid      int
	own      bool      // it is the job's own
	class    waitClass // of its last sample
	found    bool      // by a search, and not by its name
	reported bool
	pins     bool // PyTorch's was seen before: the main thread may wait for a new one that is not found yet

	pinned, taken sampleCounts // of PyTorch's, and of the job's own
	named         int          // PyTorch's, by package job, from its name; 0 = none
	names         bool         // it would have one: what else takes batches is the job's own

	// of the search
	asked    int // samples of the main thread in a lock since the threads were last searched
	next     time.Duration
	sockets  map[int]string // from which a thread was last found receiving
	mainRead int64          // characters, by the main thread, when it was last seen to read
	readAt   time.Duration  // when that was
}

// drop forgets the thread: it has ended, or its trainer.
func (k *taker) drop() {
	if k.thread != nil {
		k.thread.close()
	}
	k.thread, k.tid, k.reported = nil, 0, false
}

// waits reports whether the trainer waits for a batch, by its main thread, who takes batches for it, and whether its
// autograd thread runs. PyTorch's own code gives the wait for its pinning thread a time-out, which a thread that is
// refused does not show; it gives none to that for a backward pass. The job's own thread is waited for while it is not
// held up by a lock itself: it is where the queue between the two is full.
func (t *trainer) waits(main waitClass, backward bool) bool {
	k := &t.taker
	locked := main == classFutexTimed || main == classFutex
	switch {
	case main == classQueuePoll, main == classPipeRead:
		return true
	case k.thread == nil || !locked:
		return false
	case k.own:
		return !backward && k.class != classFutex && k.class != classFutexTimed
	}
	return main == classFutexTimed || t.main.blind != nil && !backward
}

// Searching the thread, where its name does not tell: it is the one beside the main one that does its work while the
// main one is in a futex, or in one with a time-out where PyTorch's is searched.
const (
	takerSearchEvery = 500 * time.Millisecond
	// samples of the main thread in a futex: a wait for Python's global lock is one, too, but short
	takerSearchAfter   = 3
	takerSearchThreads = 256 // threads sampled in one search
	// leastTaken is what the main thread reads at the least where it takes a batch, in bytes, as in package evidence.
	leastTaken = 100
	// takesNoneFor is how long it reads nothing where another thread takes the batches: steps are seldom longer, and
	// the warm-up of a watch of 20 s is.
	takesNoneFor = 2500 * time.Millisecond
)

// sampleTaker samples the thread that takes the batches, and searches it where the main thread waits as if there were
// one.
func (t *trainer) sampleTaker(l *Loader, now time.Duration, main waitClass) {
	k := &t.taker
	if k.thread != nil {
		class, ok := k.thread.sample(&l.scratch)
		wrong := k.own && now >= k.next && !t.takesNone(now)
		if k.class = class; ok && !wrong {
			return
		}
		k.drop()
	}
	if k.named != 0 && t.watchTaker(k.named, false, false) {
		return
	}
	if main == classFutexTimed || main == classFutex && (k.names || t.main.blind != nil) {
		k.asked++
	}
	if k.asked < takerSearchAfter || now < k.next {
		return
	}
	k.asked, k.next = 0, now+takerSearchEvery
	if k.names && !t.takesNone(now) {
		return
	}
	threads, err := t.main.proc.Threads(nil)
	if err != nil {
		return
	}
	for i, tid := range threads {
		if i == takerSearchThreads {
			return
		}
		if tid != t.id.PID && t.takes(l, tid) && t.watchTaker(tid, k.names, true) {
			return
		}
	}
}

// takesNone reports whether the main thread has taken no batch for a while. Where it takes them, another thread that
// waits for something else by a poll, as a client of a service does, would be mistaken for the one that does.
func (t *trainer) takesNone(now time.Duration) bool {
	k := &t.taker
	k.next = now + takerSearchEvery
	var io procfs.IO
	if t.main.task.IO(&io) != nil {
		return false
	}
	if io.ReadChars-k.mainRead >= leastTaken {
		k.mainRead, k.readAt = io.ReadChars, now
	}
	return now-k.readAt >= takesNoneFor
}

// takes takes one sample, not counted, at a thread of the trainer, and reports whether it is seen to take batches: it
// sits in the DataLoader's poll or, having no time for that, receives from one socket after another, as each tensor of
// a worker comes through one of its own.
func (t *trainer) takes(l *Loader, tid int) bool {
	task, err := t.main.proc.Task(tid)
	if err != nil {
		return false
	}
	var uncounted sampleCounts
	w := watchedThread{task: task, links: t.main.links, counts: &uncounted, trainer: true}
	defer w.close()
	class, ok := w.sample(&l.scratch)
	switch {
	case !ok:
		return false
	case class == classPipeRead && t.alive() > 0:
		socket, ok := t.main.links.Target(w.readFD)
		if !ok || !bytes.HasPrefix(socket, socketLink) {
			return false
		}
		last := t.taker.sockets[tid]
		t.taker.sockets[tid] = string(socket)
		return last != "" && last != t.taker.sockets[tid]
	}
	return class == classQueuePoll
}

func (t *trainer) watchTaker(tid int, own, found bool) bool {
	task, err := t.main.proc.Task(tid)
	if err != nil {
		return false
	}
	k := &t.taker
	counts := &k.pinned
	if own {
		counts = &k.taken
	}
	k.thread = &watchedThread{task: task, links: t.main.links, counts: counts, python: &t.python}
	clear(k.sockets)
	k.tid, k.own, k.found, k.class = tid, own, found, classQueuePoll
	k.pins = k.pins || !own
	return true
}
