package probe

import (
	"context"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/storage"
)

type passing struct {
	*loading
	sum   pass
	open  pass      // read, but not on the clock yet
	mark  time.Time // what went before is accounted for
	end   time.Time // for a pass that ends on the clock
	since []int     // items of open
	// to be read again before others: good ones whose time went into that of one that could not be read
	again  []int
	misses int // in a row
	n      int // items that were tried
	over   bool

	rereading bool // the item under way is one of again
}

func (l *loading) pass(ctx context.Context) pass {
	p := passing{loading: l}
	if l.Drop {
		r := l.dropCaches()
		p.sum.Cached, p.sum.Remote = r.Ratio(), r.Remote
	}
	before := storage.Used()
	p.mark = time.Now()
	p.end = p.mark.Add(time.Duration(l.Seconds * float64(time.Second)))
	var single time.Time
	for !p.over {
		if p.sweep(ctx) {
			continue
		}
		if l.stride > 1 && p.open.Items == l.stride-1 {
			single = time.Now()
		}
		item := p.next()
		size, err := l.one(item)
		if err != nil {
			p.miss(item, err)
			continue
		}
		p.misses = 0
		p.open.Items++
		p.open.Bytes += int64(size)
		repeated := p.rereading && len(p.again) == 0 // those were as many as were read without a look at the clock
		if p.since = append(p.since, item); p.open.Items < l.stride && !p.last() && !repeated {
			continue
		}
		now := time.Now()
		switch {
		case l.stride == 1:
			l.time(now.Sub(p.mark))
		case p.open.Items == l.stride:
			l.time(now.Sub(single))
		}
		p.open.Seconds = now.Sub(p.mark).Seconds()
		p.account(ctx, now)
	}
	after := storage.Used()
	p.sum.CPU, p.sum.IO = after.Since(before)
	return p.sum
}

func (p *passing) next() int {
	if p.rereading = len(p.again) > 0; p.rereading {
		item := p.again[0]
		p.again = p.again[1:]
		return item
	}
	item := p.Items[p.at]
	p.advance(1)
	return item
}

func (p *passing) advance(items int) {
	p.n += items
	p.at = (p.at + items) % len(p.Items)
}

// last reports whether the item just tried ends a pass that ends with Items.
func (p *passing) last() bool {
	return len(p.again) == 0 && p.n%len(p.Items) == 0 && (p.Once || p.Seconds <= 0)
}

// account takes up what was read since the mark.
func (p *passing) account(ctx context.Context, now time.Time) {
	p.sum.Items += p.open.Items
	p.sum.Bytes += p.open.Bytes
	p.sum.Seconds += p.open.Seconds
	p.open, p.since, p.mark = pass{}, p.since[:0], now
	p.each = p.sum.Seconds / float64(p.sum.Items)
	p.stride = strideFor(p.each, p.clock)
	p.over = p.last() || p.Seconds > 0 && !now.Before(p.end) || ctx.Err() != nil
}

// miss notes an item that could not be read. How much of the time since the last look was that of the good ones before
// it cannot be determined: they are read again. That is few of them, and from memory: only items of some microseconds
// are read several to a look.
func (p *passing) miss(item int, err error) {
	p.fail(item, err)
	p.misses++
	p.again = append(slices.Clone(p.since), p.again...)
	p.open, p.since, p.mark = pass{}, p.since[:0], time.Now()
	inTime := p.Seconds <= 0 || p.mark.Before(p.end) || len(p.again) > 0
	p.over = p.last() || p.misses >= len(p.Items) || len(p.out.Failures) >= dataset.MaxFailures || !inTime
}

const (
	// sweepTime is how long a sweep lasts. To begin and end one costs some 25 µs of CPU time, on two threads.
	sweepTime = 20 * time.Millisecond
	// longItem is the least that items take, in seconds, to be swept: Go's monitor thread does not notice calls shorter
	// than its shortest sleep (sysmon in runtime/proc.go).
	longItem = 20e-6
	// mostSwept is how many such items fill the time.
	mostSwept = 1000
)

// sweep reads the items that come next with one call, if they are to be had so, and long enough for that to matter. It
// says false, with nothing done, where an item has to be read on its own: of a file that is not open yet, or one that
// is refused.
func (p *passing) sweep(ctx context.Context) bool {
	if p.Handle == handleReopened || p.Decode || p.Raw || p.each < longItem || p.open.Items+len(p.again) > 0 ||
		!p.fill() {
		return false
	}
	limit := sweepTime
	if p.Seconds > 0 {
		limit = min(limit, time.Until(p.end))
	}
	before := p.Buf
	p.Buf = nil // as in item
	done, bytes, buf, err := p.list.Read(before, p.took, limit)
	p.Buf = buf[:0]
	if done > 0 {
		p.misses = 0
		p.open.Items, p.open.Bytes = done, bytes
		for _, d := range p.took[:done] {
			p.open.Seconds += d.Seconds()
			p.time(d)
		}
		p.advance(done)
		p.account(ctx, time.Now())
	}
	if err != nil && !p.over {
		item := p.Items[p.at]
		p.advance(1)
		p.miss(item, err)
	}
	return true
}

// fill puts the items that come next on the list, as many as are read in sweepTime, and reports whether there are any.
func (p *passing) fill() bool {
	most := min(mostSwept, max(1, int(sweepTime.Seconds()/p.each)))
	if p.Once || p.Seconds <= 0 {
		most = min(most, len(p.Items)-p.n%len(p.Items))
	}
	p.list.Clear()
	for i := range most {
		ref := p.Sample.Items[p.Items[(p.at+i)%len(p.Items)]]
		handle, ok := p.Handles[ref.File].(dataset.Sweeper)
		if !ok || handle.Queue(ref, &p.list) != nil {
			break // it is read on its own when its turn comes, and its error is reported then
		}
	}
	if p.took == nil {
		p.took = make([]time.Duration, mostSwept)
	}
	return p.list.Len() > 0
}
