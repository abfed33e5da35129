package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/stat"
)

// way is one way of reading items that is measured in one worker process.
type way struct {
	probe    string               // report.Probe…
	what     string               // for people: "random reads, cold"
	row      benchmark.Way        // what its row says: no Handle where a file is one item
	keep     func(benchmark.Read) // puts the row into the result
	sample   *dataset.Sample      // nil: the session's own
	items    []int                // in the order they are read
	handle   string               // handleKept or handleReopened
	decode   bool
	raw      bool // read what is stored, and do not decompress it
	cold     bool
	apart    bool // cold: only items at a distance from each other are read after each drop
	openOnly bool // open files, and read nothing
	fill     int  // chunks to read before the rounds begin, so that a chunk cache is as full as it gets
}

type reading struct {
	time   stat.Summary // seconds per item
	passes []pass
	times  [][]float64 // seconds of single items, of each pass
}

var (
	errNoneReadable = errors.New("none of the sampled items could be read")
	errNoneInTime   = errors.New("no item could be read in the time there was for it")
)

// measure reads in one way until the time per item is known or the time is up. Items that cannot be read are named
// and left out. With an error comes what was measured before it.
func (s *session) measure(ctx context.Context, w way, within span) (reading, error) {
	if w.sample == nil {
		w.sample = s.uncached(w.handle)
	}
	m := measuring{session: s, way: w, process: s.process(w.sample, within.left())}
	defer m.process.close()
	within, err := m.process.begin(ctx, within)
	if err != nil {
		return reading{}, err
	}
	once := m.warmRound
	if w.cold {
		once = m.coldRound
	} else if w.openOnly {
		// the first round, which does not count, brings in what there is
	} else if err := m.warmUp(ctx, within.part(warmUpShare)); err != nil {
		return reading{}, err
	} else if err := m.fillCache(ctx, within); err != nil {
		return reading{}, err
	}
	m.pass = within.pass()
	v, rounds, err := s.repeat(ctx, within, func() (round, error) { return once(ctx) })
	if err != nil {
		v = perUnit(rounds)
	}
	warm := len(m.out.passes) - len(rounds) // the first, a warm-up, does not count
	m.out.passes, m.out.times = m.out.passes[warm:], m.out.times[warm:]
	m.out.time = v
	not := unfetched(m.out.passes, !w.apart && s.readsAgain())
	if w.openOnly {
		not = unopened(m.out.passes)
	}
	if w.cold && not != nil && ctx.Err() == nil {
		return reading{}, not
	}
	return m.out, err
}

// uncached is the sample, without a chunk cache where its files stay open to time reading apart from opening, and a job
// opens one for each item: then nothing is in the cache, and what lay there would be no read. Chunks without filters
// are read as the cache has them read, and out of memory either way.
func (s *session) uncached(handle string) *dataset.Sample {
	l := s.options.Layout
	if handle != handleKept || !s.sample.OpensEach || l == nil || len(l.Dataset.Filters) == 0 {
		return &s.sample
	}
	sample := s.sample
	sample.ChunkCacheBytes = new(int64)
	return &sample
}

type measuring struct {
	*session
	way
	process *process
	pass    time.Duration // of one round
	next    int           // where in the items the next round begins
	turn    uint64        // rounds so far
	most    int           // cold: items of a round
	out     reading
}

// warmUp reads every item once. Where that takes longer than there is, what was read until then is what is measured.
// HDF5 items are read as they are stored, each chunk once: decompressing them all would take the time that measuring
// some of them needs.
func (m *measuring) warmUp(ctx context.Context, within span) error {
	sample, chunks := m.way.sample, m.chunks().byIndex()
	for {
		list := m.sound(sample, m.items)
		if chunks.shared() {
			list = apart(sample, list, len(list), 0, chunks)
		}
		out, err := m.load(ctx, list, load{Once: true, Seconds: within.once(), Raw: sample.Kind == dataset.HDF5})
		if err != nil {
			return err
		}
		if out.Pass.Items == 0 {
			continue // load fails when no item is left
		}
		if out.Next == 0 {
			return nil
		}
		all := m.items
		m.items = sharing(sample, all, list[:out.Next], chunks)
		if m.handle == handleKept && !m.raw && m.onlyCached(sample, m.items, all) {
			return m.tooFewWarm()
		}
		return nil
	}
}

