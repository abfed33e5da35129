package predict

// worker is one process of the loader.
type worker struct {
	starting bool  // not there yet
	idle     bool  // waits for indices
	batch    int32 // being made
	phase    int   // of its making: storage, other waiting, CPU, the same under the lock, and again for each slice
	tasks    int   // batches asked of it that the trainer has not taken
}

// send asks the next worker for the next batch: the one whose turn it is or, without order, the next that has fewer
// than prefetch_factor batches outstanding.
func (e *engine) send() {
	m := &e.main
	i := m.turn
	if e.set.Unordered {
		for e.workers[i].tasks >= e.set.Prefetch {
			i = (i + 1) % e.set.Workers
		}
	}
	m.turn = (i + 1) % e.set.Workers
	e.queues[i].push(int32(m.sent))
	e.workers[i].tasks++
	m.sent++
	if w := &e.workers[i]; w.idle {
		e.fetch(i)
	}
}

// work goes on with worker i, whose last phase is over.
func (e *engine) work(i int) {
	w := &e.workers[i]
	if w.starting {
		w.starting = false
		e.fetch(i)
		return
	}
	w.phase++
	e.make(i)
}

// fetch lets worker i get the next indices, if there are any, and go on with them.
func (e *engine) fetch(i int) {
	if e.next(i) {
		e.make(i)
	}
}

// next lets worker i get the next indices; false where there are none, and it waits for them.
func (e *engine) next(i int) bool {
	w := &e.workers[i]
	if w.idle = e.queues[i].size == 0; !w.idle {
		w.batch, w.phase = e.queues[i].pop(), 0
	}
	return !w.idle
}

// phases is how many a slice of a batch has.
const phases = 6

// make goes on making batches until the worker has to wait for something.
func (e *engine) make(i int) {
	w := &e.workers[i]
	for {
		n := e.main.base + int(w.batch)
		factor := e.draws.service[n%len(e.draws.service)]
		cut := &e.draws.cut[n%cuts]
		for ; w.phase < phases*e.splits; w.phase++ {
			kind, slice, under := w.phase%3, w.phase/phases, w.phase%phases >= 3
			part := factor
			switch {
			case under && e.locked <= 0:
				continue
			case under && !e.acquire(i):
				return
			case under: // evenly: what comes between two turns is what keeps workers from staying in step
				part *= e.locked / float64(e.splits)
			default:
				e.release(i)
				part *= 1 - e.locked
				if e.splits > 1 {
					part *= cut[kind*mostSlice+slice]
				}
			}
			waits := false
			switch kind {
			case 0:
				waits = e.take(i, storage, e.storage*part, 1)
			case 1:
				waits = e.take(i, wall, e.other*part, 1)
			case 2:
				demand := e.cpu * part
				if slice == e.splits-1 && !under {
					demand += e.handover
				}
				waits = e.take(i, cpu, demand/e.ofWorker(), e.ofWorker())
			}
			if waits {
				return
			}
		}
		e.release(i)
		e.finish(i)
		if !e.next(i) {
			return
		}
	}
}

// finish hands worker i's batch over and wakes whoever waits for it.
func (e *engine) finish(i int) {
	e.arrived.push(made{e.workers[i].batch, int32(i)})
	switch {
	case e.costs.pin && e.pinner.idle:
		e.pinNext()
	case !e.costs.pin && e.main.at == parked:
		e.main.at = look
		e.train()
	}
}

// pinner is the pinning thread.
type pinner struct {
	idle bool
	got  made
}

// pinNext lets the pinning thread go on until it has to wait.
func (e *engine) pinNext() {
	for {
		e.pinner.idle = e.arrived.size == 0
		if e.pinner.idle {
			return
		}
		e.pinner.got = e.arrived.pop()
		if e.take(e.set.Workers+1, cpu, e.receive, 1) {
			return
		}
		e.handPinned()
	}
}

func (e *engine) handPinned() {
	e.pinned.push(e.pinner.got)
	if e.main.at == parked {
		e.main.at = look
		e.train()
	}
}
