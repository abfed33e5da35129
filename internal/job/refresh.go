package job

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
)

// How often things are looked at. A worker of a short epoch lives some tenths of a second, so births are looked for at
// every tick (one read of some 10 µs per trainer); the rest can wait.
const (
	fullEvery = time.Second     // the whole tree
	slowEvery = 5 * time.Second // what hardly changes: libraries loaded later, a process that became another program
	// scanEvery bounds full looks at /proc where the kernel has no children files: 64 ms for 5,000 processes on Linux
	// 6.18.
	scanEvery = 5 * time.Second
	// youngFor is how long a process without a role may still become a worker: spawn imports torch first, measured up
	// to 7 s for 8 workers on 2 cores.
	youngFor = 60 * time.Second
	// endAfter is how long a job without a trainer is waited for: torchrun starts its ranks again after one failed.
	endAfter = 2 * time.Second
)

// Refresh looks for births, deaths and changes of roles and tells sink about them. It is meant to be called at every
// tick, about each 100 ms, and looks at the whole tree only each second. now is the time since the recording's start.
func (j *Job) Refresh(ctx context.Context, now time.Duration, sink recording.Sink) {
	if ctx.Err() != nil || j.ended {
		return
	}
	full := !j.refreshed || now-j.lastFull >= fullEvery || now < j.lastFull
	slow := j.refreshed && now-j.lastSlow >= slowEvery
	if j.table.noChildren && j.refreshed && now-j.lastFull < scanEvery {
		full = false
	}
	if !j.refreshed {
		for _, n := range j.table.nodes {
			n.seen = now
		}
		j.lastSlow, j.lastTrainer = now, now
	}
	changed := !j.refreshed
	j.refreshed = true
	if full {
		j.lastFull = now
		changed = j.dropEnded(sink) || changed
		changed = j.table.grow(j.roots, now, slow) || changed
		changed = j.table.markBatchTakers() || changed
	} else {
		changed = j.readChildren(now, sink)
	}
	changed = j.settleRoles(now, full) || changed
	if slow {
		j.lastSlow = now
		changed = j.renew() || changed
		j.noteExec(sink)
	}
	if changed {
		j.table.inspectCandidates()
		j.table.classify(j.roots[0]) // which is taken for the trainer where nothing tells one
		j.follow()
		j.publish()
	}
	if full {
		j.nameThreads(sink)
	}
	j.record(sink)
	j.end(now, sink)
}

// follow marks the processes whose births matter at every tick, where the kernel lists children.
func (j *Job) follow() {
	for _, n := range j.table.nodes {
		parent := j.table.nodes[n.ppid]
		server := n.role == Server && n.facts.kind == forkServer && parent != nil && parent.role == Trainer
		n.follows = (n.role == Trainer || server) && (n.follows || !j.table.noChildren)
	}
}

// readChildren reads the lists of children of trainers and their forkservers. It reports whether anything changed.
func (j *Job) readChildren(now time.Duration, sink recording.Sink) bool {
	changed := false
	var buf [64]int
	for _, n := range j.table.nodes {
		if !n.follows {
			continue
		}
		childPIDs, err := n.proc.MainChildren(buf[:0])
		if err != nil {
			continue // births are found by the full look
		}
		for _, pid := range childPIDs {
			known := j.table.nodes[pid]
			if known != nil && (known.ppid == n.id.PID || j.table.alive(known)) {
				continue
			}
			if known != nil { // the number was given to another process
				j.exit(known, sink)
			}
			if j.table.add(pid, n.id.PID, now) != nil {
				changed = true
			}
		}
		for _, known := range j.table.nodes {
			if known.ppid == n.id.PID && known.role == Worker && !slices.Contains(childPIDs, known.id.PID) &&
				!j.table.alive(known) {
				j.exit(known, sink)
				changed = true
			}
		}
	}
	return changed
}

// dropEnded takes out what has ended, and what no longer hangs below a root: a worker whose trainer died is init's.
func (j *Job) dropEnded(sink recording.Sink) bool {
	before := len(j.table.nodes)
	for _, n := range j.table.nodes {
		if !j.table.alive(n) {
			j.exit(n, sink)
		}
	}
	for _, n := range j.table.nodes {
		if !j.attached(n) {
			j.exit(n, sink)
		}
	}
	return len(j.table.nodes) < before
}

