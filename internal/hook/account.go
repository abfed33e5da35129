package hook

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
)

// account is what one process reported on one loader: its newest totals, so that what came since can be added to the
// loop's.
type account struct {
	loop  *loop // nil until it is known whose batches they are
	seq   int64
	work  workTotals // without its Times
	times []int64    // of batches reported before the loop was known, in microseconds, at most maxHeld
	sites map[recording.Site]siteCalls
}

const maxHeld = 4096

// account finds what a process reported on a loader; nil where there is no room.
func (l *ledger) account(p *process, number int) *account {
	a := p.accounts[number]
	if a == nil {
		if len(p.accounts) >= maxLoaders || l.accounts >= maxAccounts {
			l.drop(noteLoaders, p)
			return nil
		}
		l.accounts++
		a = &account{sites: map[recording.Site]siteCalls{}}
		p.accounts[number] = a
	}
	return a
}

// closeAccounts forgets what a process reported; in its loops' totals it stays.
func (l *ledger) closeAccounts(p *process) {
	l.bind(p)
	for _, a := range p.accounts {
		l.accounts--
		l.siteRecords -= len(a.sites)
	}
	p.accounts = map[int]*account{}
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
	if a.loop == nil && !p.unbound {
		p.unbound = true
		l.unbound = append(l.unbound, p)
	}
	if w := m.Work; w != nil && m.Seq > a.seq {
		if shrinks(workSignals, w, &a.work) {
			l.malformed++
			return
		}
		before, times := a.work, w.Times
		w.Times, w.Slow = nil, slices.Clone(w.Slow[:min(len(w.Slow), 8)])
		a.seq, a.work = m.Seq, *w
		if a.loop != nil {
			a.loop.addWork(a.work, before, times, at)
		} else {
			a.times = append(a.times, times[:min(len(times), maxHeld-len(a.times))]...)
		}
	}
	l.sites(p, a, m)
}

// addWork adds to a loop what a process did since it reported before.
func (lp *loop) addWork(now, before workTotals, times []int64, at time.Duration) {
	if lp.work == nil {
		lp.work = &workTotals{}
	}
	lp.work.accumulate(now, before)
	lp.fetches.add(times)
	lp.noteSlow(now.Slow, before.Slow)
	lp.news = at
}

// sites books calls from lines of the person's source.
func (l *ledger) sites(p *process, a *account, m *message) {
	for _, s := range m.Sites {
		seen, known := a.sites[s.Site]
		if !known {
			if len(a.sites) >= maxSites || l.siteRecords >= maxSiteRecords {
				l.drop(noteSites, p)
				continue
			}
			l.siteRecords++
		}
		if s.Calls < seen.Calls || s.Time < seen.Time { // an older message
			continue
		}
		a.sites[s.Site] = s.siteCalls
		if a.loop != nil {
			l.addSite(a.loop, s.Site, siteCalls{s.Calls - seen.Calls, s.Time - seen.Time})
		}
	}
}

// bind finds the loops of what a process reported, where they are known by now, and adds it to them. It reports whether
// none is left.
func (l *ledger) bind(p *process) bool {
	left := false
	for number, a := range p.accounts {
		if a.loop != nil {
			continue
		}
		lp := l.owner(p, number)
		if lp == nil {
			left = true
			continue
		}
		a.loop = lp
		if a.seq > 0 {
			lp.addWork(a.work, workTotals{}, a.times, l.lastSeen)
		}
		a.times = nil
		for _, key := range slices.SortedFunc(maps.Keys(a.sites), inOrder) {
			l.addSite(lp, key, a.sites[key])
		}
		if p != lp.trainer {
			l.recruit(p, lp)
			if p.workerOf == nil {
				p.workerOf = lp.trainer
				p.workerOf.lostAll = plus(p.workerOf.lostAll, p.lostAll)
			}
		}
	}
	return !left
}

// inOrder compares lines of source, so that a recording of the same messages is the same.
func inOrder(a, b recording.Site) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.What, b.What), cmp.Compare(a.Function, b.Function))
}

// owner finds the loop for which a process makes batches: its own where it made the loader, else the one its trainer
// told it to be a worker of, else the one that its parent gave this number; nil where that is not known yet.
func (l *ledger) owner(p *process, number int) *loop {
	if lp := p.byNum[number]; lp != nil {
		return lp
	}
	if lp := l.namedWorkers[p.inner]; lp != nil && lp.trainer != p {
		return lp
	}
	if parent := l.inner[p.parent]; parent != nil && p.parent.pid != 0 && parent != p {
		return parent.byNum[number]
	}
	return nil
}
