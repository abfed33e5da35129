// Package live is the state of a watched job now: what its trainers wait for, what its workers, GPUs, CPUs and disks
// do, second by second, and what that adds up to since the watch began.
//
// It is a second reader of what a watch records, beside package evidence, and says nothing that takes judging: no
// interval, no cause, no advice. It holds the last readings only, so that it stays as small however long the watch is.
// What was not read is absent, never zero.
package live

import (
	"math"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// Every is the time between two frames. The slowest of what moves in them, the CPU time of processes, is read each half
// second, and the kernel counts it in steps of 10 ms.
const Every = time.Second

// Member is a process of the job.
type Member struct {
	ID      string // its number and start, as entities of the recording end
	PID     int
	Rank    string // of a trainer and of its workers
	Trainer string // ID of a worker's trainer; "" for all others
	Trains  bool
}

// Frame is the state at one moment. It does not change any more.
type Frame struct {
	At      time.Duration // since the start of the watch
	Ranks   []string      // of the trainers
	Figures []Figure
	Workers []Worker
}

// Worker is a loader worker now. NaN: not known.
type Worker struct {
	PID    int
	Rank   string
	CPU    float64 // cores
	RSS    float64 // bytes
	States []float64
}

// Get returns a figure; false where it is not known now.
func (f *Frame) Get(d metric.Desc, of Owner) (Figure, bool) {
	for _, g := range f.Figures {
		if g.Signal.Name == d.Name && g.Of == of {
			return g, g.Known()
		}
	}
	return Figure{}, false
}

// All returns the figures of a signal, in the order they were first seen.
func (f *Frame) All(d metric.Desc) (all []Figure) {
	for _, g := range f.Figures {
		if g.Signal.Name == d.Name {
			all = append(all, g)
		}
	}
	return all
}

// Tracker makes frames of what is recorded. Its zero value is ready.
type Tracker struct {
	at     time.Duration
	begun  bool
	before map[key]recording.Point // the last reading of each counter
	now    map[key]reading
	traces []*trace
	index  map[traceKey]*trace
}

type key struct{ metric, entity string }

type traceKey struct {
	signal string
	of     Owner
}

// reading is what became of one series since the last frame.
type reading struct {
	last, mean  float64
	grown, over float64 // of a counter: by how much, in how many seconds; over is 0 where that is not known
}

// Due reports whether it is time for a frame.
func (t *Tracker) Due(at time.Duration) bool { return !t.begun || at-t.at >= Every }

// Update reads what is newly recorded, and returns the state now.
func (t *Tracker) Update(source *recording.Recorder, members []Member, at time.Duration) *Frame {
	if !t.begun {
		t.begun, t.before, t.now, t.index = true, map[key]recording.Point{}, map[key]reading{}, map[traceKey]*trace{}
		t.at = -1 // the readings of the first tick count
	}
	clear(t.now)
	source.Latest(t.at, t.read)
	t.at = at
	f := &Frame{At: at}
	current := map[traceKey]value{}
	for _, v := range t.derive(members, f) {
		k := traceKey{v.signal.Name, v.of}
		current[k] = v
		if t.index[k] == nil {
			t.index[k] = &trace{Figure: Figure{Signal: v.signal, Of: v.of, Flow: v.flow}}
			t.traces = append(t.traces, t.index[k])
		}
	}
	for _, trace := range t.traces {
		v, there := current[traceKey{trace.Signal.Name, trace.Of}]
		if !there {
			v.now = math.NaN()
		}
		trace.push(v.now)
		trace.Total += v.amount
		f.Figures = append(f.Figures, trace.figure())
	}
	t.forget()
	return f
}

func (t *Tracker) read(name, entity string, points []recording.Point) {
	if len(points) == 0 {
		return
	}
	k := key{name, entity}
	last, sum := points[len(points)-1], 0.0
	for _, p := range points {
		sum += p.Value
	}
	r := reading{last: last.Value, mean: sum / float64(len(points))}
	if before, ok := t.before[k]; ok && last.Value >= before.Value {
		r.grown, r.over = last.Value-before.Value, (last.At - before.At).Seconds()
	}
	t.before[k] = last
	t.now[k] = r
}

// forget drops the last readings of what is read no more: of workers that are gone, as a rule.
func (t *Tracker) forget() {
	for k, p := range t.before {
		if t.at-p.At > stands*10*Every {
			delete(t.before, k)
		}
	}
}
