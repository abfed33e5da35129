package hook

import (
	"time"
)

// apply books a message of a known process.
func (l *ledger) apply(p *process, m *message, at time.Duration) {
	if m.Kind == kindHello && m.Seq <= p.seq && m.At > p.at {
		l.restart(p)
	}
	p.heard, l.heard = at, at
	if m.Seq > p.seq {
		p.seq, p.at = m.Seq, m.At
		l.lose(p, m.Lost)
		l.untold(p, m.Untold)
	}
	if m.Parent != 0 {
		p.parent = innerPID{m.Parent, p.inner.same}
	}
	loops := len(l.loops)
	switch m.Kind {
	case kindHello:
		l.hello(p, m)
	case kindOff:
		l.switchedOff(p, m)
	case kindLoader:
		if lp := l.loop(p, *m.Loader); lp != nil && lp.made == nil {
			lp.made, lp.news = m.Made, at
		}
	case kindEpoch:
		l.epoch(p, m, at)
	case kindSteps:
		l.steps(p, m, at)
	case kindWork:
		l.work(p, m, at)
	}
	if len(l.loops) > loops { // whoever told of it before its trainer did
		for q := range l.unbound {
			l.bindAll(q, at)
		}
	}
}

// restart is for a process that began another program (execve): its hook counts from 0 again, and so do its loaders.
func (l *ledger) restart(p *process) {
	for _, a := range p.accounts {
		l.accounts--
		l.siteRecords -= len(a.sites)
	}
	delete(l.unbound, p)
	p.accounts, p.byNum = map[int]*account{}, map[int]*loop{}
	for _, lp := range p.loops {
		p.base = max(p.base, lp.number+1)
	}
	p.seq, p.lost, p.untold, p.off, p.greeted = 0, 0, 0, "", 0
}

// lose books messages that could not be sent, and to the process's trainer where that is known.
func (l *ledger) lose(p *process, lost int64) {
	more := max(lost-p.lost, 0)
	p.lost = max(lost, p.lost)
	l.lost = plus(l.lost, more)
	if p.boss != nil {
		p.boss.lostAll = plus(p.boss.lostAll, more)
	} else {
		p.lostAll = plus(p.lostAll, more)
	}
}

// untold books loaders that a process went over without a number for them.
func (l *ledger) untold(p *process, untold int64) {
	if untold > p.untold {
		p.untold = untold
		l.drop(noteUntold, p)
	}
}

func (l *ledger) hello(p *process, m *message) {
	if !p.hello {
		p.hello = true
		l.loaded++
	}
	p.python, p.torch, p.rank = l.name(m.Python), l.name(m.Torch), m.Rank
	p.executable, p.folder = m.Executable, m.Folder
	if l.unbound[p] {
		l.bindAll(p, p.heard)
	}
}

func (l *ledger) switchedOff(p *process, m *message) {
	if p.off != "" {
		return
	}
	p.off = l.name(m.Reason)
	if p.off == "" {
		p.off = "no reason given"
	}
	if len(l.offs) < maxOffs {
		l.offs = append(l.offs, Off{PID: p.pid, Reason: p.off})
		l.greetings = append(l.greetings, p)
	}
}

// epoch books the beginning or the end of an epoch, and whose workers are whose.
func (l *ledger) epoch(p *process, m *message, at time.Duration) {
	lp := l.loop(p, *m.Loader)
	if lp == nil {
		return
	}
	l.begin(p, at)
	lp.news = at
	for _, pid := range m.Epoch.Workers {
		worker := innerPID{pid, p.inner.same}
		l.tell(worker, lp)
		if q := l.inner[worker]; q != nil && l.unbound[q] {
			l.bindAll(q, at)
		}
	}
	e := lp.epochs[m.Epoch.Number]
	if e == nil {
		if m.Epoch.Number < lp.recordedTo {
			return // told of and recorded before
		}
		if l.epochs >= maxEpochs {
			l.drop(noteEpochs, p)
			return
		}
		e = &epoch{}
		lp.epochs[m.Epoch.Number] = e
		l.epochs++
	}
	if m.Seq <= e.seq {
		return
	}
	e.seq, e.told = m.Seq, *m.Epoch
	e.told.Workers = nil
	lp.newest = max(lp.newest, m.Epoch.Number)
}

// begin notes that a process goes over a loader.
func (l *ledger) begin(p *process, at time.Duration) {
	if p.begun == 0 {
		p.begun = at
		l.greetings = append(l.greetings, p)
	}
}

// tell keeps whose worker a process is, the newest maxTold of them.
func (l *ledger) tell(worker innerPID, lp *loop) {
	if _, there := l.told[worker]; !there {
		if len(l.toldRing) < maxTold {
			l.toldRing = append(l.toldRing, worker)
		} else {
			delete(l.told, l.toldRing[l.toldNext])
			l.toldRing[l.toldNext] = worker
			l.toldNext = (l.toldNext + 1) % maxTold
		}
	}
	l.told[worker] = lp
}

// steps books a trainer's totals for one of its loops.
func (l *ledger) steps(p *process, m *message, at time.Duration) {
	lp := l.loop(p, *m.Loader)
	if lp == nil {
		return
	}
	l.begin(p, at)
	if m.Steps != nil && m.Seq > lp.stepsSeq {
		values := m.Steps.values()
		if !plausible(stepSignals[:], values[:], lp.steps[:]) {
			l.malformed++
			return
		}
		lp.stepsSeq, lp.steps, lp.stepsTold, lp.news = m.Seq, values, true, at
		if m.Steps.BatchBytes > 0 {
			lp.batchBytes = m.Steps.BatchBytes
		}
		lp.waits.add(m.Steps.Waits)
		p.clock = max(p.clock, m.Steps.Clock)
	}
	if len(m.Sites) > 0 {
		if a := l.account(p, *m.Loader); a != nil {
			l.bind(p, a, lp, at)
			l.sites(p, a, m)
		}
	}
}
