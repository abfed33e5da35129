package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Candidate is a job that could be watched.
type Candidate struct {
	// Trainer is the process to give to Attach: the trainer, the first of several.
	Trainer procfs.ID
	// GPU says that a process of the job has a GPU open.
	GPU       bool
	Trainers  int
	Workers   int
	Framework string
	// Command is the redacted command line that the trainer was started by.
	Command []string

	slurm string
}

// Describe is one line about the candidate, sanitized: "python train.py (pytorch, 4 workers, uses a GPU)".
func (c Candidate) Describe() string {
	const width = 100 // bytes of command line: enough to tell two jobs apart in a list
	var what []string
	if c.Framework != "" {
		what = append(what, c.Framework)
	}
	if c.Trainers > 1 {
		what = append(what, fmt.Sprintf("%d ranks", c.Trainers))
	}
	switch c.Workers {
	case 0:
		what = append(what, "no loader workers now")
	case 1:
		what = append(what, "1 loader worker")
	default:
		what = append(what, fmt.Sprintf("%d loader workers", c.Workers))
	}
	if c.GPU {
		what = append(what, "uses a GPU")
	}
	return untrusted.Cut(strings.Join(c.Command, " "), width).String() + " (" + strings.Join(what, ", ") + ")"
}

// Best returns the candidates the automatic choice is between: all that use a GPU, or where none does, all. One means
// the choice is clear; several mean somebody has to choose.
func Best(ranked []Candidate) []Candidate {
	if n := slices.IndexFunc(ranked, func(c Candidate) bool { return c.GPU != ranked[0].GPU }); n >= 0 {
		return ranked[:n]
	}
	return ranked
}

// Find returns the jobs of pipetune's own user (of every user, if it runs as root and root has none) that use a GPU or
// look like training, best first. An empty list means that there is none. It looks at every process once: 64 ms for
// 5,000 of them.
func Find(ctx context.Context, o Options) ([]Candidate, error) {
	all, err := o.FS.Table()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	found, err := o.among(ctx, all, func(uid int) bool { return uid == o.UID })
	if err == nil && len(found) == 0 && o.UID == 0 {
		found, err = o.among(ctx, all, func(int) bool { return true })
	}
	if err != nil {
		return nil, err
	}
	mine := func(c Candidate) bool { return c.slurm == o.Slurm }
	if o.Slurm != "" && slices.ContainsFunc(found, mine) {
		found = slices.DeleteFunc(found, func(c Candidate) bool { return !mine(c) })
	}
	merit := func(c Candidate) (n int) {
		if c.GPU {
			n = 2
		}
		if c.Workers > 0 {
			n++
		}
		return n
	}
	slices.SortStableFunc(found, func(a, b Candidate) int {
		return cmp.Or(merit(b)-merit(a), cmp.Compare(b.Trainer.Start, a.Trainer.Start))
	})
	return found, nil
}

// among looks for jobs among the processes of some users.
func (o Options) among(ctx context.Context, all procfs.ProcessTable, mine func(uid int) bool) ([]Candidate, error) {
	own := map[int]bool{o.Self: true}
	for _, e := range all.Descendants(o.Self) {
		own[e.PID] = true
	}
	var found []Candidate
	claimed := map[procfs.ID]bool{} // processes of a job that was found already
	for _, e := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.PID == 0 || own[e.PID] && o.Self != 0 || claimed[e.ID] || e.State == 'Z' ||
			!o.looksLikeTraining(e.ID, mine) {
			continue
		}
		j, err := assemble(e.ID, o)
		if err != nil {
			continue // it ended, is an orphan, or may not be looked at
		}
		for _, p := range j.tree.Load().Processes {
			claimed[p.ID] = true
		}
		for _, c := range j.candidates() {
			if !slices.ContainsFunc(found, func(f Candidate) bool { return f.Trainer == c.Trainer }) {
				found = append(found, c)
			}
		}
		j.Close()
	}
	return found, nil
}

// looksLikeTraining says whether a process by itself is worth a closer look: a Python that has a framework loaded, has
// loader workers' handlers installed or holds a GPU, or whatever program NVML says computes on one and really has one
// open.
func (o Options) looksLikeTraining(id procfs.ID, mine func(uid int) bool) bool {
	p, err := o.FS.OpenID(id)
	if err != nil {
		return false
	}
	defer p.Close()
	exe, err := p.Exe()
	if err != nil {
		return false // not ours to look at, or a kernel thread
	}
	status, err := p.Status()
	if err != nil || !mine(status.UID.Or(-1)) || !isPython(exe, nil) {
		return false
	}
	in, ok := Guarded(new(Guard), o.FS, id, func(p *procfs.Process) (inside, error) { return readInside(o.FS, p), nil })
	return ok && (in.framework != "" || in.accelerator != "")
}

// candidates returns the job as one candidate, or one for each trainer where they have nothing in common.
func (j *Job) candidates() []Candidate {
	trainers := j.tree.Load().Trainers()
	if len(trainers) == 0 {
		return nil
	}
	if j.oneJob(0) != nil {
		var out []Candidate
		for _, p := range trainers {
			out = append(out, j.candidate(p))
		}
		return out
	}
	c := j.candidate(trainers[0])
	c.Trainers, c.Workers = len(trainers), 0
	for _, p := range j.tree.Load().Processes {
		if p.Role == Worker {
			c.Workers++
		}
		if n := j.table.nodes[p.PID]; n != nil && n.inside.accelerator != "" {
			c.GPU = true
		}
	}
	return []Candidate{c}
}

func (j *Job) candidate(p Process) Candidate {
	n := j.table.nodes[p.PID]
	return Candidate{
		Trainer: p.ID, GPU: n.inside.accelerator != "", Trainers: 1, Workers: len(j.tree.Load().Workers(p.ID)),
		Framework: n.inside.framework, slurm: n.inside.slurm, Command: untrusted.CommandLine(
			j.table.program(n).facts.argv, j.opts.Redaction),
	}
}
