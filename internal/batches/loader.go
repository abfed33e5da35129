// Package batches counts the batches that the workers of a DataLoader hand over to their trainer, from outside: by the
// numbers in the names of the shared-memory files that carry their tensors, and by the workers' counts of write calls.
// It opens none of these files, and where neither says what a batch is, it says so and counts none.
package batches

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/procfs"
)

// buriedLedgers is how many ledgers of workers that are gone are kept to find the tensors per batch of a job with short
// epochs.
const buriedLedgers = 32

// Loader adds up what the workers of one trainer hand over. It is not for use by several goroutines at once.
type Loader struct {
	fs      procfs.FS
	proc    *procfs.Process // of the trainer
	links   *procfs.FDLinks
	inner   int // its own number in its pid namespace
	workers []*Worker
	buried  []*tensorLedger // of workers that are gone
	runs    map[int]run     // scratch of listReceived, by worker

	folder tensorFolder // where the file_system sharing strategy is in use; "" where it is not
	relist int          // the call of Estimate from which on /dev/shm is listed again, where it was in vain

	period          tensorPeriod
	writesPerTensor float64 // 0 = not known yet
	aside           int64   // writes of a new worker that are of no tensor
	tensors         float64 // handed over since the watch began
	batches         float64
	batchBytes      int64 // 0 = not known
	sighted         bool  // some tensor was seen

	set     workerSet // under way
	regular regularity

	pickled pickledFlow

	lists       int // calls of List
	passing     int // listings made while a batch was on its way
	estimates   int // calls of Estimate
	recalibrate int // the number of calls after which the next calibration is due
}

// listLimit bounds the descriptors read in one listing.
const listLimit = 512

// calibrateEvery is how many estimates share a calibration once the tensors per batch are known, one a second at first.
// Later there is one whenever the evidence has grown by an eighth: what there is of it does not change any more.
// But after calibrateAtLeast there is one, half a minute later. programsEvery is how many share a sample for programs
// that the workers run.
const calibrateEvery, calibrateAtLeast, programsEvery = 4, 120, 4

// relistAtLeast is how many estimates lie between two listings of /dev/shm in vain at the most.
const relistAtLeast = 40

// New begins to follow the workers of a trainer, which knows itself by the number inner. The process and its links stay
// the caller's, and must be open as long as the Loader is used.
func New(fs procfs.FS, trainer *procfs.Process, links *procfs.FDLinks, inner int) *Loader {
	return &Loader{fs: fs, proc: trainer, links: links, inner: inner, aside: probesFolder,
		runs: map[int]run{}}
}

// Adopt begins to follow a worker, or takes up one that was lost and is found again: what it handed over before is
// credited already. born says that it began during the watch.
func (f *Loader) Adopt(w Worker, born bool) *Worker {
	w.ledger = &tensorLedger{of: w.Process.ID, born: born}
	if born {
		w.ledger.aside = f.aside
	}
	if i := slices.IndexFunc(f.buried, func(l *tensorLedger) bool { return l.of == w.ledger.of }); i >= 0 {
		w.ledger = f.buried[i]
		f.buried = slices.Delete(f.buried, i, i+1)
	}
	w.ReadIO()
	if len(f.workers) == 0 {
		f.set = workerSet{}
	}
	f.workers = append(f.workers, &w)
	return &w
}

// Take takes over a worker that another Loader of the trainer has followed. What it handed over until then stays that
// one's.
func (f *Loader) Take(w *Worker, from *Loader) {
	from.workers = slices.DeleteFunc(from.workers, func(other *Worker) bool { return other == w })
	if len(f.workers) == 0 {
		f.set = workerSet{}
	}
	f.workers = append(f.workers, w)
}

