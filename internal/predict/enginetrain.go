package predict

// moment is what the trainer's main thread does next.
type moment uint8

const (
	begin      moment = iota // iter()
	launch                   // start the next worker
	launched                 // it is started
	fill                     // ask for the next of the first batches
	filled                   // it is asked for
	ask                      // __next__
	look                     // is the next batch here?
	parked                   // no: until one comes
	received                 // a batch was received
	hand                     // it is the one to return
	dispatched               // the next is asked for in its place
	computed                 // the trainer's part of the step is over
	stepped                  // the device's part as well
	resting                  // the computing part of a pause is over
	rested                   // the pause is over
	ended                    // the epoch is over
	done
)

// trainer is the main thread.
type trainer struct {
	at       moment
	alive    bool // workers from the epoch before are there
	launched int
	turn     int // worker that is asked next
	sent     int // batches of this epoch asked for
	taken    int // batches of this epoch returned
	base     int // number of this epoch's first batch
	got      made
	weight   float64 // cores it computes on now
	spinning float64 // cores it spins on now
	begun    float64
	asked    float64
	stood    float64 // when the pause began
	loaded   float64 // when the step's batch was there
	worked   float64 // when the device was done with the step before
}

// spend lets the main thread compute; false where there is nothing to compute.
func (e *engine) spend(demand, threads float64) bool {
	e.main.weight = threads
	return e.take(e.set.Workers, cpu, demand, threads)
}

// train lets the main thread go on until it has to wait for something.
func (e *engine) train() {
	m := &e.main
	for {
		switch m.at {
		case begin, launch, launched, fill, filled:
			if e.open() {
				return
			}
		case ask:
			m.asked, m.at = e.t, look
		case look:
			if e.look() {
				return
			}
		case received:
			m.at = hand
			if !e.set.Unordered && int(m.got.batch) != m.taken {
				e.held[int(m.got.batch)%len(e.held)] = true
				m.at = look
			}
		case hand:
			e.workers[m.got.maker].tasks--
			m.taken++
			m.at = dispatched
			if m.sent < e.batches && e.spend(e.dispatch, 1) {
				return
			}
		case dispatched, computed, stepped, resting, rested:
			if e.step() {
				return
			}
		case ended:
			m.base += e.batches
			m.alive = e.set.Persistent
			m.at = begin
			if len(e.tally.waits) >= e.stop {
				m.at = done
			}
		case parked, done:
			return
		}
	}
}

// open goes on with iter(); true where it has to wait.
func (e *engine) open() bool {
	m := &e.main
	switch m.at {
	case begin:
		m.begun, m.sent, m.taken, m.turn, m.launched = e.t, 0, 0, 0, 0
		e.tally.begun++
		if m.alive {
			m.at = fill
			return e.spend(e.draw+e.resume, 1)
		}
		for i := range e.workers {
			e.workers[i] = worker{starting: true}
		}
		m.at = launch
	case launch:
		if m.launched == e.set.Workers {
			m.at = fill
			return e.spend(e.draw+e.redraw, 1)
		}
		m.at = launched
		return e.spend(e.costs.start.Trainer, 1)
	case launched:
		if !e.take(m.launched, cpu, e.costs.start.Worker, 1) {
			e.work(m.launched)
		}
		m.launched++
		m.at = launch
	case fill:
		if m.sent == min(e.batches, e.set.outstanding()) {
			e.tally.starting += e.t - m.begun
			m.at = ask
			return false
		}
		m.at = filled
		return e.spend(e.dispatch, 1)
	case filled:
		e.send()
		m.at = fill
	}
	return false
}

// look is __next__'s search for the batch to return; true where it has to wait.
func (e *engine) look() bool {
	m := &e.main
	if m.taken == e.batches {
		m.at = ended
		cost := e.costs.ending(e.set)
		e.tally.starting += cost
		return e.take(e.set.Workers, wall, cost, 0)
	}
	if at := m.taken % len(e.held); e.held[at] {
		e.held[at] = false
		m.got, m.at = made{int32(m.taken), int32(m.taken % e.set.Workers)}, hand // as the turns go round
		return false
	}
	from := &e.arrived
	if e.costs.pin {
		from = &e.pinned
	}
	if from.size == 0 {
		m.at = parked
		return true
	}
	m.got, m.at = from.pop(), received
	return !e.costs.pin && e.spend(e.receive, 1)
}

// step goes on with the trainer's step, from the moment __next__ has a batch to return; true where it has to wait.
func (e *engine) step() bool {
	m := &e.main
	switch m.at {
	case dispatched:
		if m.sent < e.batches {
			e.send()
		}
		wait := e.t - m.asked
		if m.taken == 1 {
			e.tally.first += wait
			e.tally.starting += wait
		}
		e.tally.waits = append(e.tally.waits, wait)
		m.at, m.loaded = computed, e.t
		return e.spend(e.computing*e.stepFactor(), e.threadsOf)
	case computed:
		m.at = stepped
		if e.take(e.set.Workers, wall, e.onDevice(), 0) {
			m.weight, m.spinning = 0, e.spinning
			e.use(cpu, e.spinning)
			return true
		}
	case stepped:
		e.use(cpu, -m.spinning)
		m.spinning = 0
		n := len(e.tally.waits)
		if n == e.mark {
			e.tally.marked, e.tally.unmarked = e.t, e.tally.paused
		}
		m.at = ask
		switch {
		case n >= e.stop && m.taken < e.batches:
			m.at = done
		case e.pause.after(n):
			m.at, m.stood = resting, e.t
			computing, _, threads := e.pause.parts()
			return e.spend(computing, threads)
		}
	case resting:
		m.at = rested
		_, rest, _ := e.pause.parts()
		return e.take(e.set.Workers, wall, rest, 0)
	case rested:
		m.at = ask
		e.tally.paused += e.t - m.stood
	}
	return false
}

// onDevice is how long the trainer stays with its device from now on. What the device does behind the trainer holds it
// only where the device is still at the step before.
func (e *engine) onDevice() float64 {
	m, g := &e.main, e.stepFactor()
	behind := min(e.behind, e.device)
	if behind <= 0 {
		return e.device * g
	}
	until := max(e.t+(e.device-behind)*g, m.worked)
	m.worked = max(m.loaded, m.worked) + e.costs.step*g
	return until - e.t
}

// stepFactor is how much longer than usual the present step is.
func (e *engine) stepFactor() float64 {
	return e.draws.stepOf(len(e.tally.waits) - 1)
}

// serial is a loader without workers: loading and step take turns, and only other programs, or a quota below one
// core, stretch anything. What the device does of a step behind the trainer goes on while the next batch is loaded; it
// is at most a step behind.
func (e *engine) serial() {
	slow, stretched := 1/e.pace(1), 1/e.pace(e.threadsOf)
	behind, done := min(e.behind, e.device), 0.0
	for k := range e.stop {
		f, g := e.draws.service[k%len(e.draws.service)], e.draws.stepOf(k)
		wait := f*(e.storage+e.other+e.cpu*slow) + e.dispatch*slow
		if k%e.batches == 0 {
			wait += e.draw * slow
			e.tally.begun++
			e.tally.first += wait
		}
		loaded := e.t + wait
		e.t = loaded + g*(e.computing*stretched+e.device-behind)
		if behind > 0 {
			e.t, done = max(e.t, done), max(loaded, done)+g*(e.computing*stretched+e.device)
		}
		e.tally.waits = append(e.tally.waits, wait)
		if k+1 == e.mark {
			e.tally.marked = e.t
		}
	}
}
