package sampler

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
)

// Whose worker is it, of a trainer that goes over several DataLoaders, as zip does, or that keeps those of its
// evaluation alive? The pipes tell. A worker shares some with its trainer that nobody had before it: its index queue,
// and those by which each of them would notice the other's end (multiprocessing/popen_fork.py and its like). The first
// worker of a loader brings one more, the queue of the results, which each worker of that loader shares. A forked one
// inherits those of older loaders as well, others do not (PyTorch 1.13 to 2.15).

// bringsOfOwn is how many pipes each worker brings; one that brings more is the first of its loader. One of the two by
// which an end is noticed is the forkserver's, of all its workers.
func bringsOfOwn(method job.StartMethod) int {
	if method == job.Forkserver {
		return 2
	}
	return 3
}

// pipesListed bounds the descriptors that are looked through for pipes: 2 ms. A trainer that has more is taken to have
// one loader.
const pipesListed = 1024

// succeedsWithin is how long before the end of a set the one that takes its place may be born: a loop that makes its
// next iterators before it lets go of the last ones does so as fast as it can: the birth of a worker takes 5 to 14 ms,
// the end of a set 7 to 30 (see atOnce), which leaves room for sets of 64. An evaluation within an epoch ends before
// the epoch's workers do, and what is gone over beside a loader is born soon after it.
const succeedsWithin = time.Second

// pipes are those that a process holds, by the numbers of their inodes; nil where they are not known.
type pipes []uint64

func pipesOf(links *procfs.FDLinks) pipes {
	found := pipes{}
	total, err := links.Each(pipesListed, func(_ int, target []byte) {
		if n, ok := pipeNumber(target); ok && !slices.Contains(found, n) {
			found = append(found, n)
		}
	})
	if err != nil || total > pipesListed {
		return nil
	}
	return found
}

// pipeNumber is the number of the inode in a link "pipe:[…]".
func pipeNumber(target []byte) (uint64, bool) {
	if !bytes.HasPrefix(target, pipeLink) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(bytes.Trim(target[len(pipeLink):], "[]")), 10, 64)
	return n, err == nil
}

// loaderOf says which loader a new worker is of: of one that has no workers where it brings a queue of results, else of
// the youngest of which it holds pipes. Where its pipes are not known, all are of one.
func (t *trainer) loaderOf(l *Loader, w *loaderWorker, method job.StartMethod, held pipes) *dataLoader {
	var brought []uint64
	var loader *dataLoader
	for _, n := range pipesOf(w.main.links) {
		d, known := t.pipes[n]
		switch {
		case !slices.Contains(held, n):
		case !known:
			brought = append(brought, n)
		case d != nil && (loader == nil || d.order > loader.order):
			loader = d
		}
	}
	if first := len(brought) > bringsOfOwn(method); first || loader == nil {
		loader = t.unused(l, first)
	}
	for _, n := range brought {
		t.pipes[n] = loader
	}
	return loader
}

// unused is the first loader without workers; the first of all where it is not known that there are others.
func (t *trainer) unused(l *Loader, known bool) *dataLoader {
	for _, d := range t.loaders {
		if len(d.workers) == 0 || !known {
			return d
		}
	}
	return t.addLoader(l)
}

// setEnded forgets what the last set of a loader brought, and puts the set in its place that was born for it while it
// was still there.
func (t *trainer) setEnded(l *Loader, d *dataLoader, now time.Duration) {
	held := pipesOf(t.main.links)
	for n, of := range t.pipes { // what the trainer still holds, others inherit: it is nobody's
		if of != nil && of != d {
			continue
		}
		if t.pipes[n] = nil; !slices.Contains(held, n) {
			delete(t.pipes, n)
		}
	}
	for _, next := range t.loaders {
		before := now - next.since
		if next.number < d.number || len(next.workers) == 0 || before > min(succeedsWithin, next.since-d.since) {
			continue
		}
		workers := next.workers
		next.workers, d.since, d.order = nil, next.since, next.order
		d.idle, next.idle = next.idle, 0
		next.change.forget()
		for _, w := range workers {
			d.add(l, w)
			d.batches.Take(w.batches, next.batches)
		}
		for n, of := range t.pipes {
			if of == next {
				t.pipes[n] = d
			}
		}
		return
	}
}

// onlyAtWork is the one of several loaders whose workers had work when they were last sampled, which a trainer that
// waits waits for: it may do so behind a thread that pins its batches. nil where several had, or none.
func (t *trainer) onlyAtWork() (only *dataLoader) {
	if len(t.loaders) < 2 {
		return nil
	}
	for _, d := range t.loaders {
		switch {
		case d.idle >= len(d.workers):
		case only != nil:
			return nil
		default:
			only = d
		}
	}
	return only
}

// polledLoader is the loader whose results the main thread waits for; nil where it does not, or that is not known.
func (t *trainer) polledLoader(scratch *sampleScratch, main waitClass) *dataLoader {
	if main != classQueuePoll || len(t.loaders) < 2 || t.main.blind != nil {
		return nil
	}
	target, ok := t.main.polled(scratch)
	if !ok {
		return nil
	}
	n, _ := pipeNumber(target)
	return t.pipes[n]
}
