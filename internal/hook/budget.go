package hook

import (
	"strconv"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
)

// A message costs one unit and another per costBytes, some 8 µs each of CPU time (AMD EPYC, BenchmarkTake). The hook sends some 10 messages a second, and
// holds itself to less than a process may spend (state.py).
const (
	costBytes     = 1024
	processBudget = 400  // a second, of one process
	wholeBudget   = 3000 // a second, of all together: 2.4 % of one CPU
)

// budget is what may be spent within a second. The zero value has all of it.
type budget struct {
	since time.Duration
	spent int
}

// spend takes cost from what is left of limit in this second, and reports whether there was as much.
func (b *budget) spend(cost, limit int, at time.Duration) bool {
	if at-b.since >= time.Second {
		b.since, b.spent = at, 0
	}
	if b.spent+cost > limit {
		return false
	}
	b.spent += cost
	return true
}

// note is something that was left out, to be said once in the recording.
type note struct {
	signal, entity string
	reason         string
	said           bool
}

const (
	noteFlood = iota
	noteNoise
	noteProcesses
	noteLoaders
	noteUntold
	noteSites
	noteEpochs
	noteEvents
)

// drop counts a message, or a part of one, that is left out, and keeps the reason for the recording.
func (l *ledger) drop(kind int, p *process) {
	l.dropped++
	if _, noted := l.notes[kind]; noted {
		return
	}
	n := note{signal: "hook_*"}
	if p != nil {
		n.entity = p.entity
	}
	switch kind {
	case noteFlood:
		n.reason = "more messages came than are looked at, " + strconv.Itoa(processBudget) + " a second of one process: totals of this time came late"
	case noteNoise:
		n.reason = "a process of the job sends what no hook of this version sends: it is heard once in " + restTime.String()
	case noteProcesses:
		n.entity, n.reason = "", "more than "+strconv.Itoa(maxProcesses)+" processes with the hook at a time: later ones are not heard"
	case noteLoaders:
		n.reason = "more than " + strconv.Itoa(maxLoaders) + " loaders of a trainer, or " + strconv.Itoa(maxTrainers) + " trainers: later ones are not heard"
	case noteUntold:
		n.reason = "more loaders of different kinds, or at once, are gone over than the hook keeps apart: of some nothing is told, and the time in them looks like the step's"
	case noteSites:
		n.signal, n.reason = "hook_site_*", "more than "+strconv.Itoa(maxSites)+" lines of one loader: later ones are not counted"
	case noteEvents:
		n.signal, n.reason = recording.EventEpoch, "more than "+strconv.Itoa(maxEvents)+" events: later ones are left out"
	case noteEpochs:
		n.signal, n.reason = recording.EventEpoch, "more than "+strconv.Itoa(maxEpochs)+" epochs between two readings: some have no event of their own"
	}
	l.notes[kind] = n
}

// say records what was left out, once.
func (l *ledger) say(sink recording.Sink) {
	for kind, n := range l.notes {
		if !n.said {
			n.said = true
			l.notes[kind] = n
			sink.Unseen(n.signal, n.entity, n.reason, "")
		}
	}
}
