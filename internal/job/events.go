package job

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// maxEvents bounds the events about processes in one recording: a job whose workers are born a hundred times a second
// would fill the memory otherwise. The counter of births goes on.
const maxEvents = 4096

// event reports something, and reports whether there was room for it.
func (j *Job) event(sink recording.Sink, kind, entity string, attrs map[string]string) bool {
	if j.events++; j.events == maxEvents+1 {
		sink.Unseen("process_*", "", "more than "+strconv.Itoa(maxEvents)+
			" births and exits of processes: later ones are only counted", "watch for a shorter time")
	}
	if j.events > maxEvents {
		return false
	}
	sink.Event(kind, entity, attrs)
	return true
}

// record hands over the processes the sink does not know yet or whose role changed, trainers first.
func (j *Job) record(sink recording.Sink) {
	if j.table.skipped > 0 {
		sink.Unseen("process_*", "", "more than "+strconv.Itoa(maxNodes)+" processes below the job", "")
	}
	var news []*node
	for _, n := range j.table.nodes {
		if n.role != "" && !n.recordedRole {
			news = append(news, n)
		}
	}
	slices.SortFunc(news, func(a, b *node) int {
		return cmp.Or(roleOrder[a.role]-roleOrder[b.role], a.id.PID-b.id.PID)
	})
	for _, n := range news {
		n.recordedRole = true
		if n.role == Worker && !n.counted {
			n.counted = true
			j.births[n.owner]++
		}
		n.recorded = j.event(sink, recording.EventProcess, Entity(n.id), recording.Attrs(n.row())) || n.recorded
	}
	for _, n := range j.table.nodes {
		if n.role == Trainer && j.births[n.id] != n.recordedBirths {
			n.recordedBirths = j.births[n.id]
			sink.Add(metric.LoaderBirths, LoaderEntity(n.id), float64(n.recordedBirths))
		}
	}
}

// row is the row of recording.EventProcess.
func (n *node) row() recording.Process {
	row := recording.Process{Role: string(n.role), PID: n.id.PID, Parent: n.ppid,
		Start: float64(n.id.Start) / procfs.TicksPerSecond, Comm: untrusted.Cut(n.facts.comm, 64).String(),
		Method: string(n.method), Affinity: n.facts.affinity, Accelerator: n.inside.accelerator}
	if n.owner != (procfs.ID{}) {
		row.Trainer = Entity(n.owner)
	}
	if n.rank >= 0 {
		row.Rank = strconv.Itoa(n.rank)
	}
	return row
}

// nameThreads finds the threads of each trainer that are known by their names. The pinning thread is born again with
// each iterator; the threads of the backward pass are born at the first of it, which may be later than the watch.
func (j *Job) nameThreads(sink recording.Sink) {
	found := false
	for _, n := range j.table.nodes {
		before := n.threads.pin
		if n.role != Trainer || !n.readThreads() {
			continue
		}
		found = true
		if pin := n.threads.pin; pin != 0 && pin != before {
			j.event(sink, recording.EventPin, PinEntity(n.id), map[string]string{"tid": strconv.Itoa(pin),
				"trainer": Entity(n.id)})
		}
	}
	if found {
		j.publish()
	}
}
