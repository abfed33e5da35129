package hook

import (
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
)

// A message costs one unit and another per costBytes, some 8 µs each of CPU time (AMD EPYC, BenchmarkTake). The hook
// sends some 10 messages a second, and holds itself to less than a process may spend (state.py).
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

// note is why something was left out, to be said once in a recording.
type note struct{ signal, reason string }

var (
	noteFlood = noteOf("hook_*", "more messages came than are read, %d a second of one process: totals of this "+
		"time came late", processBudget)
	noteNoise = noteOf("hook_*", "a process of the job sends what no hook of this version sends: it is read once in "+
		"%v", restTime)
	noteProcesses = noteOf("hook_*", "more than %d processes with the hook at a time: later ones are ignored",
		maxProcesses)
	noteLoaders = noteOf("hook_*", "more than %d loaders of a trainer, or %d trainers: later ones are ignored",
		maxLoaders, maxTrainers)
	noteUncounted = noteOf("hook_*", "more loaders of different kinds, or at once, are gone over than the hook keeps "+
		"apart: some are not reported, and the time in them looks like the step's")
	noteSites  = noteOf("hook_site_*", "more than %d lines of one loader: later ones are not counted", maxSites)
	noteEvents = noteOf(recording.EventEpoch, "more than %d events: later ones are left out", maxEvents)
	noteEpochs = noteOf(recording.EventEpoch, "more than %d epochs between two readings: some have no event of their "+
		"own", maxEpochs)
)

func noteOf(signal, format string, args ...any) note {
	return note{signal, fmt.Sprintf(format, args...)}
}

// drop counts a message, or a part of one, that is left out, and keeps the reason for the recording.
func (l *ledger) drop(n note, p *process) {
	l.dropped++
	if _, noted := l.notes[n]; noted {
		return
	}
	l.notes[n] = ""
	if p != nil {
		l.notes[n] = p.entity
	}
}
