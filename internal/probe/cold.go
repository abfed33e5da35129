package probe

import (
	"context"
	"errors"
	"fmt"
)

// pageCache is what a run knows of the page cache and the sample's files in it.
type pageCache struct {
	asked  bool  // whether reads can be cold
	looked bool  // how much was there at the start
	ahead  int64 // the most that the kernel reads ahead, bytes
}

// coldShare is the most of a file's pages that may stay for a read to be called cold.
const coldShare = 0.02

// coldTries is how often a round is made again whose files did not become cold.
const coldTries = 3

// warmShare is the most that may come from storage, of what is delivered, for reads to be called warm.
const warmShare = 0.05

// canBeCold finds out once whether the sample's pages can be dropped and seen to be gone, and puts it into the result.
func (s *session) canBeCold(ctx context.Context) (bool, error) {
	c := &s.result.Cold
	if s.page.asked {
		return c.Possible, nil
	}
	if s.options.NoCold {
		s.page.asked, c.Reason = true, "not asked for"
		return false, nil
	}
	r, err := s.residency(ctx, true)
	if err != nil {
		return false, err
	}
	s.page.asked, s.page.ahead = true, r.Ahead
	c.How, c.CachedRatio = r.How, r.Ratio()
	switch {
	case c.CachedRatio == nil:
		c.Reason = r.Reason
	case *c.CachedRatio > coldShare:
		c.Reason = stays(*c.CachedRatio)
	default:
		c.Possible = true
	}
	return c.Possible, nil
}

// stillWarm is why files are not cold: of what stays, nil where it is not known.
func stillWarm(share *float64) error {
	if share == nil {
		return fmt.Errorf("%w: it could not be verified any more", errNotCold)
	}
	return fmt.Errorf("%w: %s", errNotCold, stays(*share))
}

func stays(share float64) string {
	return fmt.Sprintf("%.0f %% of the sampled files' pages stay in the page cache: another process has the files "+
		"mapped or writes to them", 100*share)
}

// residency asks a worker process about all files of the sample.
func (s *session) residency(ctx context.Context, drop bool) (residency, error) {
	p := s.process(&s.sample, slowest)
	defer p.close()
	files := make([]int, len(s.sample.Files))
	for i := range files {
		files[i] = i
	}
	return cacheWork.ask(ctx, p, cacheAsk{Files: files, Drop: drop})
}

// errNotCold says that files did not become cold when a round was to begin.
var errNotCold = errors.New("not cold")

// coldRound drops the files' pages, sees that they are gone, and reads each item once.
func (m *measuring) coldRound(ctx context.Context) (round, error) {
	var share *float64
	for range coldTries {
		out, err := m.load(ctx, m.coldItems(), load{Once: true, Seconds: m.pass.Seconds(), Drop: true})
		if err != nil {
			return round{}, err
		}
		p := out.Pass
		if share = p.Cached; share == nil {
			break
		}
		if *share > coldShare || p.Items == 0 {
			continue
		}
		if c := &m.result.Cold; c.CachedRatio == nil || *share > *c.CachedRatio {
			c.CachedRatio = share
		}
		if out.Next == 0 {
			m.most = min(2*m.most, len(m.items)) // all were read before the time was up
		}
		return m.keep(p, out.Times), nil
	}
	return round{}, stillWarm(share)
}

// firstCold is how many items the first cold round reads. Later rounds take more where time is left: dropping the pages
// of thousands of files to read a few would take the time that reading them needs.
const firstCold = 32

// coldItems chooses the items of the next round: sequential ones from a place that differs from round to round, where a
// chunk begins if there are any; or shuffled ones at a distance from each other.
func (m *measuring) coldItems() []int {
	m.turn++
	m.most = max(m.most, firstCold)
	sample, chunks := m.way.sample, m.chunks()
	items := unlinked(sample, m.sound(sample, m.items))
	if len(items) == 0 {
		return nil
	}
	if m.apart {
		shuffle(items, m.options.Seed, m.turn)
		return apart(sample, items, m.most, m.page.ahead, chunks)
	}
	from := int(m.turn) * m.most % len(items)
	begin := newMet(chunks.byIndex())
	begin.add(sample.Items[items[from]])
	for from > 0 && begin.has(sample.Items[items[from-1]]) {
		from--
	}
	return items[from:min(len(items), from+m.most)]
}