// Bury takes a last account of a worker that is gone.
func (f *Loader) Bury(w *Worker) {
	f.workers = slices.DeleteFunc(f.workers, func(other *Worker) bool { return other == w })
	f.add(w.ledger, w.ledger.finish(f.writesPerTensor, f.period.tensors))
	f.set.left(w.ledger)
	if n := float64(f.period.tensors); n > 0 && len(f.workers) == 0 && !f.set.attached {
		f.add(w.ledger, n*f.regular.missed(math.Round(f.set.tensors/n)))
	}
	f.pickled.credit(w.ledger)
	if len(f.buried) == buriedLedgers {
		f.buried = slices.Delete(f.buried, 0, 1)
	}
	f.buried = append(f.buried, w.ledger)
}

func (f *Loader) add(l *tensorLedger, grown float64) {
	f.sighted = f.sighted || l.sighted
	f.tensors += grown
	if f.period.tensors > 0 {
		f.batches += grown / float64(f.period.tensors)
	}
}

// Searching says that tensors were seen, but not how many make a batch.
func (f *Loader) Searching() bool { return f.sighted && f.period.tensors == 0 }

// Known says that it is known what makes a batch.
func (f *Loader) Known() bool { return f.period.tensors > 0 || f.pickled.writesPerBatch > 0 }

// List lists the descriptors of one worker and of the trainer, or the folder of shared memory. Once it is known what
// makes a batch the trainer, whose listing takes twice as long, is listed every second time.
func (f *Loader) List(worker int) {
	if f.folder != "" {
		f.folder.list(f.workers)
		return
	}
	f.workers[worker].list(f.inner)
	if f.lists++; f.lists%2 == 0 || !f.Known() {
		f.listReceived()
	}
}

// A starved loader's tensors live for milliseconds, so hardly a listing at a fixed pace meets one. While the tensors
// per batch are not known, some workers are listed whenever the trainer is seen receiving: then one of them holds a
// batch.
const (
	passingWorkers  = 4
	passingListings = 400
)

// ListPassing lists the next few workers while a batch is on its way, as long as the tensors per batch are not known.
func (f *Loader) ListPassing() {
	if f.period.tensors > 0 || f.folder != "" || f.passing >= passingListings {
		return
	}
	for range min(passingWorkers, len(f.workers)) {
		f.passing++
		f.workers[f.passing%len(f.workers)].list(f.inner)
	}
}

// run is what the trainer holds of one worker's tensors.
type run struct {
	smallest, largest int64
	count             int64
}

// listReceived looks for workers' tensors among the trainer's own descriptors: it keeps those of the batch it is
// working on. A starved loader's tensors stay with their worker for a millisecond and with the trainer for the whole
// step.
func (f *Loader) listReceived() {
	clear(f.runs)
	// What goes wrong here is reported by the samples of the same process.
	_, _ = f.links.Each(listLimit, func(fd int, target []byte) {
		name, ok := parseDescriptor(target)
		if !ok {
			return
		}
		w := f.workerNamed(name.pid)
		if w == nil {
			return
		}
		w.ledger.learnSize(name.number, f.links, fd)
		r, held := f.runs[name.pid]
		if !held {
			r = run{smallest: name.number, largest: name.number}
		}
		r.smallest, r.largest, r.count = min(r.smallest, name.number), max(r.largest, name.number), r.count+1
		f.runs[name.pid] = r
	})
	for pid, r := range f.runs {
		w := f.workerNamed(pid)
		w.ReadIO()
		w.ledger.received(r.smallest, r.largest, r.count == r.largest-r.smallest+1)
	}
}

// workerNamed finds a worker by the number it knows itself by, which names its tensors.
func (f *Loader) workerNamed(inner int) *Worker {
	for _, w := range f.workers {
		if w.Inner == inner {
			return w
		}
	}
	return nil
}

func (f *Loader) ledgers() []*tensorLedger {
	all := append(make([]*tensorLedger, 0, len(f.buried)+len(f.workers)), f.buried...)
	for _, w := range f.workers {
		all = append(all, w.ledger)
	}
	return all
}

