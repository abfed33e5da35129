package sampler

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// Process samples what each process of the job uses: CPU, reads, memory, threads. It never reads smaps, which stops
// the process it is about.
type Process struct {
	steady
	fs      procfs.FS
	members Members
	clock   func() time.Time

	held  map[procfs.ID]*heldProcess
	buf   procfs.Buffer
	tree  *job.Tree // that was followed last
	last  time.Time
	known int // processes ever sampled
	full  bool
}

// heldProcess is a process with its descriptors kept open: four reads of some 3 µs each, instead of four times open,
// read, close.
type heldProcess struct {
	proc   *procfs.Process
	entity string
	main   *mainThread // of a trainer; nil of others
	noIO   bool        // the kernel refuses or lacks the account of reads
	noWait bool        // the same for schedstat
}

const (
	// processEvery is the pace of one process's readings.
	processEvery = 500 * time.Millisecond
	// maxProcesses bounds the processes that are read: of more, nothing would be kept.
	maxProcesses = recording.MaxProcesses
)

// NewProcess samples the processes of a job. They are read each 500 ms; the calls between only check whether there are
// new ones, so that a worker that lives less than half a second is read at least once.
func NewProcess(fs procfs.FS, members Members) *Process {
	return &Process{steady: steady{"process", 100 * time.Millisecond}, fs: fs, members: members, clock: time.Now,
		held: map[procfs.ID]*heldProcess{}}
}

// Sample implements Sampler.
func (s *Process) Sample(_ context.Context, sink recording.Sink) {
	tree, now := s.members.Tree(), s.clock()
	full := s.last.IsZero() || now.Sub(s.last) >= processEvery-processEvery/20
	if tree != s.tree {
		s.tree = tree
		s.follow(tree, sink, !full)
	}
	if !full {
		return
	}
	s.last = now
	for id, h := range s.held {
		if !h.read(sink) {
			s.drop(id)
		}
	}
}

// follow opens what is new and closes what is gone. With read set, new processes are read at once.
func (s *Process) follow(tree *job.Tree, sink recording.Sink, read bool) {
	living := make(map[procfs.ID]bool, len(tree.Processes))
	for _, p := range tree.Processes {
		living[p.ID] = true
		if h := s.held[p.ID]; h != nil {
			h.main = mainOf(h, p)
			continue
		}
		if s.known >= maxProcesses {
			if !s.full {
				s.full = true
				sink.Unseen("process_*", "", "more than "+strconv.Itoa(maxProcesses)+
					" processes since the start of the watch: later ones are not read", "watch for a shorter time")
			}
			continue
		}
		proc, err := s.fs.OpenIDWith(p.ID, &s.buf)
		if err != nil {
			continue // it ended since
		}
		s.known++
		h := &heldProcess{proc: proc, entity: job.Entity(p.ID)}
		h.main = mainOf(h, p)
		s.held[p.ID] = h
		if read {
			h.read(sink)
		}
	}
	for id := range s.held {
		if !living[id] {
			s.drop(id)
		}
	}
}

func (s *Process) drop(id procfs.ID) {
	s.held[id].main.close()
	s.held[id].proc.Close()
	delete(s.held, id)
}

// read records one reading and reports whether the process still runs. A zombie has no memory and no descriptors any
// more, and its last readings stand.
func (h *heldProcess) read(sink recording.Sink) bool {
	var st procfs.Stat
	switch err := h.proc.Stat(&st); {
	case errors.Is(err, procfs.ErrGone):
		return false
	case err != nil:
		h.missing(sink, err, metric.ProcCPU, metric.ProcEndedCPU, metric.ProcMajFaults, metric.ProcThreads)
		return true
	}
	if st.State == 'Z' || st.State == 'X' {
		return false
	}
	sink.Add(metric.ProcCPU, h.entity, st.UserSeconds+st.SystemSeconds)
	sink.Add(metric.ProcEndedCPU, h.entity, st.EndedSeconds)
	sink.Add(metric.ProcMajFaults, h.entity, float64(st.MajorFaults))
	sink.Add(metric.ProcThreads, h.entity, float64(st.Threads))
	var cpu procfs.Schedstat
	if !h.noWait && h.got(sink, h.proc.Schedstat(&cpu), &h.noWait, metric.ProcMainCPU, metric.ProcRunDelay) {
		sink.Add(metric.ProcMainCPU, h.entity, cpu.CPU.Seconds())
		sink.Add(metric.ProcRunDelay, h.entity, cpu.RunDelay.Seconds())
	}
	var io procfs.IO
	if !h.noIO && h.got(sink, h.proc.IO(&io), &h.noIO, metric.ProcReadChars, metric.ProcReadCalls,
		metric.ProcReadBytes) {
		sink.Add(metric.ProcReadChars, h.entity, float64(io.ReadChars))
		sink.Add(metric.ProcReadCalls, h.entity, float64(io.ReadCalls))
		sink.Add(metric.ProcReadBytes, h.entity, float64(io.ReadBytes))
	}
	var memory procfs.Statm
	switch err := h.proc.Statm(&memory); {
	case err == nil:
		sink.Add(metric.ProcRSS, h.entity, float64(memory.ResidentBytes))
		sink.Add(metric.ProcShared, h.entity, float64(memory.SharedBytes))
	case !errors.Is(err, procfs.ErrGone) && !errors.Is(err, procfs.ErrNoData):
		// a process that ends has no memory any more
		h.missing(sink, err, metric.ProcRSS, metric.ProcShared)
	}
	if h.main != nil {
		h.main.read(h, sink)
	}
	return true
}

// got reports whether a file of the process was read. One that the kernel refuses or lacks is not asked for again.
func (h *heldProcess) got(sink recording.Sink, err error, never *bool, signals ...metric.Desc) bool {
	if err != nil && !errors.Is(err, procfs.ErrGone) {
		*never = true
		h.missing(sink, err, signals...)
	}
	return err == nil
}

// missing says once for the whole job why signals are not there.
func (h *heldProcess) missing(sink recording.Sink, err error, signals ...metric.Desc) {
	reason, cure := rootCause(err), ""
	switch {
	case errors.Is(err, fs.ErrPermission):
		reason, cure = "the kernel shows it only to the job's own user",
			"run pipetune as the user of the job, or as root"
	case errors.Is(err, procfs.ErrNoData):
		reason = "this kernel does not keep it"
	}
	for _, d := range signals {
		sink.Unseen(d.Name, "", reason, cure)
	}
}

// rootCause is an error without the number of the process, which would make the same reason another one for each.
func rootCause(err error) string {
	var number syscall.Errno
	switch {
	case errors.As(err, &number):
		return "reading it fails: " + number.Error()
	case errors.Is(err, procfs.ErrMalformed):
		return "what the kernel says makes no sense"
	}
	return err.Error()
}

// Close implements Sampler.
func (s *Process) Close() {
	for id := range s.held {
		s.drop(id)
	}
}
