package hook

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

const (
	// lively is how long after the last news of a loop its totals are recorded at each tick.
	lively = 2 * time.Second
	// restful is the time between two readings of a loop without news, one more for each restfulLoops loops: what
	// happens then is not smeared over all of its rest.
	restful      = time.Second
	restfulLoops = 16
	// maxEvents bounds the events of one recording.
	maxEvents = 20000
	// maxRecruits is of how many workers a recording tells for which loop they make batches: workers that are started
	// anew each epoch must not take the room of what else is reported.
	maxRecruits = 1024
)

// record records what is known at a tick.
func (l *ledger) record(sink recording.Sink, at time.Duration) {
	l.unbound = slices.DeleteFunc(l.unbound, func(p *process) bool {
		p.unbound = !l.bind(p)
		return !p.unbound
	})
	for n, entity := range l.notes {
		sink.Unseen(n.signal, entity, n.reason, "")
	}
	l.recordGreetings(sink)
	pause := restful + restful*time.Duration(len(l.loops)/restfulLoops)
	reported := map[*process]bool{}
	for _, lp := range l.loops {
		entity, last := "loop/"+lp.name, lp.recorded.at
		if lp.made != nil && !lp.recorded.made {
			lp.recorded.made = true
			l.event(sink, recording.EventLoader, entity, l.construction(*lp.made))
		}
		l.recordEpochs(sink, lp, entity)
		if last != 0 && lp.news < last-lively && at-last < pause || lp.steps == nil && lp.work == nil {
			continue
		}
		// Always all totals: a counter that is recorded only when it has grown would seem to have grown all the while.
		lp.recorded.at = at
		if lp.steps != nil {
			record(sink, entity, stepSignals, lp.steps)
		}
		if lp.work != nil {
			record(sink, entity, workSignals, lp.work)
		}
		lp.waits.record(sink, metric.HookWaitSpread, lp.name, &lp.recorded.waits)
		lp.fetches.record(sink, metric.HookFetchSpread, lp.name, &lp.recorded.fetches)
		l.recordSites(sink, lp)
		l.recordSlow(sink, lp, entity)
		reported[lp.trainer] = true
	}
	for t := range reported {
		sink.Add(metric.HookClock, t.entity, seconds(t.clock))
		sink.Add(metric.HookLost, t.entity, float64(t.lostAll))
	}
}

// record records the classes that changed. One that has no reading yet was 0.
func (s *spread) record(sink recording.Sink, d metric.Desc, name string, recorded *spread) {
	for k, n := range s {
		if n != recorded[k] {
			sink.Add(d, "spread/"+name+"/"+strconv.Itoa(k), float64(n))
		}
	}
	*recorded = *s
}

// greeting is a process of which an EventHook tells: that the hook was loaded in it, else why it switched itself off,
// else the loop it works for.
type greeting struct {
	p    *process
	off  string
	loop *loop
}

// greet has the recording say that the hook was loaded in a process.
func (l *ledger) greet(p *process) {
	if !p.greeted {
		p.greeted = true
		l.greetings = append(l.greetings, greeting{p: p})
	}
}

// recruit has it say for which loop a worker makes batches.
func (l *ledger) recruit(p *process, lp *loop) {
	if l.recruits < maxRecruits {
		l.recruits++
		l.greetings = append(l.greetings, greeting{p: p, loop: lp})
	}
}

// recordGreetings records in which processes the hook spoke up, and where it fell silent.
func (l *ledger) recordGreetings(sink recording.Sink) {
	for _, g := range l.greetings[l.greeted:] {
		row := recording.Hook{State: "loaded", SyncPoints: &l.config.SyncPoints}
		switch {
		case g.p.entity == "":
			continue
		case g.loop != nil:
			row = recording.Hook{State: "worker", Loop: "loop/" + g.loop.name}
		case g.off != "":
			row = recording.Hook{State: "off", Reason: g.off}
		case g.p.hello != nil:
			row.Python, row.Torch, row.Rank = g.p.hello.Python, g.p.hello.Torch, g.p.hello.Rank
		}
		l.event(sink, recording.EventHook, g.p.entity, row)
	}
	l.greeted = len(l.greetings)
}

// construction makes that of a loader fit to be recorded.
func (l *ledger) construction(m recording.Loader) recording.Loader {
	for _, s := range []*string{&m.Class, &m.StartMethod, &m.Sharing, &m.Dataset, &m.Sampler, &m.Collate, &m.Function} {
		*s = l.name(*s)
	}
	if m.File = l.path(m.File); m.File == "" {
		m.Line = 0
	}
	if m.ItemFile = l.path(m.ItemFile); m.ItemFile == "" {
		m.ItemLine = 0
	}
	given := m.Given[:min(len(m.Given), 64)]
	m.Given = nil
	for _, g := range given {
		m.Given = append(m.Given, strings.ReplaceAll(l.name(g), ",", ""))
	}
	return m
}

