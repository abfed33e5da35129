package sampler

import (
	"time"

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
	// atOnce is between the ends of two workers of a set, and between the last of these and the births of the next
	// where nothing else was done: the end of 1 to 8 forked workers takes 7 to 30 ms, and the birth of each 5 to 14
	// (PyTorch 1.13 and 2.15, 2 CPUs).
	atOnce = 60 * time.Millisecond
	// soonest is between the last birth and the first sample of the wait for the first batch: the 10 ms to which births
	// are told, some 5 of work, and the time between two samples.
	soonest = 40 * time.Millisecond
	// maxChangeovers bounds the changeovers of one trainer that are recorded.
	maxChangeovers = 1024
)

// changeover times how the whole set of a trainer's workers gives way to the next one, as between two epochs: from the
// end of the old set to the first batch of the new, where the main thread has waited for it and goes on. Counters that
// are handed over four times a second cannot tell that of short epochs. What the trainer does after the end of the old
// set and before the first birth, such as an evaluation, is no part of it. One that these samples do not show clearly
// is not told: where the main thread works before it waits, or where what it waits for is not known.
type changeover struct {
	last mainSample
	kept [changeoverMemory]mainSample
	// the samples before a worker of the old set was found gone, the first and the last one of those that went at once
	ending, ended mainSample
	over          bool          // no worker of the old set is left
	first, born   time.Duration // births of the first and the last worker of the new set
	births        int           // of the new set; 0: it has not begun
	done          []changed
	told          int
	account       procfs.Schedstat // scratch space
	noAccount     bool             // it cannot be read
}

// mainSample is one sample of the main thread, and how many there were until then.
type mainSample struct {
	at            time.Duration
	polls, works  bool // it waits for a batch or the end of workers; it sleeps or is on a device
	n             int64
	turns         int64 // how often it was given a CPU, of one that polls after the old set's end; 0: not known
	waiting, runs int64 // of the samples, those counted as waits for a batch, and those on a CPU
	slept         int64 // those in which it works so
}

// changed is a changeover that is over.
type changed struct {
	first time.Duration // the first batch of the new set
	row   recording.Changeover
}

// sampled takes a sample of the main thread. polls says that it waits for a batch or for the end of workers; counted,
// that the loader counts it as a wait for a batch.
func (c *changeover) sampled(at time.Duration, main *watchedThread, class waitClass, polls, counted bool) {
	s := &c.last
	s.at, s.polls, s.works = at, polls, class == classSleep || class == classDevice
	s.n++
	if s.turns = 0; polls && c.over {
		s.turns = c.turns(main)
	}
	if counted {
		s.waiting++
	}
	if class == classRunning || class == classGIL {
		s.runs++
	}
	if s.works {
		s.slept++
	}
	c.kept[s.n%changeoverMemory] = *s
	if c.births > 0 {
		c.look(false)
	}
}

// turns is how often a thread was given a CPU; 0 where the kernel does not tell.
func (c *changeover) turns(t *watchedThread) int64 {
	if c.noAccount || t.task.Schedstat(&c.account) != nil {
		c.noAccount = true
		return 0
	}
	return c.account.Turns
}

// gone takes that a worker has gone, and whether it was the last one; the last sample was taken before that was found.
func (c *changeover) gone(all bool) {
	if c.births > 0 {
		c.look(true)
	}
	if c.ended.n == 0 || c.over || c.last.at-c.ended.at > atOnce {
		c.ending = c.last
	}
	c.ended, c.over, c.births = c.last, all, 0
}

// begun takes the birth of a worker of the new set.
func (c *changeover) begun(l *Loader, id procfs.ID) {
	up, err := l.fs.Uptime()
	born := l.clock() - up + time.Duration(id.Start)*(time.Second/procfs.TicksPerSecond)
	switch {
	case !c.over:
		return
	case err != nil, l.pace.interval > slowestTiming, born < c.ended.at-time.Second: // the last is one found again
		c.forget()
		return
	case c.births == 0:
		c.first, c.born = born, born
	}
	c.first, c.born = min(c.first, born), max(c.born, born)
	c.births++
}

func (c *changeover) forget() { c.ended, c.over, c.births = mainSample{}, false, 0 }

// look ends the changeover at the first sample after the wait for the first batch. whole says that no birth is waited
// for any more.
func (c *changeover) look(whole bool) {
	oldest := max(1, c.last.n-changeoverMemory+1)
	begin, polled, before := mainSample{}, false, mainSample{}
	for n := oldest; n <= c.last.n; n++ {
		s := c.kept[n%changeoverMemory]
		switch {
		case s.at <= c.first:
			begin = s // the last one before the first birth
		case s.at < c.born:
		case s.polls && !polled && s.at-c.born > soonest, !s.polls && !polled && s.works, s.polls && !c.tells(s):
			c.forget() // it may have had its first batch, and wait for another one
			return
		case s.polls && (!polled || !c.another(before, s)):
			polled = true
		case polled && (whole || c.last.at-s.at >= birthsTold):
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

// tells reports whether a sample that polls tells one wait from another. The batches that several workers make first
// are there at about the same time, and samples see the main thread work on them, unless its steps are very short.
func (c *changeover) tells(s mainSample) bool { return c.births > 1 || s.turns > 0 }

// another reports whether a sample that polls is of another wait than the one before it: a main thread that waits for a
// single worker is given no CPU until it has a batch, and where it waits again it has made a step between the samples.
// Of several workers, one that is not next wakes it, too.
func (c *changeover) another(before, s mainSample) bool {
	return c.births == 1 && s.turns != before.turns
}

// end keeps a changeover whose last sample is before the first batch and whose next one is after it. begin is the last
// sample before the first birth; it begins with the first end of the old set, where the last one was just before.
func (c *changeover) end(begin, last, next mainSample) {
	if begin.n == 0 || next.at-last.at > 2*slowestTiming || c.told == maxChangeovers {
		c.forget()
		return
	}
	if gap := c.first - c.ended.at; gap.Abs() <= atOnce && c.ending.at < begin.at { // of many, ends are found late
		begin = c.ending
	}
	first := (last.at + next.at) / 2
	c.told++
	c.done = append(c.done, changed{first, recording.Changeover{Took: (first - begin.at).Seconds(),
		Samples: last.n - begin.n, Waiting: last.waiting - begin.waiting, Running: last.runs - begin.runs,
		Asleep: last.slept - begin.slept}})
	c.forget()
}

// emit records what is over.
func (c *changeover) emit(l *Loader, entity string, sink recording.Sink) {
	for _, d := range c.done {
		d.row.Ago = (l.clock() - d.first).Seconds()
		sink.Event(recording.EventChangeover, entity, recording.Attrs(d.row))
	}
	c.done = c.done[:0]
}
