package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Attach finds the job that a process belongs to: the process may be a trainer, one of its workers, or whatever
// launched it. The error is an *Error. A process that does not look like training is watched too, with a warning.
func Attach(ctx context.Context, pid int, o Options) (*Job, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	asked, err := admit(pid, o)
	if err != nil {
		return nil, err
	}
	j, err := assemble(asked, o)
	if err != nil {
		return nil, err
	}
	if err := j.oneJob(pid); err != nil {
		j.Close()
		return nil, err
	}
	j.describe(asked)
	return j, nil
}

// admit returns the identity of a process if it may be watched.
func admit(pid int, o Options) (procfs.ID, error) {
	fail := func(kind error, detail, hint string) (procfs.ID, error) {
		return procfs.ID{}, &Error{PID: pid, Kind: kind, Detail: detail, Hint: hint}
	}
	if pid <= 0 {
		return fail(ErrNoProcess, "", "give the number of the trainer, as ps shows it")
	}
	for id := range Above(o.FS, pid) {
		if id.PID == o.Self {
			return fail(ErrSelf, "", "give the number of the training process")
		}
	}
	p, err := o.FS.Open(pid)
	if err != nil {
		return procfs.ID{}, o.notThere(pid, err)
	}
	defer p.Close()
	var st procfs.Stat
	err = p.Stat(&st)
	if err == nil && (st.State == 'Z' || st.State == 'X') {
		return fail(ErrZombie, "it waits to be collected by its parent", "")
	}
	var status procfs.Status
	if err == nil {
		status, err = p.Status()
	}
	switch {
	case errors.Is(err, procfs.ErrGone):
		return fail(ErrNoProcess, "", "the job may have ended")
	case err != nil:
		return fail(ErrRefused, untrusted.Sanitize(err.Error()), "run pipetune as the user of the job, or as root: "+
			asRoot(pid))
	}
	uid, known := status.UID.Get()
	switch _, err := p.Exe(); {
	case err == nil:
		return p.ID, nil
	case !errors.Is(err, fs.ErrPermission) && st.Kernel:
		return fail(ErrKernelThread, "", "")
	case !errors.Is(err, fs.ErrPermission): // it has left its memory
		return fail(ErrZombie, "it was ending as it was looked at", "")
	case known && uid != o.UID:
		return fail(ErrOtherUser, fmt.Sprintf("user number %d", uid), "run pipetune as that user, or as root: "+
			asRoot(pid))
	}
	hint := "run pipetune as root: " + asRoot(pid)
	if o.UID == 0 {
		hint = "name the training process itself; what belongs to another container is watched from the host"
	}
	return fail(ErrRefused, "it has privileges of its own or has switched looking off", hint)
}

func asRoot(pid int) string { return fmt.Sprintf("sudo pipetune diagnose --pid %d", pid) }

// notThere says why a process cannot be opened: it is gone, or /proc hides it.
func (o Options) notThere(pid int, err error) error {
	gone := errors.Is(err, procfs.ErrGone) || errors.Is(err, procfs.ErrNoData)
	if mounts, mountsErr := o.FS.Mounts(); mountsErr == nil && o.UID != 0 {
		if hidden := procfs.HidePID(mounts); hidden != "" && hidden != "0" && hidden != "off" {
			e := &Error{PID: pid, Kind: ErrOtherUser, Detail: "/proc is mounted with hidepid=" +
				untrusted.Sanitize(hidden) + " and shows your own processes only",
				Hint: "run pipetune as the user of the job, or as root: " + asRoot(pid)}
			if gone {
				e.Kind = ErrNoProcess
			}
			return e
		}
	}
	e := &Error{PID: pid, Kind: ErrNoProcess, Hint: "the job may have ended; pipetune diagnose without --pid looks " +
		"for running jobs"}
	if !gone {
		e.Detail = untrusted.Sanitize(err.Error())
	}
	return e
}

// Above goes from a process up to those above it, each with its parent's number. It ends at one that cannot be read.
func Above(fs procfs.FS, pid int) iter.Seq2[procfs.ID, int] {
	return func(yield func(procfs.ID, int) bool) {
		for at, steps := pid, 0; at > 0 && steps < 256; steps++ {
			p, err := fs.Open(at)
			if err != nil {
				return
			}
			var st procfs.Stat
			err = p.Stat(&st)
			p.Close()
			if err != nil || !yield(p.ID, st.PPID) {
				return
			}
			at = st.PPID
		}
	}
}

