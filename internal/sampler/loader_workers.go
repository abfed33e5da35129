package sampler

import (
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/pipetune/pipetune/internal/batches"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
)

// dataLoader is one DataLoader of a trainer: its workers, one set after the other, and what they hand over.
type dataLoader struct {
	number  int // among its trainer's
	entity  string
	workers []*loaderWorker
	had     bool          // has had workers
	since   time.Duration // when the first worker of the set was adopted
	order   int           // of the set, among all sets of the trainer
	idle    int           // workers that waited for work when they were last sampled
	joint   jointCounts
	change  changeover
	batches *batches.Loader
}

// loaderWorker is one worker of a trainer.
type loaderWorker struct {
	id       procfs.ID
	main     *watchedThread
	samples  sampleCounts
	loader   *dataLoader
	batches  *batches.Worker
	told     int  // the number of its loader that was reported
	reported bool // of, to a sink
	unlisted bool // it went from the tree, and is a member again if it comes back there; else it was found gone
}

func (t *trainer) addLoader(l *Loader) *dataLoader {
	d := &dataLoader{number: len(t.loaders), entity: job.LoaderEntity(t.id),
		batches: batches.New(l.fs, t.main.proc, t.main.links, t.inner)}
	if d.number > 0 {
		d.entity += "." + strconv.Itoa(d.number)
	}
	t.loaders = append(t.loaders, d)
	return d
}

// workers are those of all loaders.
func (t *trainer) workers() iter.Seq[*loaderWorker] {
	return func(yield func(*loaderWorker) bool) {
		for _, d := range t.loaders {
			for _, w := range d.workers {
				if !yield(w) {
					return
				}
			}
		}
	}
}

// alive is how many workers there are.
func (t *trainer) alive() (n int) {
	for _, d := range t.loaders {
		n += len(d.workers)
	}
	return n
}

func (t *trainer) adoptWorkers(l *Loader, now []job.Process) {
	if t.ended {
		return
	}
	for w := range t.workers() {
		if !listed(now, w.id) {
			w.main.gone, w.unlisted = true, true
		}
	}
	t.dropEnded(l, l.clock())
	t.left = slices.DeleteFunc(t.left, func(id procfs.ID) bool { return !listed(now, id) })
	var held pipes // by the trainer
	known := false
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
		if !known {
			held, known = pipesOf(t.main.links), true
		}
		w.main.remotes = t.remotes
		t.had = true
		d := t.loaderOf(l, w, p.Method, held)
		if len(d.workers) == 0 {
			t.sets++
			d.since, d.order = l.clock(), t.sets
		}
		d.add(l, w)
		w.batches = d.batches.Adopt(batches.Worker{Process: w.main.proc, Links: w.main.links, Inner: p.InnerPID},
			l.bornInWatch(p.ID))
	}
}

// add takes a worker into the loader's set.
func (d *dataLoader) add(l *Loader, w *loaderWorker) {
	if len(d.workers) == 0 || d.change.births > 0 {
		d.change.begun(l, w.id)
	}
	w.loader = d
	d.workers = append(d.workers, w)
	d.had = true
}

func listed(processes []job.Process, id procfs.ID) bool {
	return slices.ContainsFunc(processes, func(p job.Process) bool { return p.ID == id })
}

// knows reports whether a worker is watched, or was found gone before the job's tree has noticed.
func (t *trainer) knows(id procfs.ID) bool {
	same := func(w *loaderWorker) bool { return w.id == id }
	for w := range t.workers() {
		if same(w) {
			return true
		}
	}
	return slices.ContainsFunc(t.departed, same) ||
		slices.Contains(t.left, id) // a second time its counters would begin at nothing
}

// shortLivedPasses is how long after the death of a worker all workers' accounts are read at every sample: 60 s. What a
// worker did between the last reading and its end is lost, and with epochs of a second a tenth of a second of each
// would be much.
const shortLivedPasses = 3000

func (t *trainer) dropEnded(l *Loader, now time.Duration) {
	var ended []*dataLoader
	for _, d := range t.loaders {
		had := len(d.workers)
		d.workers = slices.DeleteFunc(d.workers, func(w *loaderWorker) bool {
			if w.main.gone {
				w.main.closeProcess()
				d.batches.Bury(w.batches)
				t.departed = append(t.departed, w)
				t.reborn = shortLivedPasses
			}
			return w.main.gone
		})
		left := len(d.workers)
		if left < had {
			d.change.gone(left == 0)
		}
		if left == 0 && had > 0 {
			ended = append(ended, d)
		}
	}
	for _, d := range ended {
		t.setEnded(l, d, now)
	}
}

// workersAPass bounds the samples of workers: 200 a second of all workers together, at 50 passes a second. Sixteen
// workers are sampled 12.5 times a second each, which tells their time together, 6,000 samples in 30 s, more closely
// than that of the trainer, 1,500. They are sampled all at once, so that a set of them in which some are idle and
// others busy is known from one in which all are.
const workersAPass = 4

// setEvery is in which of how many passes the workers are sampled.
func (t *trainer) setEvery() uint64 {
	return max(1, uint64(t.alive()+workersAPass-1)/workersAPass)
}

// sampleWorkers samples all workers, and counts the idle ones of each loader.
func (t *trainer) sampleWorkers(l *Loader, now time.Duration) {
	gone := false
	for _, d := range t.loaders {
		d.idle = 0
	}
	for w := range t.workers() {
		class, ok := w.main.sample(&l.scratch)
		if ok && w.main.blind == nil {
			w.samples.shows = true
			if (class == classFutex || class == classFutexTimed) && onShared(l.scratch.calls, &l.scratch.syscall) {
				w.samples.shared++
			}
		}
		if gone = gone || !ok; ok && class == classQueuePoll {
			w.loader.idle++
		}
	}
	if gone {
		t.dropEnded(l, now)
	}
}
