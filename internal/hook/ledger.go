package hook

import (
	"crypto/subtle"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/recording"
)

// What the ledger keeps at most. Whatever goes beyond is counted and left out.
const (
	maxProcesses    = 4096 // at a time
	maxTrainers     = 256
	maxLoaders      = 256  // of one trainer; its hook has 128 numbers for them (numbers.py)
	maxLoops        = 1024 // of all trainers
	maxAccounts     = 8192 // what one process reported on one loader
	maxSites        = 256  // of one loop, and of one process
	maxSiteRecords  = 1 << 16
	maxNamedWorkers = 8192 // process numbers of workers reported by trainers
	maxEpochs       = 1024 // epochs under way or not recorded yet
	maxOffs         = 256
	maxNumber       = 1 << 16 // number of a loader in its trainer
)

// stale is how long after its last message a process is asked for again: its number may have been given to another.
const stale = 5 * time.Second

// ledger adds up what processes reported. It touches nothing but the process table, and is not safe for concurrent use.
type ledger struct {
	config Config
	token  string
	uid    uint32
	start  time.Duration // of the recording, of CLOCK_MONOTONIC
	gone   func(pid int) bool

	processes    map[int]*process // by process number as we see it
	inner        map[innerPID]*process
	namedWorkers map[innerPID]*loop // workers that a trainer named
	workerRing   []innerPID         // the same, oldest first once it is full
	workerNext   int
	trainers     []*process
	loops        []*loop      // all, in the order they were first seen
	unbound      []*process   // some of what they reported is of a loop that is not known yet
	resting      map[int]rest // senders that are not heard, by process number as we see it
	budget       budget
	swept        time.Duration

	accounts, siteRecords, epochs int
	loaded                        int
	// messages from elsewhere, such as no hook can have sent, and those beyond what is kept or looked at
	refused, malformed, dropped int64

	lastSeen                  time.Duration
	offs                      []Off
	notes                     map[note]string // what was left out, with the entity of the first
	greetings                 []greeting
	greeted, recruits, events int // of the recording under way: greetings in it, workers among all, events in it
}

// innerPID is a process number as the process itself knows it. Those of a container are kept apart from those that are
// our own numbers too.
type innerPID struct {
	pid  int
	same bool
}

func newLedger(c Config, token string, uid uint32) *ledger {
	return &ledger{config: c, token: token, uid: uid,
		gone:      func(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH },
		processes: map[int]*process{}, inner: map[innerPID]*process{}, namedWorkers: map[innerPID]*loop{},
		resting: map[int]rest{}, notes: map[note]string{}}
}

// process is one process of the job that the hook was loaded in.
type process struct {
	pid      int
	inner    innerPID
	entity   string // "" for one that was gone before it could be asked for
	parent   innerPID
	hello    *hello // nil: it said none
	off      string
	seq      int64 // the newest of all kinds
	at       time.Duration
	lastSeen time.Duration
	lost     int64
	untold   int64
	sweeps   int  // that found it gone
	greeted  bool // among the greetings
	unbound  bool // among the ledger's
	budget   budget

	// of a trainer
	base    int // added to the numbers of its loaders: it has begun another program since, which counts from 0 again
	begun   time.Duration
	loops   []*loop
	byNum   map[int]*loop
	clock   time.Duration // up to which its loops' totals are reported
	lostAll int64         // messages lost by it and by its workers, for the recording
	index   bool          // it is among the trainers

	// of whoever makes batches, or calls what is counted
	workerOf *process         // the trainer whose worker it is, nil where that is not known, or it is none
	accounts map[int]*account // by the loader's number as it reported it; -1 where it did not
}

// take takes one datagram. whole is false where its end was cut off.
func (l *ledger) take(from sender, data []byte, whole bool, at time.Duration) {
	if from.uid != l.uid || from.pid <= 0 {
		l.refused++
		return
	}
	p := l.processes[from.pid]
	var entity string
	known := p != nil
	if !known {
		if r, resting := l.resting[from.pid]; resting && at < r.until {
			if r.member {
				l.drop(noteNoise, nil)
			} else {
				l.refused++
			}
			return
		}
		var ok bool
		if entity, ok = l.identify(from.pid); !ok && !l.gone(from.pid) {
			l.refuse(from.pid, at)
			return
		}
	}
	cost := 1 + len(data)/costBytes
	if known && !p.budget.spend(cost, processBudget, at) || !l.budget.spend(cost, wholeBudget, at) {
		l.drop(noteFlood, p)
		return
	}
	m := &message{}
	if bad := l.read(data, whole, m); bad != nil {
		*bad++
		if !known {
			l.rest(from.pid, true, at)
		}
		return
	}
	if known && (m.Kind == kindHello && m.Seq <= p.seq || at-p.lastSeen > stale) {
		if again, ok := l.identify(from.pid); ok && again != p.entity { // the number was given to another process
			l.forget(p)
			known, entity = false, again
		} else if !ok && !l.gone(from.pid) { // it left the job, or another has its number
			l.forget(p)
			l.refuse(from.pid, at)
			return
		}
	}
	if !known {
		if p = l.admit(from.pid, entity, m); p == nil {
			return
		}
	}
	l.apply(p, m, at)
}

