package job

import (
	"cmp"
	"slices"
)

// roleOrder is how a Tree is sorted.
var roleOrder = map[Role]int{Trainer: 0, Worker: 1, Feeder: 2, Launcher: 3, Server: 4, Other: 5}

// publish makes the table's state the current Tree.
func (j *Job) publish() {
	t := &Tree{Ended: j.ended, Processes: make([]Process, 0, len(j.table.nodes))}
	for _, n := range j.table.nodes {
		t.Processes = append(t.Processes, n.public())
	}
	slices.SortFunc(t.Processes, func(a, b Process) int {
		return cmp.Or(cmp.Compare(roleOrder[a.Role], roleOrder[b.Role]), cmp.Compare(a.Rank, b.Rank),
			cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	j.tree.Store(t)
}

func (n *node) public() Process {
	return Process{
		ID: n.id, InnerPID: n.facts.innerPID, Role: n.role, Trainer: n.owner, Rank: n.rank, Method: n.method,
		Named: n.facts.comm == dataWorkerName, PinThread: n.threads.pin,
		AutogradThreads: n.threads.autograd, Python: n.inside.statics,
		OnGPU: n.inside.accelerator != "", GPUs: n.inside.gpus,
	}
}
