package job

import "github.com/pipetune/pipetune/internal/procfs"

// maxClimb bounds the way up; real trees are some ten processes deep.
const maxClimb = 64

// topOfJob returns the top of the job that a process belongs to: a worker's trainer, the trainer's torchrun. It does
// not climb over shells and terminals, which have other children too. Tasks of one Slurm step have no process of the
// same user above them, so they are all returned.
func topOfJob(from procfs.ID, o Options) ([]procfs.ID, error) {
	t := newTable(o)
	defer t.close()
	cur := t.add(from.PID, 0, 0)
	if cur == nil || cur.id != from {
		return nil, &Error{PID: from.PID, Kind: ErrNoProcess, Detail: "it ended while it was inspected"}
	}
	for range maxClimb {
		parent := t.add(cur.ppid, 0, 0)
		if parent != nil && t.alive(cur) && cur.ppid != parent.id.PID {
			// its parent has ended, and the number was given away
			parent = nil
		}
		helper := cur.facts.kind == spawnChild || cur.facts.kind == forkServer || cur.facts.kind == tracker ||
			cur.facts.comm == dataWorkerName
		// A container's first process is number 1 there and may well be the trainer or its launcher.
		if parent == nil || (parent.id.PID == 1 && !parent.facts.python) || parent.facts.uid != cur.facts.uid {
			if parent != nil && parent.facts.comm == "slurmstepd" {
				return t.step(cur, parent), nil
			}
			if helper {
				return nil, &Error{PID: from.PID, Kind: ErrOrphan, Detail: "its trainer is gone",
					Hint: "end it; pipetune needs a running trainer"}
			}
			break
		}
		if !helper && !(parent.facts.python && (parent.facts.kind == distributedRun || isWorker(cur.facts, parent.facts,
			Fork))) {
			break
		}
		cur = parent
	}
	return []procfs.ID{cur.id}, nil
}

// step returns the tasks of cur's Slurm step on this machine.
func (t *table) step(cur, daemon *node) []procfs.ID {
	t.inspect(cur)
	roots := []procfs.ID{cur.id}
	for _, pid := range t.children(daemon) {
		n := t.child(pid, daemon, 0)
		if n == nil || n == cur || n.facts.uid != cur.facts.uid {
			continue
		}
		if t.inspect(n); cur.inside.step != "" && n.inside.step == cur.inside.step {
			roots = append(roots, n.id)
		}
	}
	return roots
}