// recordEpochs records the epochs that are over: those that ran to their end, and those before the one under way.
func (l *ledger) recordEpochs(sink recording.Sink, lp *loop, entity string) {
	for _, number := range slices.Sorted(maps.Keys(lp.epochs)) {
		e := lp.epochs[number]
		if !e.Ended && number >= lp.newest {
			continue
		}
		delete(lp.epochs, number)
		l.epochs--
		lp.recordedTo = max(lp.recordedTo, number+1)
		each := 1 // all of the first 200, then each 10th, from 2,000 on each 100th, and so on
		for number >= 200*each {
			each *= 10
		}
		if number%each != 0 {
			continue
		}
		row := recording.Epoch{Number: number, Begun: seconds(e.Begun - l.start), Create: seconds(e.Create),
			Steps: e.Steps, Wait: seconds(e.Wait), Wall: seconds(e.Wall), WorkersBorn: e.Born, Grad: e.Grad}
		if e.Draw != nil {
			row.Draw = new(seconds(*e.Draw))
		}
		if e.Redraw != nil {
			row.Redraw = new(seconds(*e.Redraw))
		}
		if e.FirstWait != nil {
			row.FirstWait = new(seconds(*e.FirstWait))
		}
		if e.Ended && e.Drain != nil {
			row.Drain = new(seconds(*e.Drain))
		}
		if each > 1 {
			row.Each = each
		}
		l.event(sink, recording.EventEpoch, entity, row)
	}
}

// recordSites records the lines from which calls were made since.
func (l *ledger) recordSites(sink recording.Sink, lp *loop) {
	for k, s := range lp.siteList {
		if s.siteCalls == s.recorded {
			continue
		}
		entity := "site/" + lp.name + "/" + strconv.Itoa(k)
		if s.recorded == (siteCalls{}) {
			row := recording.Site{Kind: s.Kind, What: l.name(s.What), File: l.path(s.File), Line: s.Line,
				Function: l.name(s.Function)}
			if s.Kind == "open" {
				row.What = l.path(s.What)
			}
			l.event(sink, recording.EventSite, entity, row)
		}
		s.recorded = s.siteCalls
		sink.Add(metric.HookSiteCalls, entity, float64(s.Calls))
		sink.Add(metric.HookSiteTime, entity, seconds(s.Time))
	}
}

// recordSlow records the items that are newly among the slowest of their loop, and again those that were measured
// twice as often since, or whose mean is no longer the recorded one: what was slow once, with a cold cache, is not
// slow for ever.
func (l *ledger) recordSlow(sink recording.Sink, lp *loop, entity string) {
	for i := range lp.slow {
		s := &lp.slow[i]
		mean := s.mean()
		news := i < slowTop && s.said == 0 || s.said > 0 && (s.times >= 2*s.said || mean > s.saidMicros*5/4 ||
			mean < s.saidMicros*3/4)
		if !news || lp.recorded.slow >= slowEach {
			continue
		}
		s.said, s.saidMicros = max(s.times, 1), mean
		lp.recorded.slow++
		l.event(sink, recording.EventSlowItem, entity, recording.SlowItem{Index: s.index,
			Seconds: float64(mean) / 1e6, Times: int(s.times)})
	}
}

// event records an event with its row unless there were too many.
func (l *ledger) event(sink recording.Sink, kind, entity string, row any) {
	if l.events >= maxEvents {
		l.drop(noteEvents, nil)
		return
	}
	l.events++
	sink.Event(kind, entity, recording.Attrs(row))
}

// anew begins another recording: all that is known is to be recorded in it, but for the epochs of the one before and
// the workers that are gone.
func (l *ledger) anew() {
	l.greetings = slices.DeleteFunc(l.greetings,
		func(g greeting) bool { return g.loop != nil && l.processes[g.p.pid] != g.p })
	l.events, l.greeted, l.recruits = 0, 0, 0
	for _, g := range l.greetings {
		if g.loop != nil {
			l.recruits++
		}
	}
	for _, lp := range l.loops {
		lp.recorded = recorded{}
		for _, s := range lp.siteList {
			s.recorded = siteCalls{}
		}
		for i := range lp.slow {
			lp.slow[i].said = 0
		}
	}
}

// name makes a name of the job fit to be recorded.
func (l *ledger) name(s string) string {
	return untrusted.Cut(untrusted.Path(untrusted.Cut(s, 4*MaxString).String(), l.config.Redaction), MaxString).String()
}

// path makes a file's name fit to be recorded: relative to the folder the job was started in where it lies below it.
func (l *ledger) path(s string) string {
	folder := strings.TrimSuffix(l.config.Folder, "/") + "/"
	if below, ok := strings.CutPrefix(s, folder); ok && l.config.Folder != "" && below != "" {
		s = below
	}
	return l.name(s)
}
