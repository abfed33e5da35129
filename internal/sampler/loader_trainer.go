package sampler

import (
	"net/netip"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
)

// trainer is one trainer with its workers, and the thread that takes their batches where that is not the main one.
type trainer struct {
	id          procfs.ID
	inner       int // its own number in its pid namespace
	main        *watchedThread
	mainSamples sampleCounts

	remotes     *remotes
	autograd    autogradThreads
	feeders     feeders
	hostRunning uint64 // samples in which the main thread or an autograd thread ran

	taker taker

	loaders  []*dataLoader          // by number; there is always one
	sets     int                    // of workers, of all loaders
	pipes    map[uint64]*dataLoader // whose workers brought them; nil: of workers that are gone
	departed []*loaderWorker        // gone since the last Sample
	left     []procfs.ID            // reported as departed; the tree may list them until they are collected
	ended    bool

	receiving   receiving
	isReceiving bool // at the last sample

	sinceSet uint64 // passes since the workers were last sampled
	emits    uint64 // calls of emit
	had      bool   // has had workers
	python   procfs.Statics
	barred   uint64 // samples of the main thread, waiting for Python's global lock as it receives a batch
	reborn   int    // passes left in which workers count as short-lived
}

func (l *Loader) newTrainer(p job.Process) (*trainer, error) {
	t := &trainer{id: p.ID, inner: p.InnerPID, taker: taker{sockets: map[int]string{}},
		pipes: map[uint64]*dataLoader{}}
	var err error
	if t.main, err = l.open(p.ID, &t.mainSamples); err != nil {
		return nil, err
	}
	t.addLoader(l)
	t.remotes = &remotes{clock: l.clock, sockets: map[uint64]*remote{}, hosts: map[netip.AddrPort]*remote{}}
	t.main.python = &t.python
	t.main.trainer, t.main.remotes = true, t.remotes
	t.feeders = feeders{threads: map[int]*listedThread{}, remotes: t.remotes}
	return t, nil
}

// open takes hold of a process and its main thread.
func (l *Loader) open(id procfs.ID, counts *sampleCounts) (*watchedThread, error) {
	proc, err := l.fs.OpenIDWith(id, &l.buf)
	if err != nil {
		return nil, err
	}
	task, err := proc.Task(id.PID)
	if err != nil {
		proc.Close()
		return nil, err
	}
	return &watchedThread{task: task, links: proc.Links(), counts: counts, proc: proc}, nil
}

// sample samples the trainer's threads and, in every pass or in some, its workers, back to back.
func (t *trainer) sample(l *Loader, now time.Duration) {
	if t.ended {
		return
	}
	main, ok := t.main.sample(&l.scratch)
	if !ok {
		t.end(l, now)
		return
	}
	of := t.polledLoader(&l.scratch, main)
	// a sleep is as likely a part of the step
	waits := handsOver(main) && main != classSleep || t.main.pollsFeeders(&l.scratch, main)
	t.sampleTaker(l, now, main)
	if main == classPipeRead && t.taker.thread == nil {
		t.receiving.waitedOn(t.main.readFD, now)
	}
	if (main == classRunning || main == classGIL) && t.taker.thread == nil && t.alive() > 0 &&
		t.receiving.now(t.main.links.Target, now) {
		if main == classGIL {
			t.barred++
		}
		t.mainSamples.move(main, classPipeRead)
		main = classPipeRead
	}
	backward := t.autograd.sample(&l.scratch)
	if backward || main == classRunning || main == classGIL {
		t.hostRunning++
	}
	if !t.had {
		t.feeders.listThreads(l, t, now)
		t.feeders.sample(&l.scratch, now, main == classRunning, waits && !backward)
	}
	waiting := t.waits(main, backward)
	t.isReceiving = main == classPipeRead
	var samples uint64 // of the trainer, that a sample of the workers stands for
	if t.sinceSet++; t.sinceSet >= t.setEvery() {
		samples, t.sinceSet = t.sinceSet, 0
		t.sampleWorkers(l, now)
	}
	// the thread that pins the next set's batches is a new one, and not found at once
	polls := main == classQueuePoll || main == classFutexTimed && t.taker.pins
	if of == nil {
		of = t.onlyAtWork()
	}
	for _, d := range t.loaders {
		alive := len(d.workers)
		d.change.sampled(now, t.main, main, polls, waiting && alive > 0)
		d.joint.main(waiting, alive > 0, d.had)
		if waiting && of == d && t.alive() > alive { // else nobody counts the wait but this one
			d.joint.here++
		}
		if samples > 0 {
			d.joint.set(waiting && (of == nil || of == d), d.idle, alive, samples)
		}
	}
}

// end closes a trainer that is gone. Its counts are handed over once more.
func (t *trainer) end(l *Loader, now time.Duration) {
	if t.ended {
		return
	}
	t.ended = true
	for w := range t.workers() {
		w.main.gone = true
	}
	t.dropEnded(l, now)
	t.taker.drop()
	t.autograd.close()
	t.feeders.close()
	t.main.closeProcess()
}