func (j *Job) attached(n *node) bool {
	for p := range j.table.above(n) {
		if slices.Contains(j.roots, p.id) {
			return true
		}
	}
	return slices.Contains(j.roots, n.id)
}

func (j *Job) exit(n *node, sink recording.Sink) {
	if n.recorded { // whatever the bound: who is known to be born and not to have ended would seem to live on
		sink.Event(recording.EventExit, Entity(n.id), map[string]string{"role": string(n.role)})
	}
	j.table.drop(n)
}

// settleRoles looks again at processes whose role is not settled: the signal handlers that tell a worker are installed
// after its birth.
func (j *Job) settleRoles(now time.Duration, full bool) bool {
	changed := false
	for _, n := range j.table.nodes {
		if n.role == Worker || n.role == Trainer || n.role == Server || n.facts.kind == distributedRun {
			continue
		}
		// In the first second at every tick, then with each full look.
		if age := now - n.seen; age > youngFor || (age > time.Second && !full) {
			continue
		}
		if !n.described || len(n.facts.argv) == 0 {
			j.table.describe(n)
			changed = true
			continue
		}
		changed = j.table.recheck(n) || changed
	}
	return changed
}

// renew reads again what seldom changes.
func (j *Job) renew() bool {
	const tries = 6 // a job that loads its framework later than half a minute after it was found is not waited for
	changed := false
	left := 8
	for _, n := range j.table.nodes {
		if n.role == Worker || n.role == Server || left == 0 {
			continue
		}
		if n.role == Trainer && (n.inside.framework == "" || n.inside.accelerator == "") && n.inside.tries < tries &&
			n.facts.python {
			read, on := n.inside.gpus.Read, n.inside.accelerator
			j.table.inspect(n)
			n.recordedRole = n.recordedRole && n.inside.accelerator == on
			changed = changed || n.inside.gpus.Read != read || n.inside.accelerator != on
			left--
		}
		if was := n.facts.exe; n.role != Trainer {
			if exe, err := n.proc.Exe(); err == nil && exe != was { // exec over itself
				j.table.describe(n)
				n.inside.tries = 0
				changed = true
			}
		}
	}
	j.learnPlace()
	if j.about.HDF5Library == "" || j.about.Framework == "" || j.about.Accelerator == "" {
		j.amend()
	}
	return changed
}

// amend fills in what became known of the first trainer after it was described.
func (j *Job) amend() {
	trainers := j.tree.Load().Trainers()
	if len(trainers) == 0 || j.table.nodes[trainers[0].PID] == nil {
		return
	}
	in := j.table.nodes[trainers[0].PID].inside
	j.about.Framework, j.about.Accelerator = in.framework, in.accelerator
	if j.librarySearches < maxLibrarySearches {
		j.librarySearches++
		j.about.HDF5Library = j.hdf5OfWorkers(in.hdf5)
	}
}

// noteExec ends the job where its only trainer has become another program: what it does from then on is no training.
func (j *Job) noteExec(sink recording.Sink) {
	trainers := j.tree.Load().Trainers()
	if len(trainers) != 1 {
		return
	}
	n := j.table.nodes[trainers[0].PID]
	if n == nil || n.facts.exe == "" {
		return
	}
	// A program that was replaced on disk keeps its name, with " (deleted)" after it.
	if exe, err := n.proc.Exe(); err == nil && strings.TrimSuffix(exe, " (deleted)") != strings.TrimSuffix(n.facts.exe,
		" (deleted)") {
		j.finish(sink, "the trainer has become another program")
	}
}

// maxLibrarySearches bounds how often a worker's mapped files are read to learn its HDF5 library.
const maxLibrarySearches = 3

// end tells once that all trainers are gone.
func (j *Job) end(now time.Duration, sink recording.Sink) {
	for _, n := range j.table.nodes {
		if n.role == Trainer {
			j.lastTrainer = now
			return
		}
	}
	if len(j.table.nodes) == 0 || now-j.lastTrainer >= endAfter {
		j.finish(sink, "all trainers have ended")
	}
}

// finish says that the job is over, once.
func (j *Job) finish(sink recording.Sink, reason string) {
	if j.ended {
		return
	}
	j.ended = true
	sink.Event(recording.EventJobEnded, "", map[string]string{"reason": reason})
	j.publish()
}
