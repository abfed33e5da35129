package sampler

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// SampleInterval is the mean time between two samples of a thread, where they are cheap enough (see samplePace). Fifty
// samples a second tell a share of time over 30 s to within 2.5 points (95 %, binomial, 1,500 samples).
const SampleInterval = 20 * time.Millisecond

// Members says which processes belong to the job; *job.Job does.
type Members interface {
	// Tree returns the processes as of now: another tree after each change. It is called from the sampling goroutine,
	// about every 20 ms.
	Tree() *job.Tree
}

// Loader watches what the trainers wait for, what each of their workers is in, and the batches that pass between them.
//
// It reads /proc/PID/task/TID/syscall of each trainer's main, autograd and pinning threads and of each worker's main
// thread, all of them back to back, at jittered moments; the links of the workers' descriptors, which name the tensors
// on their way; and the workers' counts of write calls. A trainer counts as waiting for a batch when its main thread is
// in the DataLoader's poll, asleep receiving from a pipe or socket, or, where a thread pins its batches, in a timed
// futex. The time the main thread runs to unpickle a batch is not counted: from outside it looks like any other
// running.
type Loader struct {
	steady
	fs      procfs.FS
	maps    job.Guard // of reads of a process's maps
	members Members
	clock   func() time.Duration
	pace    samplePace

	mu       sync.Mutex // guards all below between the sampling goroutine and Sample
	scratch  sampleScratch
	buf      procfs.Buffer
	tree     *job.Tree // that was adopted last; nil before the first
	began    uint64    // when the first members were adopted, in clock ticks since boot; 0 = unknown
	trainers []*trainer
	unopened error // why a trainer's threads cannot be looked at, until it was reported
	passes   uint64
	listing  listingPace

	stop    context.CancelFunc
	stopped chan struct{}
}

// NewLoader watches the loaders of a job's trainers.
func NewLoader(fs procfs.FS, members Members) *Loader {
	start := time.Now()
	l := newLoader(fs, members, func() time.Duration { return time.Since(start) },
		rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	if fs.Root == "" {
		l.scratch.pollFD, l.scratch.cpuTime = procfs.PollDescriptor, procfs.CPUTime
	}
	return l
}

// Unhurried has the loader sampled and its descriptors listed less often, for a watch without an end: a minute at
// this pace tells a share of time as closely as the 25 s that remain of a usual watch at the other. It is called before
// Start.
func (l *Loader) Unhurried() {
	l.pace.interval, l.pace.least, l.listing.slower = unhurriedInterval, unhurriedInterval, true
}

// unhurriedInterval is the mean time between two samples then.
const unhurriedInterval = 50 * time.Millisecond

// newLoader has counts handed over four times a second, which places a batch well within a step of a slow job.
func newLoader(fs procfs.FS, members Members, clock func() time.Duration, random *rand.Rand) *Loader {
	return &Loader{steady: steady{"loader", 250 * time.Millisecond}, fs: fs, members: members, clock: clock,
		pace:    samplePace{random: random, interval: SampleInterval, least: SampleInterval},
		scratch: sampleScratch{calls: newCallTable(runtime.GOARCH)}} // pipetune's architecture is the job's
}

// Interval returns the mean time between samples as it is now: SampleInterval, or more where the samples would cost too
// much.
func (l *Loader) Interval() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pace.interval
}

// Start implements Sampler: it begins the goroutine that samples, which ends with ctx or Close.
func (l *Loader) Start(ctx context.Context, _ recording.Sink) error {
	wake, err := newAlarm()
	if err != nil {
		return err
	}
	ctx, l.stop = context.WithCancel(ctx)
	context.AfterFunc(ctx, func() { _ = wake.close() }) // it ends the wait, and holds nothing to lose
	l.stopped = make(chan struct{})
	go func() {
		defer close(l.stopped)
		l.watch(wake)
	}()
	return nil
}

// watch samples until the alarm is closed. A sample that comes late, because the machine is busy or pipetune was
// stopped, is not made up for: samples are counted, so a gap is only less coverage.
func (l *Loader) watch(wake *alarm) {
	for next := time.Duration(0); wake.wait(next); {
		l.mu.Lock()
		l.pass(l.clock())
		next = l.pace.next()
		l.mu.Unlock()
	}
}

