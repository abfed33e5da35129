package batches

import (
	"math"

	"github.com/pipetune/pipetune/internal/procfs"
)

// sizeMemory is how many of a worker's last tensors have their sizes kept: some batches of a detection model with 20
// tensors each.
const sizeMemory = 128

// countMemory is how many of a worker's counts of writes are kept to find the writes per batch.
const countMemory = 32

// heldMemory is how many numbers of sightings of a worker, two for each, are kept to find the tensors per batch.
const heldMemory = 64

// runsPrograms is at how many samples, up to four a second, the CPU time of a worker's ended programs must have grown.
const runsPrograms = 3

// tensorLedger follows the tensors one worker hands over. Numbers are those of its shared-memory names. The zero value
// is that of a worker that was there before the watch began.
type tensorLedger struct {
	of   procfs.ID // the worker
	born bool      // its birth was seen, so its count starts at base

	base    int64 // number of the first tensor that counts
	next    int64 // largest number seen, plus one
	sighted bool

	// Writes are the worker's write calls: a constant number for each tensor and each batch (see tensorPeriod). They
	// bridge the time between two sightings. Tensors below the smallest number held have been passed on, so their
	// writes are all made: passed pairs with writesAtPassed.
	writes, wroteChars, reads int64 // now
	passed, writesAtPassed    int64 // at the last sighting
	firstPassed, firstWrites  int64 // at the first sighting
	haveWrites                bool
	// At the attach; all zero for a worker whose birth was seen.
	writesAtAttach, charsAtAttach, readsAtAttach int64
	// writes of a worker whose birth was seen that are of no tensor; see Loader.aside
	aside int64

	counts   []int64 // of writes, the last that differed: most lie between two batches
	readings int     // of them in all
	moves    int     // readings that differed from the one before
	socket   bool    // holds a socket: it may pass tensors

	// Of programs that the worker ran and waited for, the kernel adds the account to its own: CPU time of them at the
	// last sample, samples at which it had grown, and whether the writes are therefore not the worker's own and are
	// left alone.
	programs float64
	looked   bool
	ran      int
	mixed    bool

	sizes                     [sizeMemory]tensorSize
	held                      []int64 // smallest number held, one for each sighting that differed
	heldCount                 int     // tensors held at the last listing
	smallest, largest         int64   // of their numbers
	listings                  int
	credited, creditedPickled float64
}

type tensorSize struct {
	number int64
	bytes  int64 // 0 = not known; torch shares no empty storage
}

func (l *tensorLedger) size(n int64) int64 {
	s := l.sizes[n%sizeMemory]
	if s.number != n {
		return 0
	}
	return s.bytes
}

func (l *tensorLedger) setSize(n, bytes int64) {
	l.sizes[n%sizeMemory] = tensorSize{number: n, bytes: bytes}
}

// learnSize takes the size of a tensor from a descriptor of it, where it is not known.
func (l *tensorLedger) learnSize(n int64, links *procfs.FDLinks, fd int) {
	if l.size(n) == 0 {
		if size, ok := links.SharedMemoryBytes(fd); ok && size > 0 {
			l.setSize(n, size)
		}
	}
}

func (l *tensorLedger) readIO(writes, wroteChars, reads int64) {
	if l.mixed {
		return
	}
	if !l.haveWrites {
		l.haveWrites = true
		if !l.born {
			l.writesAtAttach, l.charsAtAttach, l.readsAtAttach = writes, wroteChars, reads
		}
	}
	l.readings++
	// One of nothing written yet lies before what a new worker writes beside batches, and on no grid.
	if n := len(l.counts); writes > 0 && (n == 0 || writes > l.counts[n-1]) {
		l.moves++
		if n == countMemory {
			copy(l.counts, l.counts[1:])
			l.counts = l.counts[:n-1]
		}
		l.counts = append(l.counts, writes)
	}
	l.writes, l.wroteChars, l.reads = writes, wroteChars, reads
}

