package sampler

import (
	"slices"
	"strconv"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// feeders are who may feed a trainer that has no DataLoader workers: children that it started by multiprocessing, and
// threads of its own that use a CPU. Whether they do is not judged here.
type feeders struct {
	members  []*feeder
	departed []*feeder
	threads  map[int]*listedThread // by number
	next     time.Duration         // when the threads are listed again
	looks    bool                  // one of them is looked at again with the next sample
	joint    jointCounts
	remotes  *remotes
}

// feeder is one process, by its main thread and the CPU time of all its threads, or one thread.
type feeder struct {
	entity  string
	id      procfs.ID       // of a process
	proc    *procfs.Process // nil of a thread
	thread  *watchedThread
	samples sampleCounts
	clock   cpuClock          // of a process
	working uint64            // samples of it at work while the trainer's main thread did not run
	news    map[string]string // attributes of recording.EventThread, until they were reported
}

// listedThread is one thread of the trainer and its CPU time when the threads were last listed.
type listedThread struct {
	task    *procfs.Task
	cpu     time.Duration
	at      time.Duration
	watched bool
	busy    int // times that it was looked at and ran
}

const (
	// listThreadsEvery is the time between two listings of a trainer's threads; each thread costs two microseconds.
	listThreadsEvery = time.Second
	// maxListedThreads and mostFeeders bound the threads that are listed, and the threads and processes that are
	// sampled.
	maxListedThreads, mostFeeders = 128, 32
	// leastThreadCPU is the share of one CPU from which on a thread is sampled.
	leastThreadCPU = 0.01
	// mostBusy is how often a thread may be found running when it is looked at before it is sampled all the same: one
	// of OpenMP's spins for some milliseconds after each loop, and was found waiting in four of six looks. Looks are 20
	// ms apart.
	mostBusy = 8
)

// ofPools are the libraries whose threads compute a part of what another thread asks for (OpenMP of GCC, Intel and
// LLVM, and TBB): they feed nobody, though they spin on for a while when it goes on to something else. Seen of libgomp
// on x86, which makes its system calls itself; one that waits within the C library is not known by this.
var ofPools = []string{"libgomp", "libiomp5", "libomp", "libtbb"}

// inPool reports whether a thread that is blocked there waits for such a library's next loop. The maps are read, once
// for each thread that may feed.
func (l *Loader) inPool(id procfs.ID, call procfs.Syscall) bool {
	all, ok := job.Guarded(&l.maps, l.fs, id, (*procfs.Process).Code)
	return ok && slices.ContainsFunc(all, func(m procfs.Mapping) bool {
		return m.From <= call.PC && call.PC < m.To && slices.Contains(ofPools, libraryOf(m.Path))
	})
}

func (f *feeders) adopt(l *Loader, now []job.Process) {
	for _, m := range f.members {
		m.thread.gone = m.thread.gone || m.proc != nil && !listed(now, m.id)
	}
	f.dropEnded()
	for _, p := range now {
		known := slices.ContainsFunc(f.members, func(m *feeder) bool { return m.id == p.ID })
		if known || len(f.members) >= mostFeeders {
			continue
		}
		m := &feeder{entity: job.Entity(p.ID), id: p.ID}
		if thread, err := l.open(p.ID, &m.samples); err == nil {
			thread.trainer, thread.feeder, thread.remotes = true, true, f.remotes
			m.proc, m.thread = thread.proc, thread
			f.members = append(f.members, m)
		}
	}
}

// listThreads lists the trainer's threads and begins to sample those that used a CPU since the last time.
func (f *feeders) listThreads(l *Loader, t *trainer, now time.Duration) {
	full := now >= f.next
	if !full && !f.looks {
		return
	}
	if f.looks = false; full {
		f.next = now + listThreadsEvery
	}
	tids, err := t.main.proc.Threads(nil)
	if err != nil {
		return
	}
	for tid, s := range f.threads {
		if !slices.Contains(tids, tid) {
			s.task.Close()
			delete(f.threads, tid)
		}
	}
	for _, tid := range tids {
		backward := slices.ContainsFunc(t.autograd.threads, func(a *watchedThread) bool { return a.task.TID == tid })
		if tid == t.id.PID || tid == t.taker.named || backward {
			continue
		}
		s := f.threads[tid]
		if s == nil {
			if len(f.threads) >= maxListedThreads {
				continue
			}
			task, err := t.main.proc.Task(tid)
			if err != nil {
				continue // it ended since
			}
			s = &listedThread{task: task}
			f.threads[tid] = s
		}
		var account procfs.Schedstat
		if s.watched || s.task.Schedstat(&account) != nil {
			continue
		}
		used, lasted := account.CPU-s.cpu, now-s.at
		first := s.at == 0
		s.cpu, s.at = account.CPU, max(now, 1)
		idle := first || !full || used.Seconds() < leastThreadCPU*lasted.Seconds()
		if s.busy == 0 && idle || len(f.members) >= mostFeeders {
			continue
		}
		var call procfs.Syscall
		if err := s.task.Syscall(&call); err == nil && call.Running && s.busy < mostBusy {
			s.busy++
			f.looks = true
			continue
		}
		if s.watched = true; !call.Running && l.inPool(t.id, call) {
			continue
		}
		name, _ := s.task.Comm() // "" where it ends
		m := &feeder{entity: job.ThreadEntity(t.id, tid), news: map[string]string{"tid": strconv.Itoa(tid),
			"trainer": job.Entity(t.id), "comm": untrusted.Cut(name, 64).String()}}
		m.thread = &watchedThread{task: s.task, links: t.main.links, counts: &m.samples, proc: t.main.proc,
			remotes: f.remotes, trainer: true, feeder: true}
		f.members = append(f.members, m)
	}
}

// sample samples all of them, besides the main thread that was just found to run, or to wait in what hands batches
// over, or neither.
func (f *feeders) sample(scratch *sampleScratch, now time.Duration, runs, waits bool) {
	idle, working, gone := 0, 0, false
	for _, m := range f.members {
		class, ok := m.thread.sample(scratch)
		if busy := m.proc != nil && m.clock.busy(scratch, m.id.PID, now); busy && ok && class != classRunning &&
			class != classStopped {
			m.thread.ran(class)
			class = classRunning
		}
		switch {
		case !ok:
			gone = true
		case m.thread.polls(scratch, class): // for whatever it is, it has nothing to do
			m.samples.move(class, classQueuePoll)
			idle++
		case handsOver(class):
			idle++
		case class != classStopped:
			if working++; !runs {
				m.working++
			}
		}
	}
	if gone {
		f.dropEnded()
	}
	f.joint.main(waits && working > 0, idle+working > 0, false)
	f.joint.set(waits && working > 0, idle, idle+working, 1)
}

// handsOver reports whether a thread of this class sleeps in what Python's queues, pools, events and locks wait in, or
// in a timer.
func handsOver(class waitClass) bool {
	switch class {
	case classQueuePoll, classFutexTimed, classFutex, classPipeRead, classPipeWrite, classSleep:
		return true
	}
	return false
}

// polls reports whether the thread that was just sampled polls descriptors that are no DataLoader's, as of a queue
// that is asked with a short time-out.
func (t *watchedThread) polls(scratch *sampleScratch, class waitClass) bool {
	s := &scratch.syscall
	if class != classOther || t.blind != nil || s.Running || s.Number < 0 {
		return false
	}
	call := scratch.calls.of(s.Number)
	return !t.onRemote && (call == callPoll || call == callPpoll)
}

func (f *feeders) dropEnded() {
	f.members = slices.DeleteFunc(f.members, func(m *feeder) bool {
		if m.thread.gone {
			f.departed = append(f.departed, m)
			m.close()
		}
		return m.thread.gone
	})
}

func (f *feeders) emit(l *Loader, t *trainer, sink recording.Sink) {
	for _, m := range slices.Concat(f.members, f.departed) {
		if m.news != nil {
			sink.Event(recording.EventThread, m.entity, m.news)
			m.news = nil
		}
		emitSamples(sink, m.entity, &m.samples)
		sink.Add(metric.FeederAtWork, m.entity, float64(m.working))
		l.reportBlind(sink, m.entity, m.thread)
		var account procfs.Schedstat
		if m.proc == nil && !m.thread.gone && m.thread.task.Schedstat(&account) == nil {
			sink.Add(metric.ProcMainCPU, m.entity, account.CPU.Seconds())
			sink.Add(metric.ProcRunDelay, m.entity, account.RunDelay.Seconds())
		}
	}
	f.departed = nil
	if f.joint.samples > 0 {
		f.joint.emit(sink, job.FeedersEntity(t.id))
	}
}

func (m *feeder) close() {
	if m.proc != nil { // else its thread is held with the others of the trainer
		m.thread.closeProcess()
	}
}

func (f *feeders) close() {
	for _, m := range f.members {
		m.thread.gone = true
	}
	f.dropEnded()
	for _, s := range f.threads {
		s.task.Close()
	}
	clear(f.threads)
}
