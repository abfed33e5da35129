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
		for _, d := range t.loaders {
			every := uint64(accountEvery)
			if d.batches.Known() {
				every = calmAccountEvery
			}
			if t.reborn == 0 && l.passes%every != 0 {
				continue
			}
			for _, w := range d.workers {
				w.batches.ReadIO()
			}
		}
	}
}

// list lists what the worker whose turn it is holds, where that is due.
func (l *Loader) list(now time.Duration) {
	count := 0
	for _, t := range l.trainers {
		for _, d := range t.loaders {
			if t.isReceiving {
				d.batches.ListPassing()
			}
			count += len(d.workers)
		}
	}
	if now < l.listing.next || count == 0 {
		return
	}
	l.listing.turn = (l.listing.turn + 1) % count
	d, place := l.workerAt(l.listing.turn)
	d.batches.List(place)
	l.listing.after(now, l.clock()-now, count, d.batches.Searching(), d.batches.Known(), l.pace.random)
}

// workerAt is the i-th of all workers: its loader, and its place there.
func (l *Loader) workerAt(i int) (d *dataLoader, place int) {
	for _, t := range l.trainers {
		for _, d = range t.loaders {
			if i < len(d.workers) {
				return d, i
			}
			i -= len(d.workers)
		}
	}
	return d, i
}