// read decodes a datagram into m. Of one that is not to be heard it returns the count that it belongs to: refused
// where it holds another token than the job was given, malformed where no hook can have sent it.
func (l *ledger) read(data []byte, whole bool, m *message) *int64 {
	switch {
	case !whole || json.Unmarshal(data, m) != nil:
		return &l.malformed
	case subtle.ConstantTimeCompare([]byte(m.Token), []byte(l.token)) != 1:
		return &l.refused
	case !m.sound():
		return &l.malformed
	}
	return nil
}

// identify asks for the entity of a process and guards against an answer of another form.
func (l *ledger) identify(pid int) (string, bool) {
	entity, ok := l.config.Identify(pid)
	if !ok || !strings.HasPrefix(entity, processPrefix) {
		return "", false
	}
	return entity, true
}

const (
	processPrefix = "process/"
	// sweepEvery is the least time between two sweeps.
	sweepEvery = time.Second
	// restTime is for how long a process is not heard that was found to have no hook: finding out whose it is takes
	// several files of /proc.
	restTime = 200 * time.Millisecond
)

// rest is a sender that is not heard for now.
type rest struct {
	until  time.Duration
	member bool // it belongs to the job, and sent what no hook sends
}

// rest lets some time pass before a process that is not known is looked up again.
func (l *ledger) rest(pid int, member bool, at time.Duration) {
	if len(l.resting) >= maxProcesses {
		clear(l.resting)
	}
	l.resting[pid] = rest{until: at + restTime, member: member}
}

// refuse counts a message of somebody who is not of the job.
func (l *ledger) refuse(pid int, at time.Duration) {
	l.refused++
	l.rest(pid, false, at)
}

// admit makes a process known. One that is gone already has no entity, and is let in where the trainer or worker that
// began it is known.
func (l *ledger) admit(pid int, entity string, m *message) *process {
	inner := innerPID{m.PID, m.PID == pid}
	parent := innerPID{m.Parent, inner.same}
	if entity == "" && l.namedWorkers[inner] == nil && (m.Parent == 0 || l.inner[parent] == nil) {
		l.refused++
		return nil
	}
	if len(l.processes) >= maxProcesses {
		l.drop(noteProcesses, nil)
		return nil
	}
	p := &process{pid: pid, inner: inner, entity: entity, byNum: map[int]*loop{}, accounts: map[int]*account{}}
	l.processes[pid], l.inner[inner] = p, p
	delete(l.resting, pid)
	return p
}

// forget drops a process; what it reported stays in its loops' totals.
func (l *ledger) forget(p *process) {
	l.closeAccounts(p)
	delete(l.processes, p.pid)
	if l.inner[p.inner] == p {
		delete(l.inner, p.inner)
	}
}

// sweep is called after each message. With the table three quarters full it gives the places of workers that have ended
// to others. What one sent before its end may still lie in the socket, behind as many messages as the kernel queues:
// ten to some hundreds, which are read well within sweepEvery. Between two sweeps pipetune may have been stopped for
// all of that time, so a worker has its place until a third finds it gone.
func (l *ledger) sweep(at time.Duration) {
	if len(l.processes) < maxProcesses*3/4 || at-l.swept < sweepEvery {
		return
	}
	l.swept = at
	for _, p := range l.processes {
		switch {
		case p.index:
		case at-p.lastSeen <= stale || !l.gone(p.pid):
			p.sweeps = 0
		case p.sweeps == 2:
			l.forget(p)
		default:
			p.sweeps++
		}
	}
}

// loop finds a loop by the number its trainer gave it, or begins one, which makes the process a trainer; nil where
// there is no room.
func (l *ledger) loop(p *process, number int) *loop {
	if lp := p.byNum[number]; lp != nil {
		return lp
	}
	if p.entity == "" || !p.index && len(l.trainers) >= maxTrainers || len(p.loops) >= maxLoaders ||
		len(l.loops) >= maxLoops {
		l.drop(noteLoaders, p)
		return nil
	}
	if !p.index {
		p.index = true
		l.trainers = append(l.trainers, p)
	}
	number += p.base
	lp := &loop{trainer: p, name: p.entity[len(processPrefix):] + "." + strconv.Itoa(number), number: number,
		epochs: map[int]*epochMessage{}, sites: map[recording.Site]*site{}}
	if p.hello != nil {
		lp.folder = p.hello.Folder
	}
	p.byNum[number-p.base] = lp
	p.loops = append(p.loops, lp)
	l.loops = append(l.loops, lp)
	return lp
}