// sawPrograms takes the CPU time of the programs that the worker has waited for. One or two at its start are the
// imports' doing; a worker that goes on running them does so for its items.
func (l *tensorLedger) sawPrograms(seconds float64) {
	if l.looked && seconds > l.programs {
		l.ran++
	}
	l.programs, l.looked = seconds, true
	if l.ran < runsPrograms || l.mixed {
		return
	}
	l.mixed = true
	l.writes, l.wroteChars, l.reads = 0, 0, 0
	l.writesAtAttach, l.charsAtAttach, l.readsAtAttach, l.writesAtPassed = 0, 0, 0, 0
	l.counts, l.readings, l.moves = nil, 0, 0
}

// startListing begins a listing of what the worker holds; hold is then called for each name, and endListing closes it.
func (l *tensorLedger) startListing() { l.heldCount = 0 }

// hold takes the number of one tensor held by the worker. One that is being passed on may be listed twice, under two
// descriptors, for an instant.
func (l *tensorLedger) hold(number int64) {
	if l.heldCount++; l.heldCount == 1 {
		l.smallest, l.largest = number, number
	}
	l.smallest, l.largest = min(l.smallest, number), max(l.largest, number)
}

// inherit takes a tensor of the trainer that the worker got by fork: its own numbers go on from there.
func (l *tensorLedger) inherit(number int64) {
	if l.born && !l.sighted && number+1 > l.base {
		l.base = number + 1
	}
}

func (l *tensorLedger) endListing() {
	l.listings++
	if l.heldCount > 0 {
		l.note(l.smallest, l.largest+1)
		l.sight(l.largest+1, l.smallest)
	}
}

// received takes the smallest and the largest number of the worker's tensors that the trainer holds: those up to the
// largest have been passed on. whole says that it holds all between them, as it does of the batch it is working on; a
// trainer that keeps single tensors of earlier batches says nothing about where a batch begins.
func (l *tensorLedger) received(smallest, largest int64, whole bool) {
	if whole {
		l.note(smallest, largest+1)
	}
	l.sight(largest+1, largest+1)
}

// sight takes up to which numbers tensors were made and passed on.
func (l *tensorLedger) sight(next, passed int64) {
	if !l.sighted {
		l.sighted = true
		if !l.born {
			// What was credited by the worker's writes until now was handed over before this sighting: counting from
			// next would lose it.
			l.base = next - int64(math.Round(l.credited))
		}
		l.firstPassed, l.firstWrites = passed, l.writes
	}
	l.next = max(l.next, next)
	if passed > l.passed {
		l.passed, l.writesAtPassed = passed, l.writes
	}
}

// note keeps where a run of tensors begins and where the next would.
func (l *tensorLedger) note(first, next int64) {
	n := len(l.held)
	if n >= 2 && l.held[n-2] == first && l.held[n-1] == next {
		return
	}
	if n == heldMemory {
		copy(l.held, l.held[2:])
		l.held = l.held[:n-2]
	}
	l.held = append(l.held, first, next)
}

// handedOver estimates the tensors handed over since the base. writesPerTensor is 0 while it is unknown.
func (l *tensorLedger) handedOver(writesPerTensor float64) float64 {
	if !l.sighted {
		if writesPerTensor == 0 {
			return 0
		}
		return float64(max(l.writes-l.writesAtAttach-l.aside, 0)) / writesPerTensor
	}
	n := float64(l.next - l.base)
	if since := l.writes - max(l.writesAtPassed, l.aside); writesPerTensor > 0 && since > 0 {
		n = max(n, float64(l.passed-l.base)+float64(since)/writesPerTensor)
	}
	return n
}

// credit returns what was handed over since the last call, never less than nothing: an estimate that ran ahead waits to
// be caught up.
func (l *tensorLedger) credit(writesPerTensor float64) float64 {
	grown := l.handedOver(writesPerTensor) - l.credited
	if grown <= 0 {
		return 0
	}
	l.credited += grown
	return grown
}

// finish returns what is still to be credited to a worker that has ended. It handed over whole batches, of which the
// last sample may have missed the end: the exchange of its last tensors comes just before the end of the epoch.
func (l *tensorLedger) finish(writesPerTensor float64, tensors int) float64 {
	grown := l.credit(writesPerTensor)
	if tensors <= 0 || l.credited <= 0 {
		return grown
	}
	const slack = 0.1 // of a tensor: a stray write is no batch
	whole := math.Ceil((l.credited-slack)/float64(tensors)) * float64(tensors)
	if whole > l.credited {
		grown += whole - l.credited
		l.credited = whole
	}
	return grown
}
