package sampler

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/perf"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// Host samples whose code each trainer's main thread and autograd threads execute: a thread that spins until the
// device is done is as busy as one that computes, and this distinguishes them. Of each trainer's workers it samples one
// at a time, by the libraries that it executes, and how much of its time is the kernel's.
//
// The kernel takes the samples (package perf) and this sampler reads them out of shared memory four times a second.
// The addresses are found in /proc/PID/maps, which is read in a goroutine of its own, since it can hang, and
// again where an address is unknown.
type Host struct {
	steady
	fs      procfs.FS
	members Members
	clock   func() time.Time
	open    func(tid int) (hostClock, error)
	code    func(id procfs.ID) ([]procfs.Mapping, error)
	used    func(id procfs.ID) (time.Duration, error) // CPU time of a process's main thread

	trainers map[procfs.ID]*hostTrainer
	tree     *job.Tree // that was followed last
	clocks   int
	full     bool
}

// hostClock is what a *perf.Clock does.
type hostClock interface {
	Drain(visit func(ip uint64))
	Close()
}

const (
	// hostEvery reads samples often enough for one page of them, 1.7 s of CPU time.
	hostEvery = 250 * time.Millisecond
	// codeEvery is the least time between two readings of a process's maps.
	codeEvery = 3 * time.Second
	// maxClocks bounds the threads: the kernel lets a user lock some 500 kB for each CPU of the machine, and each takes
	// two pages.
	maxClocks = 64
	// maxUnmapped bounds the samples of a trainer that wait for its maps.
	maxUnmapped = 4096
)

// NewHost samples the trainers of a job.
func NewHost(fs procfs.FS, members Members) *Host {
	return &Host{steady: steady{"host_samples", hostEvery}, fs: fs, members: members, clock: time.Now,
		trainers: map[procfs.ID]*hostTrainer{},
		open:     func(tid int) (hostClock, error) { return perf.Open(tid) },
		code: func(id procfs.ID) ([]procfs.Mapping, error) {
			return ofProcess(fs, id, (*procfs.Process).Code)
		},
		used: func(id procfs.ID) (time.Duration, error) { return ofProcess(fs, id, mainCPU) }}
}

func mainCPU(p *procfs.Process) (time.Duration, error) {
	var s procfs.Schedstat
	err := p.Schedstat(&s)
	return s.CPU, err
}

// Sample implements Sampler.
func (h *Host) Sample(_ context.Context, sink recording.Sink) {
	tree := h.members.Tree()
	if tree != h.tree {
		h.tree = tree
		h.follow(tree, sink)
	}
	now := h.clock()
	for id, t := range h.trainers {
		t.read(now, newCodeMap, func() ([]procfs.Mapping, error) { return h.code(id) })
		t.emit(id, sink)
		if w := t.workers.worker; w != nil && now.Sub(w.since) >= workerTurn {
			h.followWorkers(&t.workers, id, tree.Workers(id), sink)
		}
		t.workers.sample(id, now, h.code, h.used, sink)
	}
}

// follow opens clocks on what is new and closes those of what is gone.
func (h *Host) follow(tree *job.Tree, sink recording.Sink) {
	living := map[procfs.ID]bool{}
	for _, p := range tree.Trainers() {
		living[p.ID] = true
		t := h.trainers[p.ID]
		if t == nil {
			t = &hostTrainer{workers: codeOfWorkers{byLibrary: map[string]uint64{}, recorded: map[string]uint64{}}}
			h.trainers[p.ID] = t
		}
		wanted := map[int]*hostCounts{p.PID: &t.main}
		for _, tid := range p.AutogradThreads {
			wanted[tid] = &t.autograd
		}
		t.threads = h.keep(t.threads, wanted)
		for tid, counts := range wanted {
			h.adopt(&t.hostProcess, tid, counts, unseenCode{"host_samples*", job.Entity(p.ID)}, sink)
		}
	}
	for _, p := range tree.Trainers() { // after all of these, whose clocks the verdict goes by
		if t := h.trainers[p.ID]; !t.refused {
			h.followWorkers(&t.workers, p.ID, tree.Workers(p.ID), sink)
		}
	}
	h.forget(living)
}

// forget closes the clocks of the trainers that are not among the living.
func (h *Host) forget(living map[procfs.ID]bool) {
	for id, t := range h.trainers {
		if !living[id] {
			h.keep(t.threads, nil)
			if w := t.workers.worker; w != nil {
				h.keep(w.threads, nil)
			}
			delete(h.trainers, id)
		}
	}
}

func (h *Host) keep(threads []*hostThread, wanted map[int]*hostCounts) []*hostThread {
	return slices.DeleteFunc(threads, func(thread *hostThread) bool {
		if wanted[thread.tid] != nil {
			return false
		}
		thread.clock.Close()
		h.clocks--
		return true
	})
}

// unseenCode is what is missing without a clock, and of whom.
type unseenCode struct{ signal, entity string }

// adopt opens a clock on a thread, or says why there is none.
func (h *Host) adopt(t *hostProcess, tid int, counts *hostCounts, without unseenCode, sink recording.Sink) {
	if t.refused || slices.ContainsFunc(t.threads, func(thread *hostThread) bool { return thread.tid == tid }) {
		return
	}
	if h.clocks >= maxClocks {
		if !h.full {
			h.full = true
			sink.Unseen("host_samples*", "", "more than "+strconv.Itoa(maxClocks)+
				" threads: later ones are not sampled", "")
		}
		return
	}
	clock, err := h.open(tid)
	if err != nil {
		paranoid, unknown := h.fs.PerfEventParanoid()
		if unknown != nil {
			paranoid = -1
		}
		reason, cure, gone := perf.Explain(err, paranoid)
		if !gone {
			t.refused = true
			sink.Unseen(without.signal, without.entity, reason, cure)
		}
		return
	}
	h.clocks++
	t.threads = append(t.threads, &hostThread{tid: tid, clock: clock, counts: counts})
}

// Close implements Sampler. A reading of maps that hangs is not waited for.
func (h *Host) Close() { h.forget(nil) }

func (t *hostTrainer) emit(id procfs.ID, sink recording.Sink) {
	if t.unread != nil {
		unread(sink, "host_samples*", job.Entity(id), t.unread, "")
		t.unread = nil
	}
	if t.main.clocked {
		t.main.emit(job.Entity(id), sink)
	}
	if t.autograd.clocked {
		t.autograd.emit(job.AutogradEntity(id), sink)
	}
}

func (c *hostCounts) emit(entity string, sink recording.Sink) {
	sink.Add(metric.HostSamples, entity, float64(c.total))
	sink.Add(metric.HostSamplesDevice, entity, float64(c.byClass[codeDevice]))
	sink.Add(metric.HostSamplesReading, entity, float64(c.byClass[codeReading]))
	sink.Add(metric.HostSamplesModel, entity, float64(c.byClass[codeModel]))
}
