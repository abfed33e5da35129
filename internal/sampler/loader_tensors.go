package sampler

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/procfs"
)

// buriedLedgers is how many ledgers of workers that are gone are kept to find the tensors per batch of a job with short epochs.
const buriedLedgers = 32

// tensorFlow adds up what the workers of one trainer hand over.
type tensorFlow struct {
	inner  int // the trainer's own number in its pid namespace
	buried []buriedLedger

	folder  *tensorFolder // where the file_system sharing strategy is in use
	noFiles bool          // /dev/shm was listed in vain

	period          tensorPeriod
	writesPerTensor float64 // 0 = not known yet
	tensors         float64 // handed over since the watch began
	batches         float64
	batchBytes      int64 // 0 = not known
	sighted         bool  // some tensor was seen

	pickled pickledFlow

	passing   int // listings made while a batch was on its way
	estimates int // calls of estimate
}

// calibrateEvery is how many estimates share a calibration once the tensors per batch are known: one a second.
const calibrateEvery = 4

// buriedLedger is the ledger of a worker that is gone.
type buriedLedger struct {
	of     procfs.ID
	ledger *tensorLedger
}

// ledgerOf begins the ledger of a worker, or takes up that of one that was lost and is found again: what it handed over before is
// credited already.
func (f *tensorFlow) ledgerOf(l *Loader, id procfs.ID) *tensorLedger {
	for i, b := range f.buried {
		if b.of == id {
			f.buried = slices.Delete(f.buried, i, i+1)
			return b.ledger
		}
	}
	return &tensorLedger{born: l.bornInWatch(id)}
}

// bury takes a last account of a worker that is gone.
func (f *tensorFlow) bury(id procfs.ID, l *tensorLedger) {
	f.add(l, l.finish(f.writesPerTensor, f.period.tensors))
	f.pickled.credit(l)
	if len(f.buried) == buriedLedgers {
		copy(f.buried, f.buried[1:])
		f.buried = f.buried[:buriedLedgers-1]
	}
	f.buried = append(f.buried, buriedLedger{id, l})
}

func (f *tensorFlow) add(l *tensorLedger, grown float64) {
	f.sighted = f.sighted || l.sighted
	f.tensors += grown
	if f.period.tensors > 0 {
		f.batches += grown / float64(f.period.tensors)
	}
}

// accountEvery is how often a worker's calls are counted, in looks: ten times a second.
const accountEvery = 5

// accounts reads the workers' counts of calls, each worker at every fifth look and in turn, so that no look is much dearer than others.
func (l *Loader) accounts() {
	for _, t := range l.trainers {
		if t.reborn > 0 {
			t.reborn--
		}
		for i, w := range t.workers {
			if t.reborn > 0 || (l.passes+uint64(i))%accountEvery == 0 {
				w.readIO()
			}
		}
	}
}

// listDue lists the descriptors of the worker whose turn it is, or the folder of shared memory.
func (l *Loader) listDue(now time.Duration) {
	for _, t := range l.trainers {
		t.listPassing()
	}
	if now < l.listing.next {
		return
	}
	count := 0
	for _, t := range l.trainers {
		count += len(t.workers)
	}
	if count == 0 {
		return
	}
	l.listing.turn = (l.listing.turn + 1) % count
	turn, searching := l.listing.turn, false
	for _, t := range l.trainers {
		if turn >= len(t.workers) {
			turn -= len(t.workers)
			continue
		}
		if t.tensors.folder != nil {
			t.tensors.folder.list(t.workers)
		} else {
			t.workers[turn].list(t.tensors.inner)
			t.listReceived()
		}
		searching = t.tensors.sighted && t.tensors.period.tensors == 0
		break
	}
	l.listing.after(now, l.clock()-now, count, searching, l.pace.random)
}

// A starved loader's tensors live for milliseconds, so hardly a listing at a fixed pace meets one. While the tensors per batch are not
// known, some workers are listed whenever the trainer is seen receiving: then one of them holds a batch.
const (
	passingWorkers  = 4
	passingListings = 400
)

// listPassing lists the next few workers while a batch is on its way.
func (t *trainer) listPassing() {
	f := &t.tensors
	if !t.isReceiving || f.period.tensors > 0 || f.folder != nil || f.passing >= passingListings {
		return
	}
	for range min(passingWorkers, len(t.workers)) {
		f.passing++
		t.workers[f.passing%len(t.workers)].list(f.inner)
	}
}

// run is what the trainer holds of one worker's tensors.
type run struct {
	smallest, largest int64
	count             int64
}

// listReceived looks for workers' tensors among the trainer's own descriptors: it keeps those of the batch it is working on. A starved
// loader's tensors stay with their worker for a millisecond and with the trainer for the whole step.
func (t *trainer) listReceived() {
	if t.links == nil {
		return
	}
	clear(t.runs)
	if t.runs == nil {
		t.runs = map[int]run{}
	}
	// What goes wrong here is told by the looks at the same process.
	_, _ = t.links.Each(listLimit, func(fd int, target []byte) {
		name, ok := parseTensorName(target)
		if !ok {
			return
		}
		w := t.workerNamed(name.pid)
		if w == nil {
			return
		}
		if w.ledger.size(name.number) == 0 {
			if size, ok := t.links.SharedMemoryBytes(fd); ok && size > 0 {
				w.ledger.setSize(name.number, size)
			}
		}
		r, held := t.runs[name.pid]
		if !held {
			r = run{smallest: name.number, largest: name.number}
		}
		r.smallest, r.largest, r.count = min(r.smallest, name.number), max(r.largest, name.number), r.count+1
		t.runs[name.pid] = r
	})
	for pid, r := range t.runs {
		w := t.workerNamed(pid)
		w.readIO()
		w.ledger.received(r.smallest, r.largest, r.count == r.largest-r.smallest+1)
	}
}