// errTooFewWarm says that warm rounds would be of HDF5's chunk cache; cold ones are not.
var errTooFewWarm = errors.New("too few items could be brought in")

func (s *session) tooFewWarm() error {
	return fmt.Errorf("%w: more than HDF5's chunk cache holds took longer than their share of the budget of %v; give "+
		"--budget %v", errTooFewWarm, s.options.Budget, s.larger())
}

// fillCache reads an item of each of so many chunks, which the rounds, begun elsewhere, meet no oftener than others.
func (m *measuring) fillCache(ctx context.Context, within span) error {
	if m.fill == 0 {
		return nil
	}
	list := apart(m.way.sample, m.items, m.fill, 0, grid{chunk: m.options.Layout.Dataset.Chunk,
		patch: m.way.sample.ItemShape})
	out, err := m.load(ctx, list, load{Once: true, Seconds: within.once()})
	if err == nil && out.Next > 0 {
		err = fmt.Errorf("filling the chunk cache took longer than its share of the budget of %v; give --budget %v",
			m.options.Budget, m.larger())
	}
	m.next = len(m.items) / 2
	return err
}

// warmRound reads on from where the last round stopped.
func (m *measuring) warmRound(ctx context.Context) (round, error) {
	for {
		out, err := m.load(ctx, m.items, load{From: m.next, Seconds: m.pass.Seconds()})
		if err != nil {
			return round{}, err
		}
		m.next = out.Next
		if p := out.Pass; p.Items > 0 {
			return m.keep(p, out.Times), nil
		}
	}
}

func (m *measuring) keep(p pass, times []float64) round {
	m.out.passes = append(m.out.passes, p)
	m.out.times = append(m.out.times, times)
	return round{Units: float64(p.Items), Seconds: p.Seconds}
}

// load has the worker process read those of the items that could be read so far, in a fresh process after it died.
func (m *measuring) load(ctx context.Context, items []int, q load) (loaded, error) {
	sample := m.way.sample
	out, err := attended(ctx, m.process, loadWork, func() (load, error) {
		q.Items, q.Handle, q.Decode, q.Raw, q.OpenOnly = m.sound(sample, items), m.handle, m.decode, m.raw ||
			q.Raw, m.openOnly
		if len(q.Items) == 0 && m.openOnly {
			return q, m.nothingLeft(errNoneOpens)
		}
		if len(q.Items) == 0 {
			return q, m.nothingLeft(errNoneReadable)
		}
		q.From %= len(q.Items)
		return q, nil
	}, func(q load, death error) error { return m.survive(ctx, sample, q, death) })
	if err == nil {
		m.note(sample, out.Failures)
	}
	return out, err
}

// nothingLeft is why nothing could be read or opened, with the last reason that was met.
func (s *session) nothingLeft(why error) error {
	if n := len(s.result.Unread); n > 0 {
		return fmt.Errorf("%w (%s)", why, s.result.Unread[n-1].Reason)
	}
	return why
}

// mostShort is how many things are named of those whose figures have no interval.
const mostShort = 4

// short warns of all figures without an interval at once; an interruption is no lack of budget.
func (s *session) short(ctx context.Context, v stat.Summary, what string) {
	if v.N == 0 || v.Confidence > 0 {
		return
	}
	if ctx.Err() != nil {
		s.warn(fmt.Sprintf("the run was interrupted before six rounds for %s: these figures have no interval", what))
		return
	}
	b := &s.brief
	if b.things = append(b.things, what); len(b.things) == 1 {
		b.at = len(s.result.Warnings)
		s.warn("")
	}
	names := strings.Join(b.things[:min(len(b.things), mostShort)], "; ")
	if more := len(b.things) - mostShort; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	s.result.Warnings[b.at] = fmt.Sprintf("the budget of %v left fewer than six rounds for %s: these figures have no "+
		"interval; give --budget %v", s.options.Budget, names, s.larger())
}

// larger is the budget to ask for where this one was too small: whole seconds, at least twice as much.
func (s *session) larger() time.Duration {
	return max(DefaultBudget, (2*s.options.Budget + time.Second - 1).Truncate(time.Second))
}

// brief is what the budget was too small for.
type brief struct {
	things []string
	at     int // in Result.Warnings
}
