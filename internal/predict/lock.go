package predict

import "math"

// A lock that workers share is a serial resource: one holds it, and the others that want it wait. What of the time it
// is held follows from how many wait.

// LockUse is the share of time, 0..1, in which a lock is held that workers share, where so many of them are seen to
// wait for it on average, and at least so many: what it is at the least, and likely. One of them holds it while others
// wait, so that no more than all others can. It may be held all the time: workers that always take as long fall into
// step, and then hardly wait. False where that is no such lock: there are no two workers, none waits, or more wait than
// one that holds it leaves.
func LockUse(waiting, least float64, workers int) (lo, likely float64, ok bool) {
	others := float64(workers - 1)
	if workers < 2 || workers > ceiling || !(waiting > 0) || least > others {
		return 0, 0, false
	}
	lo = max(least, 0) / others
	return lo, min(max(heldAt(waiting, workers), lo), 1), true
}

// heldAt is the share of time in which a lock is held for which so many of its workers wait, where they hold it and
// come back to it at exponential times: a closed queue of two stations, the machine repairman's.
func heldAt(waiting float64, workers int) float64 {
	if waiting >= float64(workers-1) {
		return 1
	}
	const widest, halvings = 30, 60 // logarithms of the time that it is held, over that between two times
	lo, hi, use := -float64(widest), float64(widest), 0.0
	for range halvings {
		middle, at := (lo+hi)/2, 0.0
		if at, use = repairman(math.Exp(middle), workers); at < waiting {
			lo = middle
		} else {
			hi = middle
		}
	}
	return use
}

// repairman returns how many wait on average, and the share of time in which the lock is held, where each holds it so
// many times as long as it does without (mean value analysis: Reiser and Lavenberg, 1980).
func repairman(held float64, workers int) (waiting, use float64) {
	queue := 0.0
	for n := 1; n <= workers; n++ {
		stay := held * (1 + queue)
		rate := float64(n) / (1 + stay)
		queue, use = rate*stay, rate*held
	}
	return queue - use, use
}

// lockOf is the seconds per batch in which a worker holds the lock that all share, as picked; unknown is NaN.
func (p Pipeline) lockOf(seconds float64) float64 {
	if p.Lock.N == 0 {
		return math.NaN()
	}
	return seconds
}

// lockAt is the share of making a batch in which a worker holds the lock that all share. One worker alone waits for
// nobody.
func (c *costs) lockAt(seconds float64, workers int) float64 {
	if workers < 2 || !(seconds > 0) || !(c.work() > 0) {
		return 0
	}
	return min(seconds/c.work(), 1)
}

// work is what making a batch takes a worker that waits for no other.
func (c *costs) work() float64 { return c.cpu/c.ofWorker() + c.storage + c.other }

// lock is who holds what only one worker at a time may, and who waits for it.
type lock struct {
	holder  int // worker; -1 = none
	waiting ring[int32]
}

func (l *lock) reset(workers int) {
	l.holder = -1
	l.waiting.reset(workers)
}

// acquire lets worker i have the lock; false where it has to wait for its turn.
func (e *engine) acquire(i int) bool {
	switch e.lock.holder {
	case i:
	case -1:
		e.lock.holder = i
	default:
		e.lock.waiting.push(int32(i))
		return false
	}
	return true
}

// release takes the lock from worker i, if it has it, and lets the next one go on that waits for it.
func (e *engine) release(i int) {
	if e.lock.holder != i {
		return
	}
	e.lock.holder = -1
	if e.lock.waiting.size > 0 {
		e.lock.holder = int(e.lock.waiting.pop())
		e.make(e.lock.holder)
	}
}
