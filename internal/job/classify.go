package job

import (
	"bytes"
	"slices"

	"github.com/pipetune/pipetune/internal/procfs"
)

// classify gives each process its role. It is pure: it looks at nothing but the table. asked is the process that is
// taken for the trainer where nothing tells one. It reports whether a role changed.
func (t *table) classify(asked procfs.ID) (changed bool) {
	order := t.downwards()
	before := make(map[*node]part, len(order))
	for _, n := range order {
		before[n], n.part = n.part, part{rank: -1}
	}
	for _, n := range order {
		if t.isServer(n) {
			n.role = Server
			continue
		}
		if owner, method := t.ownerOf(n); owner != nil {
			n.role, n.owner, n.method = Worker, owner.id, method
			owner.everOwner = true
		}
	}
	trainers := t.chooseTrainers(order, asked)
	for _, n := range trainers {
		for p := range t.above(n) {
			if p.role == Trainer || p.role == Launcher {
				break
			}
			p.role = Launcher
			p.everLauncher = p.everLauncher || n.everOwner || n.takesBatches || n.inside.rank >= 0
		}
	}
	for _, n := range order {
		switch owner, method := t.parentOf(n); {
		case n.role != "":
		case n.facts.kind == distributedRun:
			n.role = Launcher
		case owner != nil && owner.role == Trainer && (method != Fork || sameProgram(n.facts, owner.facts)):
			n.role, n.owner, n.method = Feeder, owner.id, method
		default:
			n.role = Other
		}
		if n.role == Worker {
			if owner := t.nodes[n.owner.PID]; owner != nil {
				n.rank = owner.rank
			}
		}
		if before[n] != n.part {
			n.recordedRole, changed = false, true
		}
	}
	return changed
}

// isServer says whether a process is one of multiprocessing's or torch's helpers. A forkserver's own children carry its
// command line; they are not servers.
func (t *table) isServer(n *node) bool {
	switch n.facts.kind {
	case tracker, shmManager:
		return true
	case forkServer:
		parent := t.nodes[n.ppid]
		return parent == nil || parent.facts.kind != forkServer
	}
	return false
}

// parentOf returns the Python process that started n by multiprocessing, if that is how it was started, and by which
// method; nil where there is none.
func (t *table) parentOf(n *node) (*node, StartMethod) {
	owner := t.nodes[n.ppid]
	method := Fork
	switch n.facts.kind {
	case forkServer:
		method = Forkserver
		if owner != nil {
			owner = t.nodes[owner.ppid] // the server's parent
		}
	case spawnChild:
		method = Spawn
	}
	if owner == nil || owner.role == Worker || owner.role == Server || !owner.facts.python || !n.facts.python {
		return nil, ""
	}
	return owner, method
}

// ownerOf returns the process whose DataLoader a worker serves, nil where n is no worker.
func (t *table) ownerOf(n *node) (*node, StartMethod) {
	owner, method := t.parentOf(n)
	if owner == nil || !isWorker(n.facts, owner.facts, method) {
		return nil, ""
	}
	return owner, method
}

// isWorker says whether a child of owner is a DataLoader worker: by the name newer versions of torch give it, else by
// the signal handlers every version installs. A fork shares program and command line with its parent, which keeps out
// programs that catch all signals, such as those written in Go. Where the owner itself has all those handlers
// (faulthandler and a SIGTERM handler), they tell nothing about a fork; then it has to be found waiting for work or
// holding batches.
func isWorker(child, owner facts, method StartMethod) bool {
	if child.comm == dataWorkerName {
		return true
	}
	if child.caught&workerSignals != workerSignals {
		return false
	}
	if method != Fork {
		return true
	}
	if !sameProgram(child, owner) {
		return false
	}
	return owner.caught&workerSignals != workerSignals || child.polls
}

// sameProgram says whether a child runs what its parent does, as a fork shows; a command line that cannot be read is no
// other.
func sameProgram(child, owner facts) bool {
	return child.exe == owner.exe &&
		(child.argv == nil || owner.argv == nil || slices.EqualFunc(child.argv, owner.argv, bytes.Equal))
}

// chooseTrainers marks the trainers: whoever has or had loader workers, or is told to take batches; else who looks most
// like one.
func (t *table) chooseTrainers(order []*node, asked procfs.ID) []*node {
	var trainers []*node
	mark := func(n *node) {
		if n.role != Trainer {
			n.role = Trainer
			trainers = append(trainers, n)
		}
	}
	parents := map[int]bool{}
	for _, n := range order {
		if (n.everOwner || n.takesBatches) && n.role == "" {
			mark(n)
			parents[n.ppid] = true
		}
	}
	for _, n := range order {
		if n.role != "" || !t.mayTrain(n) {
			continue
		}
		switch {
		case len(parents) > 0:
			// A rank without workers beside ranks that have some, or one that computes on a GPU above a helper with
			// workers.
			if (n.inside.rank >= 0 && parents[n.ppid]) || (n.inside.accelerator != "" && !t.belowTrainer(n)) {
				mark(n)
			}
		case n.everLauncher: // it has outlived what it launched
		case !t.belowTrainer(n):
			mark(n)
		}
	}
	t.hadTrainer = t.hadTrainer || len(trainers) > 0
	if !t.hadTrainer {
		if n := t.nodes[asked.PID]; n != nil && n.id == asked && n.role != Worker {
			mark(n)
		}
	}
	t.rank(trainers)
	return trainers
}

// mayTrain says whether a process without workers looks like a trainer.
func (t *table) mayTrain(n *node) bool {
	return n.facts.kind != distributedRun && n.facts.kind != forkServer &&
		(n.inside.accelerator != "" || n.facts.python && n.inside.framework != "")
}

// belowTrainer says whether some ancestor of n is a trainer.
func (t *table) belowTrainer(n *node) bool {
	for p := range t.above(n) {
		if p.role == Trainer {
			return true
		}
	}
	return false
}

// rank numbers the trainers: as their environment says where that is unambiguous, else in the order of their start.
func (t *table) rank(trainers []*node) {
	taken := map[int]bool{}
	clear := true
	for _, n := range trainers {
		if n.inside.rank < 0 || taken[n.inside.rank] {
			clear = false
		}
		taken[n.inside.rank] = true
	}
	slices.SortStableFunc(trainers, byAge)
	for i, n := range trainers {
		n.rank = i
		if clear {
			n.rank = n.inside.rank
		}
	}
}
