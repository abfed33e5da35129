package sampler

import (
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

const (
	// changeoverMemory is how many samples of the main thread are kept: more than 1 s of them, for births are told up
	// to a scan of the table of processes late.
	changeoverMemory = 64
	// birthsTold is how long after a first batch it is waited for births that were not told yet.
	birthsTold = 300 * time.Millisecond
	// slowestTiming is the mean time between samples up to which they tell a changeover, which takes some hundredths.
	slowestTiming = 30 * time.Millisecond
	// atOnce is between the end of a set and the births of the next where nothing else was done, and between the last
	// of these and the wait for the first batch: the end of 1 to 8 forked workers takes 7 to 30 ms, and the birth of
	// each 5 to 14 (PyTorch 1.13 and 2.15, 2 CPUs).
	atOnce = 60 * time.Millisecond
	// maxChangeovers bounds the changeovers of one trainer that are recorded.
	maxChangeovers = 1024
)

// changeover times how the whole set of a trainer's workers gives way to the next one, as between two epochs: from the
// end of the old set to the first batch of the new, where the main thread has waited for it and goes on. Counters that
// are handed over four times a second cannot tell that of short epochs. What the trainer does after the end of the old
// set and before the first birth, such as an evaluation, is no part of it. One that these samples do not show clearly
// is not told: where the main thread works before it waits, or where what it waits for is not known. While it waits for
// a batch it is given no CPU: where it was given one, and waits again, it had a batch between two samples.
type changeover struct {
	last mainSample
	kept [changeoverMemory]mainSample
	// the sample after which the first worker of the old set was gone, of those that went at once with the last; n = 0:
	// some is left, or nothing is timed
	ended       mainSample
	left        mainSample    // the same, while some are left
	first, born time.Duration // births of the first and the last worker of the new set
	starting    bool          // it has begun
	done        []changed
	told        int
	account     procfs.Schedstat // scratch space
	mute        bool             // it cannot be read
}

// mainSample is one sample of the main thread, and how many there were until then.
type mainSample struct {
	at            time.Duration
	polls, works  bool // it waits for a batch or the end of workers; it sleeps or is on a device
	n             int64
	turns         int64 // how often it was given a CPU, where it polls so; 0 where the kernel does not tell
	waiting, runs int64 // of the samples, those counted as waits for a batch, and those on a CPU
	slept         int64 // those in which it works so
}

// changed is a changeover that is over.
type changed struct {
	first time.Duration // the first batch of the new set
	row   recording.Changeover
}

// sampled takes a sample of the main thread. counted says that the loader counts it as a wait for a batch.
func (c *changeover) sampled(at time.Duration, t *trainer, main waitClass, counted bool) {
	s := &c.last
	s.at, s.works = at, main == classSleep || main == classDevice
	// the thread that pins the next set's batches is a new one, and not found at once
	s.polls = main == classQueuePoll || main == classFutexTimed && t.taker.pins
	s.n++
	if s.polls && !c.mute {
		if t.main.task.Schedstat(&c.account) != nil {
			c.mute, c.account.Turns = true, 0
		}
		s.turns = c.account.Turns
	}
	if counted {
		s.waiting++
	}
	if main == classRunning || main == classGIL {
		s.runs++
	}
	if s.works {
		s.slept++
	}
	c.kept[s.n%changeoverMemory] = *s
	if c.starting {
		c.look()
	}
}

// gone takes that a worker has gone, and whether it was the last one; the last sample was taken before that was found.
func (c *changeover) gone(all bool) {
	if c.left.n == 0 || c.last.at-c.left.at > atOnce {
		c.left = c.last
	}
	if all {
		c.ended, c.left, c.starting = c.left, mainSample{}, false
	}
}

// begun takes the birth of a worker of the new set.
func (c *changeover) begun(l *Loader, id procfs.ID) {
	up, err := l.fs.Uptime()
	born := l.clock() - up + time.Duration(id.Start)*(time.Second/userHZ)
	switch {
	case c.ended.n == 0:
	case err != nil, l.pace.interval > slowestTiming, born < c.ended.at-time.Second: // the last is one found again
		c.forget()
	case !c.starting:
		c.first, c.born, c.starting = born, born, true
	default:
		c.first, c.born = min(c.first, born), max(c.born, born)
	}
}

func (c *changeover) forget() { c.ended, c.starting = mainSample{}, false }

// look ends the changeover at the first sample that does not poll the same wait any more, of those since the last birth
// that do.
func (c *changeover) look() {
	oldest := max(1, c.last.n-changeoverMemory+1)
	begin, polled, before := mainSample{}, false, mainSample{}
	for n := oldest; n <= c.last.n; n++ {
		s := c.kept[n%changeoverMemory]
		switch {
		case s.at <= c.first:
			begin = s // the last one before the first birth
		case s.at < c.born:
		case s.polls && !polled && s.at-c.born > atOnce, !s.polls && !polled && s.works:
			c.forget() // it has had its first batch, and waits for another one
			return
		case s.polls && s.turns == 0:
			c.forget()
			return
		case s.polls && (!polled || s.turns == before.turns):
			polled = true
		case polled && c.last.at-s.at >= birthsTold:
			c.end(begin, before, s)
			return
		case polled:
			return // a birth after this may be told yet
		}
		before = s
	}
	if begin.n == 0 || c.last.at-c.born > birthsTold && !polled {
		c.forget()
	}
}

// end keeps a changeover whose last sample is before the first batch and whose next one is after it. begin is the last
// sample before the first birth; it begins with the end of the old set, where that was just before.
func (c *changeover) end(begin, last, next mainSample) {
	if begin.n == 0 || next.at-last.at > 2*slowestTiming || c.told == maxChangeovers {
		c.forget()
		return
	}
	if gap := c.first - c.ended.at; gap >= 0 && gap <= atOnce {
		begin = c.ended
	}
	first := (last.at + next.at) / 2
	c.told++
	c.done = append(c.done, changed{first, recording.Changeover{Took: (first - begin.at).Seconds(),
		Samples: last.n - begin.n, Waiting: last.waiting - begin.waiting, Running: last.runs - begin.runs,
		Asleep: last.slept - begin.slept}})
	c.forget()
}

// emit records what is over.
func (c *changeover) emit(l *Loader, t *trainer, sink recording.Sink) {
	for _, d := range c.done {
		d.row.Ago = (l.clock() - d.first).Seconds()
		sink.Event(recording.EventChangeover, job.LoaderEntity(t.id), recording.Attrs(d.row))
	}
	c.done = c.done[:0]
}