// assemble climbs from a process to the top of its job and gathers what is below.
func assemble(asked procfs.ID, o Options) (*Job, error) {
	j := &Job{opts: o, table: newTable(o), births: map[procfs.ID]int{}}
	roots, err := topOfJob(asked, o)
	if err != nil {
		return nil, err
	}
	j.roots = roots
	j.table.grow(roots, 0, true)
	j.table.inspectCandidates()
	for _, n := range j.table.nodes {
		j.table.recheck(n)
	}
	j.table.markBatchTakers()
	j.table.classify(asked)
	if len(j.table.nodes) == 0 {
		return nil, &Error{PID: asked.PID, Kind: ErrNoProcess, Detail: "it ended while it was inspected"}
	}
	j.publish()
	return j, nil
}

// maxInspections bounds how many processes are looked into for one classification; each takes a few milliseconds.
const maxInspections = 32

// inspectCandidates looks into the processes that may be trainers.
func (t *table) inspectCandidates() {
	left := maxInspections
	for _, n := range t.downwards() {
		if left == 0 {
			return
		}
		parent := t.nodes[n.ppid]
		fork := parent != nil && parent.facts.python && n.facts.exe == parent.facts.exe &&
			n.facts.caught&workerSignals == workerSignals
		if n.inside.tries == 0 && n.facts.python && !fork && n.facts.kind != tracker && n.facts.kind != forkServer {
			t.inspect(n)
			left--
		}
	}
}

// oneJob refuses a tree in which several trainers have nothing in common but a shell.
func (j *Job) oneJob(pid int) error {
	trainers := j.tree.Load().Trainers()
	if len(trainers) < 2 {
		return nil
	}
	ranked, launched := true, true
	for _, p := range trainers {
		n := j.table.nodes[p.PID]
		ranked = ranked && n.inside.rank >= 0
		parent := j.table.nodes[n.ppid]
		launched = launched && parent != nil && (parent.facts.python || parent.role == Trainer)
	}
	if ranked || launched {
		return nil
	}
	e := &Error{PID: pid, Kind: ErrSeveralJobs, Hint: "choose one with --pid"}
	for _, p := range trainers {
		e.Candidates = append(e.Candidates, j.candidate(p))
	}
	return e
}

// describe fills in what the first trainer is made of, and what the person should know about the choice.
func (j *Job) describe(asked procfs.ID) {
	tree := j.tree.Load()
	trainers := tree.Trainers()
	if len(trainers) == 0 {
		return
	}
	first := j.table.nodes[trainers[0].PID]
	j.about = recording.Job{
		Command:     untrusted.CommandLine(j.table.program(first).facts.argv, j.opts.Redaction),
		Framework:   first.inside.framework,
		Accelerator: first.inside.accelerator,
		Python:      cmp.Or(pythonOf(first.facts.exe), first.inside.python),
		HDF5Library: j.hdf5OfWorkers(first.inside.hdf5),
		Tokenizers:  first.inside.tokenizers,
		Container:   first.facts.innerPID != first.id.PID,
	}
	j.learnPlace()
	p, ok := tree.Find(asked)
	switch {
	case !ok || j.opts.Launched:
	case p.Role == Worker:
		j.warn("process %d is a loader worker; its trainer %d is watched", asked.PID, p.Trainer.PID)
	case p.Role == Launcher:
		j.warn("process %d launches the job; the trainers below it are watched", asked.PID)
	case p.Role == Trainer && len(trainers) > 1:
		j.warn("process %d is rank %d of %d on this machine; all of them are watched", asked.PID, p.Rank, len(trainers))
	case p.Role == Server || p.Role == Other:
		j.warn("process %d is not the trainer; process %d is, and is watched", asked.PID, trainers[0].PID)
	}
	switch {
	case !first.facts.python:
		j.warn("process %d is not a Python process: only CPU, memory and files can be judged", trainers[0].PID)
	case first.inside.framework == "" && !first.everOwner:
		j.warn("process %d has loaded no training framework: it may not be a training job", trainers[0].PID)
	}
}

// program returns the process whose command line a person gave: where multiprocessing started n, as
// torch.multiprocessing.spawn starts a rank, the nearest process above it that it did not start. It is n itself where
// none is known.
func (t *table) program(n *node) *node {
	for at := n; at != nil && at.facts.python; at = t.nodes[at.ppid] {
		if at.facts.kind != spawnChild && at.facts.kind != forkServer && len(at.facts.argv) > 0 {
			return at
		}
	}
	return n
}

// hdf5OfWorkers looks for the HDF5 library in one worker of the first trainer where the trainer itself has not loaded
// it.
func (j *Job) hdf5OfWorkers(known string) string {
	tree := j.tree.Load()
	trainers := tree.Trainers()
	if known != "" || len(trainers) == 0 {
		return known
	}
	workers := tree.Workers(trainers[0].ID)
	if len(workers) == 0 {
		return ""
	}
	l, _ := Guarded(j.table.guard, j.opts.FS, workers[0].ID, readLibraries) // "" where they cannot be read
	return l.hdf5
}

func (j *Job) warn(format string, args ...any) {
	j.warnings = append(j.warnings, fmt.Sprintf(format, args...))
}
