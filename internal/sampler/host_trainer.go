package sampler

import (
	"time"

	"github.com/pipetune/pipetune/internal/procfs"
)

// hostTrainer is a trainer whose threads are sampled, and its workers in turn.
type hostTrainer struct {
	hostProcess
	main, autograd hostCounts

	workers codeOfWorkers
}

// hostProcess is a process of which threads are sampled.
type hostProcess struct {
	threads []*hostThread
	refused bool // the kernel gives no clock on this process

	code           codeMap
	known          bool      // code was read
	asked          time.Time // when it was last asked for; zero = never
	reading        chan readMap
	unread         error // why it could not be read, until it was reported
	unmappedSample []unmappedSample
}

// hostThread is one sampled thread.
type hostThread struct {
	tid    int
	clock  hostClock
	counts *hostCounts
	last   codeClass // of its last sample that was not in the C library
}

// hostCounts are samples by class. clocked says that they are counted at all.
type hostCounts struct {
	clocked bool
	total   uint64
	byClass [maxCodeClass + 1]uint64
}

// unmappedSample is a sample whose address is not in the map yet, and the class of the one before it.
type unmappedSample struct {
	ip     uint64
	thread *hostThread
	last   codeClass
}

type readMap struct {
	code []procfs.Mapping
	err  error
}

// read takes the samples that are there, and has the maps read again where an address is unknown, which place then
// classifies. While that is due or under way, the samples wait.
func (t *hostProcess) read(now time.Time, place func([]procfs.Mapping) codeMap,
	code func() ([]procfs.Mapping, error)) {
	t.arrived(place)
	for _, thread := range t.threads {
		thread.counts.clocked = true
		thread.clock.Drain(func(ip uint64) { // what was lost is of any class
			if class, found := t.code.find(ip); found {
				thread.count(class, thread.last)
				if class != codeLibc {
					thread.last = class
				}
			} else if len(t.unmappedSample) < maxUnmapped {
				t.unmappedSample = append(t.unmappedSample, unmappedSample{ip, thread, thread.last})
			} else if t.known {
				thread.count(codeOther, codeOther)
			}
		})
	}
	wanted := len(t.threads) > 0 && !t.known || len(t.unmappedSample) > 0
	if wanted && t.reading == nil && (t.asked.IsZero() || now.Sub(t.asked) >= codeEvery) {
		t.asked = now
		reading := make(chan readMap, 1)
		t.reading = reading
		go func() {
			m, err := code()
			reading <- readMap{m, err}
		}()
	}
}

// arrived takes the maps that were read, and places what waited for them. What is not in them either was unmapped
// since, or is code without a file.
func (t *hostProcess) arrived(place func([]procfs.Mapping) codeMap) {
	select {
	case got := <-t.reading:
		t.reading = nil
		if got.err != nil {
			t.unread = got.err
			return
		}
		t.code, t.known = place(got.code), true
	default:
		return
	}
	for _, s := range t.unmappedSample {
		class, _ := t.code.find(s.ip)
		s.thread.count(class, s.last)
	}
	t.unmappedSample = t.unmappedSample[:0]
}

// count counts a sample. The C library is called by all; right after code of the device it is that code's copy of
// memory or its way to give the CPU away (sched_yield) while it waits, and after code that reads or computes, copies of
// data.
func (s *hostThread) count(class, last codeClass) {
	if class == codeLibc {
		class = last
	}
	s.counts.total++
	s.counts.byClass[class]++
}