// Estimate brings the counts up to date. It is to be called four times a second.
func (f *Loader) Estimate() {
	all := f.ledgers()
	undecided := f.period.tensors == 0
	if f.estimates%programsEvery == 0 || undecided {
		for _, w := range f.workers {
			w.detectPrograms()
		}
	}
	if f.estimates >= f.recalibrate || undecided {
		f.recalibrate = f.estimates + min(max(calibrateEvery, f.estimates/8), calibrateAtLeast)
		f.calibrate(all)
		if n := f.period.tensors; n > 0 {
			if b, ok := batchBytes(all, n); ok {
				f.batchBytes = b
			}
		}
	}
	f.estimates++
	for _, w := range f.workers {
		f.add(w.ledger, w.ledger.credit(f.writesPerTensor))
		f.pickled.credit(w.ledger)
	}
	if f.sighted {
		return
	}
	f.pickled.estimate(all)
	if f.folder == "" && f.estimates >= f.relist && f.worthFolder(all) {
		if found := findTensorFolder(f.fs, f.proc); found != "" && found.list(f.workers) {
			f.folder = found
		} else {
			f.relist = min(2*f.estimates, f.estimates+relistAtLeast)
		}
	}
}

// calibrated is how many batches must have passed between sightings for the writes per tensor to be taken from them:
// the ends of the stretch are off by a batch at most.
const calibrated = 20

const (
	// probesFolder is how often a forked worker writes for no tensor: once, where Python tries out its folder of
	// temporary files for the socket that passes tensors, unless the trainer has done so before
	// (tempfile._get_default_tempdir writes "blat"). Not allowed for, each of two workers that handed over four batches
	// and ended was credited with five. Allowed for where there is no such write, a batch is lost only of a worker that
	// was read once after the first write of its last batch and never again.
	probesFolder = 1
	// enoughBorn is from how many new workers on that were sighted it is found out, by their lower quartile: most have
	// begun another batch meanwhile, and of one in some a batch was passed on between the two readings.
	enoughBorn = 3
	// fewTensors keeps the error of the writes per tensor, 0.006 of them, below a quarter of a write.
	fewTensors = 40
)

// findAside finds how many writes of a new worker are of no tensor: spawned ones have more than forked ones.
func (f *Loader) findAside(all []*tensorLedger) {
	var beside []float64
	for _, l := range all {
		if n := l.passed - l.base; l.born && 0 < n && n <= fewTensors && !l.mixed {
			beside = append(beside, float64(l.writesAtPassed)-f.writesPerTensor*float64(n))
		}
	}
	if len(beside) >= enoughBorn && f.writesPerTensor > 0 {
		slices.Sort(beside)
		f.aside = int64(math.Round(max(beside[len(beside)/4], 0)))
	}
}

// calibrate finds the writes per tensor and the tensors per batch.
func (f *Loader) calibrate(all []*tensorLedger) {
	e := periodEvidence{perTensor: writesPerSharedDescriptor}
	if f.folder != "" {
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
		e.counts = append(e.counts, l.counts)
		e.readings, e.moves = e.readings+l.readings, e.moves+max(l.moves-1, 0)
	}
	// The ends of each worker's stretch are each off by some third of a batch (uniform: 0.29), independently.
	e.batchesLost = 0.4 * math.Sqrt(float64(pairs))
	e.repeats = repeatingSizes(all)
	before := f.period.tensors
	f.period.decide(&e)
	f.sighted = f.sighted || f.period.tensors > 0
	n := float64(f.period.tensors)
	switch {
	case n > 0 && e.tensors < calibrated*n: // too few to measure: what the protocol takes
		f.writesPerTensor = e.perTensor + 1/n
	case e.tensors >= calibrated:
		f.writesPerTensor = e.writes / e.tensors
	}
	f.findAside(all)
	if before == 0 && f.period.tensors > 0 {
		// What was handed over before the decision counts as well.
		f.batches = f.tensors / float64(f.period.tensors)
	}
}

// worthFolder reports whether to look for named files: workers have handed something over, and no descriptor shows it.
func (f *Loader) worthFolder(all []*tensorLedger) bool {
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
