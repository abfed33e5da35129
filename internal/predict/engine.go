package predict

import (
	"math"
	"slices"
)

// resource is what an activity of the simulation takes up.
type resource uint8

const (
	wall    resource = iota // time, which everyone has
	cpu                     // cores, shared among whoever computes
	storage                 // storage, shared among whoever waits for it
	resources
)

// engine simulates a DataLoader event by event. It is reused from run to run and allocates nothing while it runs.
// Workers are numbered from 0, the trainer's main thread and its pinning thread come after them.
type engine struct {
	costs
	draws   *draws
	set     Setting
	batches int // of an epoch
	stop    int // steps to simulate
	mark    int // step after which the queue has its usual depth

	clocks  [resources]clock
	t       float64
	load    float64 // threads that compute
	reading int     // workers that wait for storage
	paced   float64 // load of which the clock of the cores has the pace
	sped    int     // reading of which the clock of storage has the speed

	computing, device, spinning, threadsOf float64 // of a step, and of its computing part

	workers []worker
	queues  []ring[int32] // of batches to make, one per worker
	main    trainer
	pinner  pinner
	lock    lock
	arrived ring[made] // finished batches, in the order in which they were finished
	pinned  ring[made] // those the pinning thread is through with
	held    []bool     // batches received before their turn, by number modulo the most outstanding

	tally  tally
	splits int
}

// made is a finished batch.
type made struct{ batch, maker int32 }

// tally is what a run adds up.
type tally struct {
	waits    []float64 // of each step
	begun    int       // epochs begun
	starting float64   // seconds in iter(), in the waits for first batches and in ending epochs
	first    float64   // of this, the waits for first batches
	marked   float64   // when the step called mark was over
	paused   float64   // seconds in pauses
	unmarked float64   // of this, before then
}

// run simulates and leaves the result in the tally.
func (e *engine) run(c costs, set Setting, d *draws, x extent, mark int) {
	set = set.plain()
	e.costs, e.set, e.draws = c, set, d
	e.stop, e.batches, e.mark = x.steps, x.epoch, mark
	if e.batches <= 0 {
		e.batches = math.MaxInt32 // the epoch never ends
	}
	e.t, e.load, e.reading, e.paced, e.sped = 0, 0, 0, 0, 0
	e.computing, e.device, e.spinning = e.stepParts()
	e.threadsOf = e.ofTrainer()
	e.tally = tally{waits: slices.Grow(e.tally.waits[:0], e.stop)}
	if e.cores <= 0 {
		e.cores = math.Inf(1)
	}
	if set.Workers == 0 {
		e.serial()
		return
	}
	e.prepare(!x.cold && set.Persistent)
	e.train()
	for e.main.at != done {
		e.event()
	}
}

func (e *engine) prepare(alive bool) {
	w, room := e.set.Workers, e.set.outstanding()+1
	for i := range e.clocks {
		e.clocks[i].reset(w + 2)
	}
	e.workers, e.queues = slices.Grow(e.workers[:0], w)[:w], slices.Grow(e.queues[:0], w)[:w]
	for i := range e.workers {
		e.workers[i] = worker{idle: alive, starting: !alive}
		e.queues[i].reset(e.set.Prefetch + 1)
	}
	e.arrived.reset(room)
	e.pinned.reset(room)
	e.held = slices.Grow(e.held[:0], room)[:room]
	clear(e.held)
	e.main = trainer{at: begin, alive: alive}
	e.pinner = pinner{idle: true}
	e.lock.reset(w)
	e.splits = 1
	if e.locked > 0 || e.contended(w) && e.cpu > 0 && e.storage+e.other > 0 {
		e.splits = min(max(e.slices, 1), mostSlice)
	}
}

// event goes on to the next end of something and lets whoever it belongs to go on.
func (e *engine) event() {
	if e.load != e.paced {
		e.paced = e.load
		e.clocks[cpu].share(e.pace(e.load))
	}
	if e.reading != e.sped && e.reading > 0 {
		e.sped = e.reading
		e.clocks[storage].share(min(e.speedup(e.reading)/float64(e.reading), 1))
	}
	which, dt := wall, math.Inf(1)
	for r := range e.clocks {
		if d := e.clocks[r].until(); d < dt {
			which, dt = resource(r), d
		}
	}
	e.t += dt
	for r := range e.clocks {
		e.clocks[r].now += dt * e.clocks[r].rate
	}
	who := int(e.clocks[which].pop())
	switch {
	case who < e.set.Workers && which == cpu && !e.workers[who].starting:
		e.use(which, -e.ofWorker())
		e.work(who)
	case who < e.set.Workers:
		e.use(which, -1)
		e.work(who)
	case who == e.set.Workers:
		e.use(which, -e.main.weight)
		e.train()
	default:
		e.use(which, -1)
		e.handPinned()
		e.pinNext()
	}
}

// take lets who use a resource; false, and nothing done, where the demand is nothing.
func (e *engine) take(who int, r resource, demand, weight float64) bool {
	if !(demand > 0) {
		return false
	}
	e.clocks[r].add(int32(who), demand)
	e.use(r, weight)
	return true
}

// use changes who else a resource is shared with.
func (e *engine) use(r resource, weight float64) {
	switch r {
	case cpu:
		e.load += weight
	case storage:
		e.reading += int(weight)
	}
}
