package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/procfs"
)

// workerGroup is several worker processes that read at the same time: warm, each all of the sample; cold, disjoint
// shares of it.
type workerGroup struct {
	*session
	processes []*process
	items     []int         // in random order
	far       []int         // cold: those of them that lie apart, which processes share out
	next      []int         // where each process goes on, warm in all of the items, cold in its share
	pass      time.Duration // how long a round lasts
	cold      bool
	distant   bool // files lie on another machine or behind another process: what is fetched may not be counted
	turn      uint64
	took      float64 // seconds of the last round
}

type groupRound struct {
	rate    float64 // items per second, all together
	seconds float64 // mean of the processes
	cores   float64 // cores' worth of CPU time
	ready   float64 // share of their time in which they ran or waited for a CPU
	passes  []pass  // of the processes
	stored  float64 // bytes fetched from storage
	bytes   float64 // bytes delivered
}

func (c *workerGroup) close() {
	for _, p := range c.processes {
		p.close()
	}
}

// startUpTo starts processes until there are so many, each with the sample in it, so that its next request waits for
// nothing. Without a key, those of one mount do not wait for each other.
func (c *workerGroup) startUpTo(ctx context.Context, count int) error {
	if err := c.roomFor(count); err != nil {
		return err
	}
	for len(c.processes) < count {
		p := c.processOn("", &c.sample, c.pass)
		if _, err := p.begin(ctx, c.time); err != nil {
			p.close()
			return fmt.Errorf("starting worker process %d: %w", len(c.processes)+1, err)
		}
		c.processes = append(c.processes, p)
	}
	return nil
}

// revive begins a process again that died and was renewed, once what ended it is left out.
func (c *workerGroup) revive(ctx context.Context, p *process, asked load, death error) error {
	if len(c.sound(&c.sample, asked.Items)) == len(asked.Items) { // else another one has ended by the same item
		if err := c.survive(ctx, &c.sample, asked, death); err != nil {
			return err
		}
	}
	if _, err := p.begin(ctx, c.time); err != nil {
		return fmt.Errorf("starting a worker process again: %w", err)
	}
	return nil
}

// lead is how far ahead a round starts: a request takes some 1 ms with a thousand items to reach its process, and
// samples have 4,096 at most.
func lead(count int) time.Duration {
	return 20*time.Millisecond + time.Duration(count)*2*time.Millisecond
}

// round has the first count processes read for the time of a pass, all from one instant on.
func (c *workerGroup) round(ctx context.Context, count int) (groupRound, error) {
	for tried := false; ; tried = true {
		if tried && c.time.left() == 0 {
			return groupRound{}, errNoneInTime
		}
		items, err := c.forRound(ctx, count)
		if err != nil {
			return groupRound{}, err
		}
		if err := c.startUpTo(ctx, count); err != nil {
			return groupRound{}, err
		}
		if len(c.next) != count {
			c.next = make([]int, count)
			for i := range c.next {
				c.next[i] = i * len(items) / count
			}
		}
		begin := procfs.Monotonic() + lead(count)
		asked := make([]load, count)
		for i := range asked {
			q := load{Items: items, Seconds: c.pass.Seconds(), Once: c.cold, Handle: jobHandle(&c.sample),
				Decode: holdsPictures(&c.sample), StartAt: begin}
			if c.cold { // what one reads would be warm for another
				q.Items = share(items, i, count)
				q.Fresh = c.sample.Members || c.staysCached(&c.sample, q.Items)
			} // warm, a share's chunks may fit into the cache of a process, as all do not
			q.From = c.next[i] % len(q.Items)
			asked[i] = q
		}
		got, errs := c.ask(ctx, asked)
		if again, err := c.replaceDead(ctx, asked, got, errs); err != nil {
			return groupRound{}, err
		} else if again {
			c.next = nil // a new process has to get to know the file
			continue
		}
		for i := range got {
			c.next[i] = got[i].Next
		}
		if r, ok := added(got); ok {
			c.took = r.seconds
			return r, nil // what could not be read is in none of a pass's figures
		}
	}
}

// forRound is what is read in a round: warm all of the items, cold those that lie apart, with all pages dropped.
func (c *workerGroup) forRound(ctx context.Context, count int) ([]int, error) {
	items := c.sound(&c.sample, c.items)
	if len(items) < count {
		return nil, fmt.Errorf("only %d of the sampled items could be read", len(items))
	}
	if !c.cold {
		return items, nil
	}
	if c.far = c.sound(&c.sample, c.far); len(c.next) != count || len(c.far) < count {
		if err := c.choose(items, count); err != nil {
			return nil, err
		}
		if err := c.getToKnow(ctx, count); err != nil {
			return nil, err
		}
		if c.far = c.sound(&c.sample, c.far); len(c.far) < count {
			return nil, fmt.Errorf("only %d of the sampled items could be read", len(c.far))
		}
	}
	return c.far, c.dropCaches(ctx)
}

