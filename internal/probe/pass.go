package probe

import (
	"context"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/storage"
)

// pass reads, and puts what that came to into out.
func (l *loading) pass(ctx context.Context) {
	if l.Drop {
		r := l.dropCaches()
		l.out.Pass.Cached, l.out.Pass.Remote = r.Ratio(), r.Remote
	}
	before := storage.Used()
	// Processes that begin together are timed from that instant on: one that waits for a CPU first would seem to read
	// beside those that read before it.
	l.mark = time.Now().Add(-l.late)
	l.end = l.mark.Add(time.Duration(l.Seconds * float64(time.Second)))
	var single time.Time
	for !l.over {
		if l.sweep(ctx) {
			continue
		}
		if l.stride > 1 && l.open.Items == l.stride-1 {
			single = time.Now()
		}
		item := l.next()
		size, err := l.one(item)
		if err != nil {
			l.miss(item, err)
			continue
		}
		l.misses = 0
		l.open.Items++
		l.open.Bytes += int64(size)
		repeated := l.rereading && len(l.again) == 0 // those were as many as were read without a look at the clock
		if l.since = append(l.since, item); l.open.Items < l.stride && !l.last() && !repeated {
			continue
		}
		now := time.Now()
		switch {
		case l.stride == 1:
			l.time(now.Sub(l.mark))
		case l.open.Items == l.stride:
			l.time(now.Sub(single))
		}
		l.open.Seconds = now.Sub(l.mark).Seconds()
		l.account(ctx, now)
	}
	after := storage.Used()
	l.out.Pass.CPU, l.out.Pass.IO = after.Since(before)
}

func (l *loading) next() int {
	if l.rereading = len(l.again) > 0; l.rereading {
		item := l.again[0]
		l.again = l.again[1:]
		return item
	}
	item := l.Items[l.at]
	l.advance(1)
	return item
}

func (l *loading) advance(items int) {
	l.n += items
	l.at = (l.at + items) % len(l.Items)
}

// last reports whether the item just tried ends a pass that ends with Items.
func (l *loading) last() bool {
	return len(l.again) == 0 && l.n%len(l.Items) == 0 && (l.Once || l.Seconds <= 0)
}

// account takes up what was read since the mark.
func (l *loading) account(ctx context.Context, now time.Time) {
	l.out.Pass.Items += l.open.Items
	l.out.Pass.Bytes += l.open.Bytes
	l.out.Pass.Seconds += l.open.Seconds
	l.open, l.since, l.mark = pass{}, l.since[:0], now
	l.each = l.out.Pass.Seconds / float64(l.out.Pass.Items)
	l.stride = strideFor(l.each, l.clock)
	l.over = l.last() || l.Seconds > 0 && !now.Before(l.end) || ctx.Err() != nil
}

// miss notes an item that could not be read. How much of the time since the last look was that of the good ones before
// it cannot be determined: they are read again. That is few of them, and from memory: only items of some microseconds
// are read several to a look.
func (l *loading) miss(item int, err error) {
	l.fail(item, err)
	l.misses++
	l.again = append(slices.Clone(l.since), l.again...)
	l.open, l.since, l.mark = pass{}, l.since[:0], time.Now()
	inTime := l.Seconds <= 0 || l.mark.Before(l.end) || len(l.again) > 0
	l.over = l.last() || l.misses >= len(l.Items) || len(l.out.Failures) >= dataset.MaxFailures || !inTime
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
func (l *loading) sweep(ctx context.Context) bool {
	if l.Handle == handleReopened || l.Decode || l.Raw || l.each < longItem || l.open.Items+len(l.again) > 0 ||
		!l.fill() {
		return false
	}
	limit := sweepTime
	if l.Seconds > 0 {
		limit = min(limit, time.Until(l.end))
	}
	before := l.Buf
	l.Buf = nil // as in item
	done, bytes, buf, err := l.list.Read(before, l.took, limit)
	l.Buf = buf[:0]
	if done > 0 {
		l.misses = 0
		l.open.Items, l.open.Bytes = done, bytes
		for _, d := range l.took[:done] {
			l.open.Seconds += d.Seconds()
			l.time(d)
		}
		l.advance(done)
		l.account(ctx, time.Now())
	}
	if err != nil && !l.over {
		item := l.Items[l.at]
		l.advance(1)
		l.miss(item, err)
	}
	return true
}

// fill puts the items that come next on the list, as many as are read in sweepTime, and reports whether there are any.
func (l *loading) fill() bool {
	most := min(mostSwept, max(1, int(sweepTime.Seconds()/l.each)))
	if l.Once || l.Seconds <= 0 {
		most = min(most, len(l.Items)-l.n%len(l.Items))
	}
	l.list.Clear()
	for i := range most {
		ref := l.Sample.Items[l.Items[(l.at+i)%len(l.Items)]]
		handle, ok := l.Handles[ref.File].(dataset.Sweeper)
		if !ok || handle.Queue(ref, &l.list) != nil {
			break // it is read on its own when its turn comes, and its error is reported then
		}
	}
	if l.took == nil {
		l.took = make([]time.Duration, mostSwept)
	}
	return l.list.Len() > 0
}
