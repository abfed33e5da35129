package sampler

import (
	"net/netip"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/batches"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
)

// trainer is one trainer with its workers, and the thread that takes their batches where that is not the main one.
type trainer struct {
	id          procfs.ID
	main        *watchedThread
	mainSamples sampleCounts

	remotes     *remotes
	autograd    autogradThreads
	feeders     feeders
	hostRunning uint64 // samples in which the main thread or an autograd thread ran

	taker taker

	workers  []*loaderWorker
	departed []*loaderWorker // gone since the last Sample
	left     []procfs.ID     // reported as departed; the tree may list them until they are collected
	ended    bool

	receiving   receiving
	isReceiving bool // at the last sample

	joint    jointCounts
	change   changeover
	sinceSet uint64 // passes since the workers were last sampled
	emits    uint64 // calls of emit
	had      bool   // has had workers
	python   procfs.Statics
	barred   uint64 // samples of the main thread, waiting for Python's global lock as it receives a batch
	reborn   int    // passes left in which workers count as short-lived
	batches  *batches.Loader
}

// loaderWorker is one worker of a trainer.
type loaderWorker struct {
	id       procfs.ID
	main     *watchedThread
	samples  sampleCounts
	batches  *batches.Worker
	rest     rest
	reported bool // of, to a sink
	unlisted bool // it went from the tree, and is a member again if it comes back there; else it was found gone
}

func (l *Loader) newTrainer(p job.Process) (*trainer, error) {
	t := &trainer{id: p.ID, taker: taker{sockets: map[int]string{}}}
	var err error
	if t.main, err = l.open(p.ID, &t.mainSamples); err != nil {
		return nil, err
	}
	t.batches = batches.New(l.fs, t.main.proc, t.main.links, p.InnerPID)
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

func (t *trainer) adoptWorkers(l *Loader, now []job.Process) {
	if t.ended {
		return
	}
	for _, w := range t.workers {
		if !listed(now, w.id) {
			w.main.gone, w.unlisted = true, true
		}
	}
	t.dropEnded()
	t.left = slices.DeleteFunc(t.left, func(id procfs.ID) bool { return !listed(now, id) })
	for _, p := range now {
		t.taker.names = t.taker.names || p.Named
		if t.knows(p.ID) {
			continue
		}
		w := &loaderWorker{id: p.ID}
		var err error
		if w.main, err = l.open(p.ID, &w.samples); err != nil {
			continue
		}
		if len(t.workers) == 0 || t.change.births > 0 {
			t.change.begun(l, p.ID)
		}
		w.main.remotes = t.remotes
		w.batches = t.batches.Adopt(batches.Worker{Process: w.main.proc, Links: w.main.links, Inner: p.InnerPID},
			l.bornInWatch(p.ID))
		t.workers = append(t.workers, w)
		t.had = true
	}
}

func listed(processes []job.Process, id procfs.ID) bool {
	return slices.ContainsFunc(processes, func(p job.Process) bool { return p.ID == id })
}

// knows reports whether a worker is watched, or was found gone before the job's tree has noticed.
func (t *trainer) knows(id procfs.ID) bool {
	same := func(w *loaderWorker) bool { return w.id == id }
	return slices.ContainsFunc(t.workers, same) || slices.ContainsFunc(t.departed, same) ||
		slices.Contains(t.left, id) // a second time its counters would begin at nothing
}

// shortLivedPasses is how long after the death of a worker all workers' accounts are read at every sample: 60 s. What a
// worker did between the last reading and its end is lost, and with epochs of a second a tenth of a second of each
// would be much.
const shortLivedPasses = 3000

func (t *trainer) dropEnded() {
	had := len(t.workers)
	t.workers = slices.DeleteFunc(t.workers, func(w *loaderWorker) bool {
		if w.main.gone {
			w.main.closeProcess()
			t.batches.Bury(w.batches)
			t.departed = append(t.departed, w)
			t.reborn = shortLivedPasses
		}
		return w.main.gone
	})
	if left := len(t.workers); left < had {
		t.change.gone(left == 0)
	}
}

// sample samples the trainer's threads and, in every pass or in some, its workers, back to back.
func (t *trainer) sample(l *Loader, now time.Duration) {
	if t.ended {
		return
	}
	main, ok := t.main.sample(&l.scratch)
	if !ok {
		t.end()
		return
	}
	// a sleep is as likely a part of the step
	waits := handsOver(main) && main != classSleep || t.main.pollsFeeders(&l.scratch, main)
	t.sampleTaker(l, now, main)
	if main == classPipeRead && t.taker.thread == nil {
		t.receiving.waitedOn(t.main.readFD, now)
	}
	if (main == classRunning || main == classGIL) && t.taker.thread == nil && len(t.workers) > 0 &&
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
		t.feeders.listThreads(t, now)
		t.feeders.sample(&l.scratch, now, main == classRunning, waits && !backward)
	}
	waiting := t.waits(main, backward)
	t.isReceiving = main == classPipeRead
	var idle, alive int
	var samples uint64
	if t.sinceSet++; t.sinceSet >= t.setEvery() {
		samples, t.sinceSet = t.sinceSet, 0
		idle, alive = t.sampleWorkers(l, now)
	}
	// the thread that pins the next set's batches is a new one, and not found at once
	polls := main == classQueuePoll || main == classFutexTimed && t.taker.pins
	t.change.sampled(now, t.main, main, polls, waiting && len(t.workers) > 0)
	t.joint.main(waiting, len(t.workers) > 0, t.had)
	t.joint.set(waiting, idle, alive, samples)
}

// workersAPass bounds the samples of workers: 200 a second of all workers together, at 50 passes a second. Sixteen
// workers are sampled 12.5 times a second each, which tells their time together, 6,000 samples in 30 s, more closely
// than that of the trainer, 1,500. They are sampled all at once, so that a set of them in which some are idle and
// others busy is known from one in which all are.
const workersAPass = 4

// setEvery is in which of how many passes the workers are sampled.
func (t *trainer) setEvery() uint64 {
	return max(1, uint64(len(t.workers)+workersAPass-1)/workersAPass)
}

// sampleWorkers samples all workers and returns how many are idle, and how many there are, the dormant ones left out.
func (t *trainer) sampleWorkers(l *Loader, now time.Duration) (idle, alive int) {
	dormant, gone := 0, false
	for _, w := range t.workers {
		class, ok := w.main.sample(&l.scratch)
		if ok && w.main.blind == nil {
			w.samples.shows = true
			if (class == classFutex || class == classFutexTimed) && onShared(l.scratch.calls, &l.scratch.syscall) {
				w.samples.shared++
			}
		}
		switch {
		case !ok:
			gone = true
		case class != classQueuePoll:
			w.rest.still, w.rest.others, w.rest.dormant = 0, 0, false
		case w.rest.dormant:
			dormant++
		default:
			idle++
		}
	}
	if gone {
		t.dropEnded()
	}
	alive = len(t.workers) - dormant
	if alive == 0 { // nothing to tell one loader from the other by
		return dormant, dormant
	}
	return idle, alive
}

// end closes a trainer that is gone. Its counts are handed over once more.
func (t *trainer) end() {
	if t.ended {
		return
	}
	t.ended = true
	for _, w := range t.workers {
		w.main.gone = true
	}
	t.dropEnded()
	t.taker.drop()
	t.autograd.close()
	t.feeders.close()
	t.main.closeProcess()
}
