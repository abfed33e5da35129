// Package footprint keeps what pipetune itself takes of a machine small beside a job, and accounts for it: memory of a
// control group, its own garbage, CPU time and memory of its children.
package footprint

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/procfs"
)

// How the garbage collector is set beside a job.
const (
	// mostPercent lets the heap grow to 4 MiB, Go's least, between two collections while it is small: what a watch of a
	// few minutes keeps is 1 to 2 MiB, and to collect it takes 1 ms.
	mostPercent = 100
	// leastPercent bounds what collecting may cost should the heap be larger than was ever seen.
	leastPercent = 25
	// garbageRoom is how far the heap may grow between two collections. A watch of ten processes makes a quarter of a
	// megabyte of garbage a second; without this bound, a recording of 30 MiB would take 120 MiB of memory, and when a
	// busy machine makes a collection late, more.
	garbageRoom = 12 << 20
	// sizeEvery is how often the heap is looked at; it grows by some 16 kB a second.
	sizeEvery = 10 * time.Second
)

// Shrunk is what makes this process a small neighbour while it watches: one thread runs Go at a time, since each
// wake-up of a second one costs more than the 30 µs of work it would take over, and the garbage takes some room, but
// not more as the recording grows.
type Shrunk struct {
	threads, percent int // before
	now              int // percent
	next             time.Duration
	live             []metrics.Sample
}

// Shrink makes the process small until Undo.
func Shrink() *Shrunk {
	return &Shrunk{
		threads: runtime.GOMAXPROCS(1), percent: debug.SetGCPercent(mostPercent), now: mostPercent,
		live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}},
	}
}

// Keep sets the collector by the size of the heap, now and then. at is the time since the watch's start.
func (s *Shrunk) Keep(at time.Duration) {
	if at < s.next {
		return
	}
	s.next = at + sizeEvery
	metrics.Read(s.live)
	if s.live[0].Value.Kind() != metrics.KindUint64 {
		return // this Go does not tell it
	}
	// Setting it stops this process for a moment: only for a change that matters.
	if percent := collectAt(s.live[0].Value.Uint64()); percent < s.now*9/10 || percent > s.now*11/10 {
		s.now = percent
		debug.SetGCPercent(percent)
	}
}

// collectAt returns by how many percent a heap with so many bytes in use may grow.
func collectAt(live uint64) int {
	return min(max(int(garbageRoom*100/max(live, 1)), leastPercent), mostPercent)
}

// Undo leaves the process as it was.
func (s *Shrunk) Undo() {
	runtime.GOMAXPROCS(s.threads)
	debug.SetGCPercent(s.percent)
}

// Usage is what pipetune and its children have used so far.
type Usage struct {
	CPU  float64 // seconds
	Peak int64   // bytes, peaks added
}

// Used adds up what this process, the children it has collected and those still living have used. Memory is this
// process' peak and what living children hold beyond the pages of the program they share with it.
func Used(r *isolate.Runner) Usage {
	var s Usage
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			s.CPU += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
		}
		if who == unix.RUSAGE_SELF {
			s.Peak += u.Maxrss * 1024
		}
	}
	for _, pid := range r.Children() {
		s.add(pid)
	}
	return s
}

// add counts a living child. One that ends meanwhile is counted when it is collected.
func (s *Usage) add(pid int) {
	p, err := procfs.FS{}.Open(pid)
	if err != nil {
		return
	}
	defer p.Close()
	var st procfs.Stat
	if p.Stat(&st) == nil {
		s.CPU += st.UserSeconds + st.SystemSeconds
	}
	var m procfs.Statm
	if p.Statm(&m) == nil {
		s.Peak += m.ResidentBytes - m.SharedBytes
	}
}
