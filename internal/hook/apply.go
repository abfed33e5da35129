package hook

import "time"

// apply books a message of a known process.
func (l *ledger) apply(p *process, m *message, at time.Duration) {
	if m.Kind == kindHello && m.Seq <= p.seq && m.At > p.at {
		l.restart(p)
	}
	p.lastSeen, l.lastSeen = at, at
	if m.Seq > p.seq {
		p.seq, p.at = m.Seq, m.At
		l.lose(p, m)
	}
	if m.Parent != 0 {
		p.parent = innerPID{m.Parent, p.inner.same}
	}
	switch m.Kind {
	case kindHello:
		if p.hello == nil {
			l.loaded++
		}
		hello := m.hello
		hello.Python, hello.Torch = l.name(hello.Python), l.name(hello.Torch)
		p.hello = &hello
		return
	case kindOff:
		l.switchedOff(p, m)
		return
	case kindWork:
		l.work(p, m, at)
		return
	}
	lp := l.loop(p, *m.Loader)
	if lp == nil {
		return
	}
	if m.Kind == kindLoader {
		if lp.made == nil {
			lp.made, lp.news = m.Made, at
		}
		return
	}
	if p.begun == 0 {
		p.begun = at
		l.greet(p)
	}
	if m.Kind == kindEpoch {
		lp.news = at
		l.epoch(p, lp, m)
	} else {
		l.steps(p, lp, m, at)
	}
}

// restart is for a process that began another program (execve): its hook counts from 0 again, and so do its loaders.
func (l *ledger) restart(p *process) {
	l.closeAccounts(p)
	p.byNum = map[int]*loop{}
	for _, lp := range p.loops {
		p.base = max(p.base, lp.number+1)
	}
	p.seq, p.lost, p.untold, p.off, p.greeted = 0, 0, 0, "", false
}

// lose books messages that could not be sent, to the process's trainer where that is known, and loaders that it went
// over without a number for them.
func (l *ledger) lose(p *process, m *message) {
	more := max(m.Lost-p.lost, 0)
	p.lost += more
	to := p
	if p.workerOf != nil {
		to = p.workerOf
	}
	to.lostAll = plus(to.lostAll, more)
	if m.Untold > p.untold {
		p.untold = m.Untold
		l.drop(noteUncounted, p)
	}
}

func (l *ledger) switchedOff(p *process, m *message) {
	if p.off != "" {
		return
	}
	if p.off = l.name(m.Reason); p.off == "" {
		p.off = "no reason given"
	}
	if len(l.offs) < maxOffs {
		l.offs = append(l.offs, Off{PID: p.pid, Reason: p.off})
		l.greet(p)
		l.greetings = append(l.greetings, greeting{p: p, off: p.off})
	}
}

// epoch books the beginning or the end of an epoch, and whose workers are whose.
func (l *ledger) epoch(p *process, lp *loop, m *message) {
	for _, pid := range m.Epoch.Workers {
		l.nameWorker(innerPID{pid, p.inner.same}, lp)
	}
	m.Epoch.Workers, m.Epoch.seq = nil, m.Seq
	number := m.Epoch.Number
	switch e := lp.epochs[number]; {
	case e == nil && number < lp.recordedTo: // reported and recorded before
		return
	case e == nil && l.epochs >= maxEpochs:
		l.drop(noteEpochs, p)
		return
	case e == nil:
		l.epochs++
	case m.Seq <= e.seq:
		return
	}
	lp.epochs[number] = m.Epoch
	lp.newest = max(lp.newest, number)
}

// nameWorker keeps whose worker a process is, the newest maxNamedWorkers of them.
func (l *ledger) nameWorker(worker innerPID, lp *loop) {
	if _, there := l.namedWorkers[worker]; !there {
		if len(l.workerRing) < maxNamedWorkers {
			l.workerRing = append(l.workerRing, worker)
		} else {
			delete(l.namedWorkers, l.workerRing[l.workerNext])
			l.workerRing[l.workerNext] = worker
			l.workerNext = (l.workerNext + 1) % maxNamedWorkers
		}
	}
	l.namedWorkers[worker] = lp
}

// steps books a trainer's totals for one of its loops.
func (l *ledger) steps(p *process, lp *loop, m *message, at time.Duration) {
	if s := m.Steps; s != nil && m.Seq > lp.stepsSeq {
		if lp.steps != nil && shrinks(stepSignals, s, lp.steps) {
			l.malformed++
			return
		}
		lp.waits.add(s.Waits)
		s.Waits = nil
		lp.stepsSeq, lp.steps, lp.news = m.Seq, s, at
		p.clock = max(p.clock, s.Clock)
	}
	if len(m.Sites) > 0 {
		if a := l.account(p, *m.Loader); a != nil {
			if a.loop == nil {
				l.bind(p)
			}
			l.sites(p, a, m)
		}
	}
}