// workerNamed finds a worker by the number it knows itself by, which names its tensors.
func (t *trainer) workerNamed(inner int) *loaderWorker {
	for _, w := range t.workers {
		if w.inner == inner {
			return w
		}
	}
	return nil
}

// list looks for tensors among the worker's descriptors. trainer is the trainer's number as the job knows it.
func (w *loaderWorker) list(trainer int) {
	if w.fdErr != nil {
		return
	}
	w.readIO()
	ledger := w.ledger
	ledger.startListing()
	smallest, largest := int64(-1), int64(-1)
	_, err := w.links.Each(listLimit, func(fd int, target []byte) {
		if bytes.HasPrefix(target, []byte("socket:")) {
			w.socket = true
			return
		}
		name, ok := parseTensorName(target)
		switch {
		case !ok:
		case name.pid == w.inner:
			n := name.number
			size := ledger.size(n)
			if size == 0 {
				size, _ = w.links.SharedMemoryBytes(fd)
				if size > 0 {
					ledger.setSize(n, size)
				}
			}
			ledger.hold(size)
			if smallest < 0 || n < smallest {
				smallest = n
			}
			largest = max(largest, n)
		case name.pid == trainer:
			ledger.inherit(name.number)
		}
	})
	if err != nil {
		if !errors.Is(err, procfs.ErrGone) {
			w.fdErr = err
		}
		return
	}
	ledger.endListing(smallest, largest)
}

func (f *tensorFlow) ledgers(workers []*loaderWorker) []*tensorLedger {
	all := make([]*tensorLedger, 0, len(f.buried)+len(workers))
	for _, b := range f.buried {
		all = append(all, b.ledger)
	}
	for _, w := range workers {
		all = append(all, w.ledger)
	}
	return all
}

// estimate brings the flow of tensors up to date; it is called with each Sample, four times a second.
func (t *trainer) estimate(fs procfs.FS) {
	f := &t.tensors
	settle(t.workers)
	all := f.ledgers(t.workers)
	if f.estimates%calibrateEvery == 0 || f.period.tensors == 0 {
		for _, w := range t.workers {
			w.lookForPrograms()
		}
		f.calibrate(all)
	}
	f.estimates++
	for _, w := range t.workers {
		f.add(w.ledger, w.ledger.credit(f.writesPerTensor))
		f.pickled.credit(w.ledger)
	}
	if f.sighted {
		if n := f.period.tensors; n > 0 {
			if b, ok := batchBytes(all, n); ok {
				f.batchBytes = b
			}
		}
		return
	}
	f.pickled.estimate(all, t.anySocket())
	if f.folder == nil && !f.noFiles && f.worthFolder(all) {
		f.folder = openTensorFolder(fs, t.proc)
		f.noFiles = f.folder == nil || !f.folder.list(t.workers)
		if f.noFiles {
			f.folder = nil
		}
	}
}

func (t *trainer) anySocket() bool {
	for _, w := range t.workers {
		if w.socket {
			return true
		}
	}
	return false
}

// calibrated is how many batches must have passed between sightings for the writes per tensor to be taken from them: the ends of the
// stretch are off by a batch at most.
const calibrated = 20

// calibrate finds the writes per tensor and the tensors per batch.
func (f *tensorFlow) calibrate(all []*tensorLedger) {
	e := periodEvidence{perTensor: writesPerSharedDescriptor}
	if f.folder != nil {
		e.perTensor = writesPerSharedName
	}
	pairs := 0
	for _, l := range all {
		if len(l.held) > 0 {
			anchor := int64(-1)
			if l.born {
				anchor = l.base
			}
			e.grids, e.anchors = append(e.grids, l.held), append(e.anchors, anchor)
		}
		if d := l.passed - l.firstPassed; l.sighted && d > 0 && !l.mixed {
			e.tensors += float64(d)
			e.writes += float64(l.writesAtPassed - l.firstWrites)
			pairs++
		}
	}
	// The ends of each worker's stretch are each off by some third of a batch (uniform: 0.29), independently.
	e.batchesLost = 0.4 * math.Sqrt(float64(pairs))
	e.repeats = repeatingSizes(all)
	before := f.period.tensors
	f.period.decide(&e)
	if f.period.tensors == 0 {
		f.period.tensors = tensorsOfBursts(all, int(e.perTensor))
	}
	f.sighted = f.sighted || f.period.tensors > 0
	n := float64(f.period.tensors)
	switch {
	case n > 0 && e.tensors < calibrated*n: // too few to measure: what the protocol takes
		f.writesPerTensor = e.perTensor + 1/n
	case e.tensors >= calibrated:
		f.writesPerTensor = e.writes / e.tensors
	}
	if before == 0 && f.period.tensors > 0 {
		// What was handed over before the decision counts as well.
		f.batches = f.tensors / float64(f.period.tensors)
	}
}

// worthFolder tells whether to look for named files: workers have handed something over, and no descriptor shows it.
func (f *tensorFlow) worthFolder(all []*tensorLedger) bool {
	const enough = 10 // listings, and writes
	listings, writes := 0, int64(0)
	for _, l := range all {
		listings += l.listings
		writes += l.writes - l.writesAtAttach
		if l.mixed {
			writes += enough // unknown
		}
	}
	return listings >= enough && writes >= enough
}
