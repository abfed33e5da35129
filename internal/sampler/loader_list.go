package sampler

import "time"

// How often a worker's calls are counted, in passes: ten times a second, so that single batches of a slow worker can be
// distinguished, and four times once what makes a batch is known.
const accountEvery, calmAccountEvery = 5, 12

// accounts reads the workers' counts of calls, those of all workers one after the other: a read 10 ms after the last
// one takes some 30 µs, for nothing of it is in the CPU's cache any more, and one right after it 3 µs (Linux 6.18).
func (l *Loader) accounts() {
	for _, t := range l.trainers {
		if t.reborn > 0 {
			t.reborn--
		}
		every := uint64(accountEvery)
		if t.batches.Known() {
			every = calmAccountEvery
		}
		if t.reborn == 0 && l.passes%every != 0 {
			continue
		}
		for _, w := range t.workers {
			w.batches.ReadIO()
		}
	}
}

// list lists what the worker whose turn it is holds, where that is due.
func (l *Loader) list(now time.Duration) {
	for _, t := range l.trainers {
		if t.isReceiving {
			t.batches.ListPassing()
		}
	}
	count := 0
	for _, t := range l.trainers {
		count += len(t.workers)
	}
	if now < l.listing.next || count == 0 {
		return
	}
	l.listing.turn = (l.listing.turn + 1) % count
	turn, searching, known := l.listing.turn, false, false
	for _, t := range l.trainers {
		if turn < len(t.workers) {
			t.batches.List(turn)
			searching, known = t.batches.Searching(), t.batches.Known()
			break
		}
		turn -= len(t.workers)
	}
	l.listing.after(now, l.clock()-now, count, searching, known, l.pace.random)
}
