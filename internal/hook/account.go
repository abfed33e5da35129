package hook

import (
	"slices"
	"time"
)

// account finds what a process told of a loader; nil where there is no room.
func (l *ledger) account(p *process, number int) *account {
	a := p.accounts[number]
	if a == nil {
		if len(p.accounts) >= maxLoaders || l.accounts >= maxAccounts {
			l.drop(noteLoaders, p)
			return nil
		}
		l.accounts++
		a = &account{sites: map[siteKey]*siteSeen{}}
		p.accounts[number] = a
	}
	return a
}

// work books what a process did to make batches.
func (l *ledger) work(p *process, m *message, at time.Duration) {
	number := -1
	if m.Loader != nil {
		number = *m.Loader
	}
	a := l.account(p, number)
	if a == nil {
		return
	}
	if a.loop == nil {
		l.unbound[p] = true
		l.bindAll(p, at)
	}
	if m.Work != nil && m.Seq > a.seq {
		values := m.Work.values()
		if !plausible(workSignals[:], values[:], a.work[:]) {
			l.malformed++
			return
		}
		before, slow := a.work, a.slow
		a.seq, a.work, a.slow = m.Seq, values, slices.Clone(m.Work.Slow[:min(len(m.Work.Slow), 8)])
		if a.loop != nil {
			a.loop.addWork(values, before, at)
			a.loop.fetches.add(m.Work.Times)
			a.loop.noteSlow(a.slow, slow)
		} else if room := maxHeld - len(a.times); room > 0 {
			a.times = append(a.times, m.Work.Times[:min(len(m.Work.Times), room)]...)
		}
	}
	l.sites(p, a, m)
}

// addWork adds to a loop what a process did since it told before.
func (lp *loop) addWork(values, before workValues, at time.Duration) {
	for i, v := range values {
		lp.work[i] = plus(lp.work[i], v-before[i])
	}
	lp.workTold, lp.news = true, at
}

// sites books calls from lines of the person's source.
func (l *ledger) sites(p *process, a *account, m *message) {
	for _, s := range m.Sites {
		key := siteKey{kind: s.Kind, what: s.What, file: s.File, function: s.Function, line: s.Line}
		seen := a.sites[key]
		if seen == nil {
			if len(a.sites) >= maxSites || l.siteRecords >= maxSiteRecords {
				l.drop(noteSites, p)
				continue
			}
			l.siteRecords++
			seen = &siteSeen{}
			a.sites[key] = seen
		}
		if m.Seq <= seen.seq || s.Calls < seen.calls || s.Time < seen.time {
			continue
		}
		if a.loop != nil {
			l.addSite(a.loop, key, s.Calls-seen.calls, s.Time-seen.time)
		}
		seen.seq, seen.calls, seen.time = m.Seq, s.Calls, s.Time
	}
}

func (l *ledger) addSite(lp *loop, key siteKey, calls, time int64) {
	s := lp.sites[key]
	if s == nil {
		if len(lp.siteList) >= maxSites {
			l.drop(noteSites, lp.trainer)
			return
		}
		s = &site{key: key}
		lp.sites[key] = s
		lp.siteList = append(lp.siteList, s)
	}
	s.calls, s.time, s.fresh = plus(s.calls, calls), plus(s.time, time), true
}

// bindAll finds the loops of what a process told, where they are known by now.
func (l *ledger) bindAll(p *process, at time.Duration) {
	left := false
	for number, a := range p.accounts {
		if a.loop == nil {
			if lp := l.owner(p, number); lp != nil {
				l.bind(p, a, lp, at)
			} else {
				left = true
			}
		}
	}
	if !left {
		delete(l.unbound, p)
	}
}

// owner finds the loop for which a process makes batches: its own where it made the loader, else the one its trainer told it to be a worker of, else
// the one that its parent gave this number; nil where that is not known yet.
func (l *ledger) owner(p *process, number int) *loop {
	if lp := p.byNum[number]; lp != nil {
		return lp
	}
	if lp := l.told[p.inner]; lp != nil && lp.trainer != p {
		return lp
	}
	if parent := l.inner[p.parent]; parent != nil && p.parent.pid != 0 && parent != p {
		return parent.byNum[number]
	}
	return nil
}

// bind adds what a process told so far to its loop.
func (l *ledger) bind(p *process, a *account, lp *loop, at time.Duration) {
	if a.loop != nil {
		return
	}
	a.loop = lp
	if a.seq > 0 {
		lp.addWork(a.work, workValues{}, at)
	}
	lp.fetches.add(a.times)
	lp.noteSlow(a.slow, nil)
	a.times = nil
	for key, seen := range a.sites {
		l.addSite(lp, key, seen.calls, seen.time)
	}
	l.recruit(p, lp)
	if p != lp.trainer && p.boss == nil {
		p.boss = lp.trainer
		p.boss.lostAll = plus(p.boss.lostAll, p.lostAll)
	}
}