// choose puts items that lie apart into far.
func (c *workerGroup) choose(items []int, count int) error {
	c.far = nil
	for try := 0; try < coldTries && len(c.far) < count; try++ { // how many lie apart depends on the first of them
		c.turn++
		items = unlinked(&c.sample, items)
		shuffle(items, c.options.Seed, c.turn)
		c.far = apart(&c.sample, items, len(items), c.page.ahead, c.chunks())
	}
	switch {
	case len(c.far) < count && len(c.far) == 1:
		return errors.New("only 1 of the sampled items lies far enough from the others")
	case len(c.far) < count:
		return fmt.Errorf("only %d of the sampled items lie far enough apart", len(c.far))
	}
	return nil
}

// getToKnow has each process read its share of an HDF5 file once, as it is stored, for as long as three rounds: libhdf5
// then holds the tables that say where chunks lie, as it soon does in a job, and rounds of 40 ms need not read them. Of
// 1,000 items in 8,000 chunks, 4,240, 6,800 and 8,400 a second came by 1, 2 and 4 processes that had to read the
// tables, 4,400, 7,400 and 10,300 by those that knew them.
func (c *workerGroup) getToKnow(ctx context.Context, count int) error {
	if c.sample.Kind != dataset.HDF5 || c.sample.Members || jobHandle(&c.sample) != handleKept {
		return nil
	}
	asked := make([]load, count)
	for i := range asked {
		asked[i] = load{Items: share(c.far, i, count), Once: true, Raw: true, Seconds: 3 * c.pass.Seconds(),
			Handle: handleKept}
	}
	got, errs := c.ask(ctx, asked)
	_, err := c.replaceDead(ctx, asked, got, errs)
	return err
}

// dropCaches drops the pages of all files and sees that they are gone.
func (c *workerGroup) dropCaches(ctx context.Context) error {
	var share *float64
	for range coldTries {
		r, err := c.residency(ctx, true)
		if err != nil {
			return err
		}
		c.distant = r.Remote
		if share = r.Ratio(); share != nil && *share <= coldShare {
			return nil
		}
	}
	return stillWarm(share)
}

// ask sends the requests at the same time and waits for all answers.
func (c *workerGroup) ask(ctx context.Context, asked []load) ([]loaded, []error) {
	got, errs := make([]loaded, len(asked)), make([]error, len(asked))
	var all sync.WaitGroup
	for i := range asked {
		all.Go(func() {
			got[i], errs[i] = loadWork.ask(ctx, c.processes[i], asked[i])
		})
	}
	all.Wait()
	return got, errs
}

// replaceDead notes what could not be read and renews processes that died; then the round is made again.
func (c *workerGroup) replaceDead(ctx context.Context, asked []load, got []loaded, errs []error) (again bool,
	err error) {
	for i := range asked {
		c.note(&c.sample, got[i].Failures)
		switch {
		case errs[i] == nil:
		case !died(errs[i]):
			return false, errs[i]
		default:
			again = true
			c.processes[i].renew()
			if err := c.revive(ctx, c.processes[i], asked[i], errs[i]); err != nil {
				return false, err
			}
		}
	}
	return again, nil
}

// added sums up what the processes did; not ok when none read an item.
func added(got []loaded) (groupRound, bool) {
	var r groupRound
	var runnable float64
	n := float64(len(got))
	for _, g := range got {
		p := g.Pass
		if p.Items == 0 || p.Seconds <= 0 {
			continue
		}
		r.rate += float64(p.Items) / p.Seconds
		r.seconds += p.Seconds / n
		r.cores += p.CPU / p.Seconds
		runnable += min(1, (p.CPU+g.Delay)/p.Seconds)
		r.bytes += float64(p.Bytes)
		r.passes = append(r.passes, p)
		if p.IO != nil {
			r.stored += float64(p.IO.Stored)
		}
	}
	r.ready = runnable / n
	return r, r.rate > 0
}

// share is every count-th item, from the i-th on: shares are disjoint and alike.
func share(items []int, i, count int) []int {
	var out []int
	for ; i < len(items); i += count {
		out = append(out, items[i])
	}
	return out
}

// summary makes a step of rounds; the first of them may be a warm-up and is left out then.
func summary(count int, rounds []groupRound) step {
	seconds := func(r groupRound) float64 { return r.seconds }
	s := step{workers: count, rate: over(rounds, func(r groupRound) float64 { return r.rate * r.seconds }, seconds),
		cores: over(rounds, func(r groupRound) float64 { return r.cores * r.seconds }, seconds)}
	var stored, bytes float64
	for _, r := range rounds {
		s.ready += r.ready / float64(len(rounds))
		stored += r.stored
		bytes += r.bytes
	}
	if bytes > 0 {
		s.stored = stored / bytes
	}
	return s
}
