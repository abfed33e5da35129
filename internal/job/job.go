// Package job finds the training job and understands it from outside: which processes belong to it, and which role each
// plays.
//
// It promises to touch nothing: it reads /proc, sends no signal, attaches to nothing and needs no privilege beyond the
// job's own user. A process is always (pid, start time), so a number that was given to another process is never taken
// for the one before. It refuses to guess what it cannot see: a process whose role is unclear is "other".
package job

import (
	"sync/atomic"
	"time"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Options say where to look and on whose behalf.
type Options struct {
	// FS is the machine to look at; the zero value is this one.
	FS procfs.FS
	// UID is the effective user of pipetune; 0 may see every process.
	UID int
	// Self is pipetune's own process number. It and everything below it are never part of a job. 0 excludes nothing.
	Self int
	// Launched says that pipetune itself started the process that is attached to: that it launches the trainers is no
	// news.
	Launched bool
	// BatchTakers returns the entities of processes that are known to take batches, as somebody inside of the job
	// tells; nil where nobody does. It is asked at each full look, and may know more each time.
	BatchTakers func() []string
	// Slurm is the SlurmKey of pipetune itself: Find then returns only jobs of the same Slurm job on this node, where
	// there is one.
	Slurm string
	// Redaction is applied to command lines before they are returned or stored.
	Redaction untrusted.Redaction
}

// Job is a watched job. Refresh belongs to one goroutine; Tree may be called from any.
type Job struct {
	opts  Options
	roots []procfs.ID
	table *table
	tree  atomic.Pointer[Tree]

	about    recording.Job // of the first trainer
	warnings []string
	// librarySearches counts reads of a worker's mapped files for its HDF5 library.
	librarySearches int

	lastFull, lastSlow, lastTrainer time.Duration
	refreshed                       bool
	ended                           bool
	events                          int // process events handed to the sink so far
	births                          map[procfs.ID]int
}

// Tree is the job's processes at one moment. It is never changed after it was published: another one is published each
// time a process came, went or changed its role.
type Tree struct {
	// Processes holds every living process of the job: trainers first by rank, then workers, then the rest, each by
	// age.
	Processes []Process
	// Ended says that all trainers are gone.
	Ended bool
}

// Tree returns the job's processes as of the last Refresh (or Attach). It is safe for concurrent use and never nil.
func (j *Job) Tree() *Tree { return j.tree.Load() }

// Trainers returns the job's trainers, one per rank.
func (t *Tree) Trainers() []Process { return t.with(func(p Process) bool { return p.Role == Trainer }) }

// Workers returns the loader workers of one trainer, oldest first.
func (t *Tree) Workers(trainer procfs.ID) []Process {
	return t.with(func(p Process) bool { return p.Role == Worker && p.Trainer == trainer })
}

// Feeders returns the processes that may feed one trainer beside loader workers, oldest first.
func (t *Tree) Feeders(trainer procfs.ID) []Process {
	return t.with(func(p Process) bool { return p.Role == Feeder && p.Trainer == trainer })
}

// Find returns a living process of the job.
func (t *Tree) Find(id procfs.ID) (Process, bool) {
	for _, p := range t.Processes {
		if p.ID == id {
			return p, true
		}
	}
	return Process{}, false
}

func (t *Tree) with(keep func(Process) bool) []Process {
	var out []Process
	for _, p := range t.Processes {
		if keep(p) {
			out = append(out, p)
		}
	}
	return out
}

// Warnings are what the person should know about the choice of the job: "not a Python process", "rank 1 of 2, all are
// watched".
func (j *Job) Warnings() []string { return j.warnings }

// Header describes the job for a recording. Strings are redacted and sanitized.
func (j *Job) Header() recording.Job {
	h := j.about
	h.Trainers = []string{}
	for i, p := range j.Tree().Trainers() {
		if i == 0 {
			h.PID, h.StartTicks = p.PID, p.Start
		}
		h.Trainers = append(h.Trainers, Entity(p.ID))
	}
	if h.PID == 0 && len(j.roots) > 0 {
		h.PID, h.StartTicks = j.roots[0].PID, j.roots[0].Start
	}
	return h
}

// learnPlace keeps where a trainer stands among several nodes, for as long as the watch lasts: trainers may end before
// it does, and be read only at the second try.
func (j *Job) learnPlace() {
	for _, p := range j.Tree().Trainers() {
		if n := j.table.nodes[p.PID]; j.about.Place == nil && n != nil && n.inside.place != (recording.Place{}) {
			place := n.inside.place
			place.JobID = untrusted.Path(place.JobID, j.opts.Redaction)
			j.about.Place = &place
		}
	}
}

// Close gives back the descriptors held on the job's processes.
func (j *Job) Close() { j.table.close() }
