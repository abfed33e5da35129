package sampler

import (
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

const (
	// changeoverMemory is how many samples of the main thread are kept: those since the births of workers that the
	// table of processes tells up to a scan late, which is 0.1 to 1 s.
	changeoverMemory = 64
	// endsWithin is how long the workers of one set take to end, as others end beside them.
	endsWithin = time.Second
	// joinSamples is how many samples before the end of the first may be of its trainer waiting for that: to end 1 to 8
	// forked workers takes 7 to 30 ms (PyTorch 1.13 and 2.15, 2 CPUs). More might be waits for the last batch.
	joinSamples = 2
	// startsAtOnce is how long after the last birth a trainer that does not wait is taken to have its batch already.
	startsAtOnce = 250 * time.Millisecond
	// maxChangeovers bounds the changeovers of one trainer that are recorded.
	maxChangeovers = 4096
)

// changeover times how the whole set of a trainer's workers gives way to the next one, as between two epochs: from the
// end of the old set, which samples of its workers notice at once, to the first batch of the new, where the main thread
// has waited for it and goes on. Counters that are handed over four times a second cannot tell that of short epochs.
type changeover struct {
	last     mainSample
	kept     [changeoverMemory]mainSample
	ending   mainSample // the sample after which the first of the old set was gone; n = 0: none is
	from     mainSample // the one after which the trainer began to end the old set, which is gone; n = 0: it is not
	born     time.Duration
	starting bool // the new set has begun
	done     []changed
	told     int
}

// mainSample is one sample of the main thread, and how many there were until then.
type mainSample struct {
	at    time.Duration
	waits bool
	// samples; of these, counted as waits for a batch, on a CPU, and neither that nor waiting for workers
	n, waiting, running, asleep int64
}

// changed is a changeover that is over.
type changed struct {
	first time.Duration // the first batch of the new set
	row   recording.Changeover
}

// sampled takes a sample of the main thread. counted says that it counts as a wait of the loader.
func (c *changeover) sampled(at time.Duration, waits, counted, running bool) {
	c.last.at, c.last.waits = at, waits
	c.last.n++
	if counted {
		c.last.waiting++
	}
	switch {
	case running:
		c.last.running++
	case !waits:
		c.last.asleep++
	}
	c.kept[c.last.n%changeoverMemory] = c.last
	if c.starting {
		c.look()
	}
}

// gone takes that workers have ended, of which so many are left. The last sample is the first that could find that. The
// trainer joins them, which it waits in before the first has ended.
func (c *changeover) gone(left int) {
	if c.ending.n == 0 || c.last.at-c.ending.at > endsWithin {
		c.ending = c.last
		for n := range int64(joinSamples) {
			if s := c.kept[(c.last.n-n)%changeoverMemory]; n < c.last.n && s.waits {
				c.ending = c.kept[(c.last.n-n-1)%changeoverMemory]
			} else {
				break
			}
		}
	}
	if left == 0 {
		c.from, c.ending, c.starting = c.ending, mainSample{}, false
	}
}

// begun takes the birth of a worker of the new set.
func (c *changeover) begun(l *Loader, id procfs.ID) {
	if c.from.n == 0 {
		return
	}
	up, err := l.fs.Uptime()
	if err != nil {
		c.from = mainSample{}
		return
	}
	c.born, c.starting = l.clock()-up+time.Duration(id.Start)*(time.Second/userHZ), true
}

// look ends the changeover at the first sample that does not wait after those since the last birth that do.
func (c *changeover) look() {
	waited := false
	before := c.last
	for n := max(c.from.n, c.last.n-min(c.last.n, changeoverMemory-1)); n <= c.last.n; n++ {
		s := c.kept[n%changeoverMemory]
		switch {
		case s.at < c.born:
		case s.waits:
			waited = true
		case waited:
			c.end(before, s)
			return
		case s.at-c.born > startsAtOnce: // what it does cannot be told from a step
			c.from, c.starting = mainSample{}, false
			return
		}
		before = s
	}
}

// end keeps a changeover whose last sample is before the first batch and whose next one is after it.
func (c *changeover) end(last, next mainSample) {
	if first := (last.at + next.at) / 2; c.told < maxChangeovers {
		c.told++
		c.done = append(c.done, changed{first, recording.Changeover{Took: (first - c.from.at).Seconds(),
			Samples: last.n - c.from.n, Waiting: last.waiting - c.from.waiting,
			Running: last.running - c.from.running, Asleep: last.asleep - c.from.asleep}})
	}
	c.from, c.starting = mainSample{}, false
}

// emit records what is over.
func (c *changeover) emit(l *Loader, t *trainer, sink recording.Sink) {
	for _, d := range c.done {
		d.row.Ago = (l.clock() - d.first).Seconds()
		sink.Event(recording.EventChangeover, job.LoaderEntity(t.id), recording.Attrs(d.row))
	}
	c.done = c.done[:0]
}
