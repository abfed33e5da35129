package job

import (
	"cmp"
	"fmt"
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
		n.recorded = j.event(sink, recording.EventProcess, Entity(n.id), n.attrs()) || n.recorded
	}
	for _, n := range j.table.nodes {
		if n.role == Trainer && j.births[n.id] != n.recordedBirths {
			n.recordedBirths = j.births[n.id]
			sink.Add(metric.LoaderBirths, LoaderEntity(n.id), float64(n.recordedBirths))
		}
	}
}

// attrs are the attributes of recording.EventProcess.
func (n *node) attrs() map[string]string {
	a := map[string]string{
		"role":    string(n.role),
		"pid":     strconv.Itoa(n.id.PID),
		"ppid":    strconv.Itoa(n.ppid),
		"start_s": startSeconds(n.id),
		"comm":    untrusted.Cut(n.facts.comm, 64).String(),
	}
	if n.owner != (procfs.ID{}) {
		a["trainer"] = Entity(n.owner)
	}
	if n.rank >= 0 {
		a["rank"] = strconv.Itoa(n.rank)
	}
	if n.method != "" {
		a["start_method"] = string(n.method)
	}
	if n.facts.affinity > 0 {
		a["affinity"] = strconv.Itoa(n.facts.affinity)
	}
	if n.inside.accelerator != "" {
		a["accelerator"] = n.inside.accelerator
	}
	return a
}

// startSeconds writes the start exactly: clock ticks are hundredths of a second.
func startSeconds(id procfs.ID) string {
	cents := id.Start * 100 / procfs.TicksPerSecond
	return fmt.Sprintf("%d.%02d", cents/100, cents%100)
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