// pass samples every thread once, and lists the descriptors of one worker where that is due.
func (l *Loader) pass(now time.Duration) {
	if tree := l.members.Tree(); tree != l.tree {
		l.adopt(tree)
	}
	l.pace.passes(now)
	round := uint64(1)
	for _, t := range l.trainers {
		t.sample(l, now)
		round = max(round, t.setEvery())
	}
	l.pace.took(l.clock()-now, int(round))
	l.passes++
	l.accounts()
	l.list(now)
}

// adopt takes over the job's members: new ones are opened, those that left are closed.
func (l *Loader) adopt(tree *job.Tree) {
	if l.tree == nil {
		if up, err := l.fs.Uptime(); err == nil {
			l.began = uint64(up.Seconds() * procfs.TicksPerSecond)
		}
	}
	for _, p := range tree.Trainers() {
		t := l.trainerOf(p.ID)
		if t == nil {
			var err error
			if t, err = l.newTrainer(p); err != nil {
				if !errors.Is(err, procfs.ErrGone) {
					l.unopened = err
				}
				continue
			}
			l.trainers = append(l.trainers, t)
		}
		t.taker.named, t.python = p.PinThread, p.Python
		if !t.ended {
			t.autograd.watch(t, p.AutogradThreads)
		}
		t.adoptWorkers(l, tree.Workers(p.ID))
		if !t.had && !t.ended {
			t.feeders.adopt(l, tree.Feeders(p.ID))
		}
	}
	for _, t := range l.trainers {
		if _, alive := tree.Find(t.id); !alive {
			t.end(l, l.clock())
		}
	}
	l.tree = tree
}

// bornInWatch reports whether a process began after the watch did. A worker that is recognised late, or lost for a
// moment and found again, may be as old as the job; its own start tells. Where the time since boot cannot be read, what
// comes after the first adoption is new.
func (l *Loader) bornInWatch(id procfs.ID) bool {
	if l.began == 0 {
		return l.tree != nil
	}
	return id.Start >= l.began
}

func (l *Loader) trainerOf(id procfs.ID) *trainer {
	for _, t := range l.trainers {
		if t.id == id {
			return t
		}
	}
	return nil
}

// sampleTries and sampleWait bound how long Sample waits for a sample under way: one that hangs in the kernel must not
// hang the tick. A sample takes well below a millisecond; one that reads the tables of connections 7 ms where they are
// large (procfs.Process.Peers), and a tick that meets that goes without these readings, as one of 500 may
// (connectionsBudget).
const (
	sampleTries = 25
	sampleWait  = 200 * time.Microsecond
)

// Sample implements Sampler.
func (l *Loader) Sample(_ context.Context, sink recording.Sink) {
	for i := 0; !l.mu.TryLock(); i++ {
		if i == sampleTries {
			return
		}
		time.Sleep(sampleWait)
	}
	defer l.mu.Unlock()
	if l.unopened != nil {
		unread(sink, "looks*", "", l.unopened, "")
		unread(sink, "loader_*", "", l.unopened, "")
		l.unopened = nil
	}
	l.trainers = slices.DeleteFunc(l.trainers, func(t *trainer) bool {
		for _, d := range t.loaders {
			d.batches.Estimate()
		}
		t.emit(l, sink)
		return t.ended
	})
}

// Close implements Sampler.
func (l *Loader) Close() {
	if l.stop == nil {
		return
	}
	l.stop()
	select {
	case <-l.stopped:
	case <-time.After(sampleTries * sampleWait): // stuck in the kernel: its descriptors end with the process
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.trainers {
		t.end(l, l.clock())
	}
}

func emitSamples(sink recording.Sink, entity string, c *sampleCounts) {
	sink.Add(metric.ThreadSamples, entity, float64(c.total))
	for k := range c.byClass {
		if waitClass(k) != classGIL || c.knows {
			sink.Add(classMetrics[k], entity, float64(c.byClass[k]))
		}
	}
	if c.sees {
		sink.Add(metric.ThreadRemote, entity, float64(c.remote))
	}
	if c.shows {
		sink.Add(metric.ThreadSharedFutex, entity, float64(c.shared))
	}
}
