package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/storage"
)

var loadWork = work[load, loaded]{"load", loadItems}

// load asks a worker process to read items one after the other, round and round, and to count what that costs.
type load struct {
	Items   []int   // positions in the sample's Items, in the order they are read
	From    int     // where in Items to begin
	Seconds float64 // it ends after that long, at least one item read; 0: at the end of Items
	Once    bool    // it ends at the end of Items too, however soon that is
	Handle  string  // handleKept or handleReopened; a file that is one item is opened for each in any case
	Decode  bool    // decode what was read, and count the time
	// OpenOnly, with handleReopened, opens an item's file and closes it again, as a job does before it reads: the file,
	// the dataset in it, its shape. The process must hold no other handle of it: libhdf5 opens a file again in a tenth
	// of the time.
	OpenOnly bool
	Raw      bool // read what is stored of an item without decompressing it; the bytes delivered are those
	// drop the pages of the files of Items from the page cache first, with files that stay open just opened
	Drop  bool
	Fresh bool // close all files before, and open those of Items again: nothing is left in a chunk cache
	// moment of CLOCK_MONOTONIC at which to begin, so that several processes begin together; 0: at once
	StartAt time.Duration
}

const (
	handleKept     = benchmark.Kept
	handleReopened = benchmark.Reopened
)

type loaded struct {
	Pass pass
	// seconds of single items, a sample of at most mostTimes
	Times    []float64         `json:",omitempty"`
	Failures []dataset.Failure `json:",omitempty"` // each item once
	Next     int               // where in Items the reading stopped
	// Delay is how many seconds the thread that reads was ready to run and had no CPU, where several processes read
	// together; 0 where the kernel does not count.
	Delay float64 `json:",omitempty"`
}

// pass is what the reading came to. What failed is in none of its figures but CPU and storage, which count the process.
type pass struct {
	Items   int     // read without failure
	Seconds float64 // wall time they took
	CPU     float64 // seconds, user and system, of the whole process
	Bytes   int64   // delivered
	// What /proc/self/io counted; nil where it may not be read.
	IO *storage.Transfer `json:",omitempty"`
	// Cached is the share of the files' pages that was in the page cache when the pass began; nil: unknown.
	Cached *float64 `json:",omitempty"`
	Remote bool     `json:",omitempty"` // with Cached: files lie on another machine or behind another process
}

const (
	mostTimes = 1000
	// clockShare is the most that reading the clock may add to an item's time.
	clockShare = 0.005
)

// loadItems is the work. Its error says that nothing could be tried; an item that cannot be read is a Failure.
func loadItems(ctx context.Context, w *state, q load) (out loaded, err error) {
	if err := w.Sample.Has(q.Items); err != nil {
		return loaded{}, err
	}
	if q.Fresh {
		w.reopen(q.Items, q.Handle)
	}
	if q.StartAt == 0 {
		return w.load(ctx, q)
	}
	// The reading stays on one thread, whose waiting is counted: with that of the Go runtime's other threads the sum
	// can be longer than the time that passed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := runDelay()
	out, err = w.load(ctx, q)
	out.Delay = max(0, runDelay()-before)
	return out, err
}

func (w *state) load(ctx context.Context, q load) (loaded, error) {
	l := loading{state: w, load: q, at: q.From % len(q.Items), stride: 1, failed: map[int]bool{}, clock: clockCost()}
	var err error
	if l.late, err = sleepUntil(ctx, q.StartAt); err != nil {
		return loaded{}, err
	}
	l.pass(ctx)
	l.out.Next = l.at
	return l.out, nil
}

type loading struct {
	*state
	load
	out    loaded
	at     int // in Items
	stride int // items for one look at the clock
	timed  int // items whose time was seen, to draw the reservoir
	failed map[int]bool
	clock  float64       // seconds that one look at the clock takes
	late   time.Duration // after StartAt it began
	each   float64       // seconds that an item takes, the mean so far; 0 before the first
	list   dataset.Sweep
	took   []time.Duration // of the items on the list

	open  pass      // read, but not on the clock yet
	since []int     // items of open
	mark  time.Time // what went before is accounted for
	end   time.Time // for a pass that ends on the clock
	// to be read again before others: good ones whose time went into that of one that could not be read
	again     []int
	rereading bool // the item under way is one of again
	misses    int  // in a row
	n         int  // items that were tried
	over      bool
}

// strideFor is how many items are read for two looks at the clock, which then cost clockShare of them at most.
func strideFor(item, clock float64) int {
	if clock <= clockShare*item {
		return 1
	}
	return int(min(64, math.Ceil(2*clock/(clockShare*max(item, 1e-9)))))
}

// one reads an item and says how many bytes it delivered.
func (l *loading) one(item int) (int, error) {
	ref := l.Sample.Items[item]
	if l.Handle == handleReopened {
		h, err := l.Open(l.Sample.Source, l.Sample.Files[ref.File])
		if err != nil || l.OpenOnly {
			if err == nil {
				err = h.Close()
			}
			return 0, err
		}
		size, err := l.read(h, ref)
		return size, errors.Join(err, h.Close())
	}
	h, err := l.HandleOf(ref.File)
	if err != nil {
		return 0, err
	}
	return l.read(h, ref)
}

func (l *loading) read(h dataset.Handle, ref dataset.Ref) (int, error) {
	if l.Raw {
		r, ok := h.(dataset.ChunkReader)
		if !ok {
			return 0, errors.ErrUnsupported
		}
		raw, err := r.ReadRaw(ref, l.Buf)
		return int(raw), err
	}
	got, err := l.Item(h, ref)
	if err != nil {
		return 0, err
	}
	if l.Decode {
		if err := l.decode(got); err != nil {
			return 0, err
		}
	}
	return len(got), nil
}

// time keeps an item's time in a reservoir that each is as likely to be in (Vitter, 1985, algorithm R).
func (l *loading) time(d time.Duration) {
	l.timed++
	if len(l.out.Times) < mostTimes {
		l.out.Times = append(l.out.Times, d.Seconds())
	} else if i := rand.IntN(l.timed); i < mostTimes {
		l.out.Times[i] = d.Seconds()
	}
}

// fail notes an item that could not be read, once.
func (l *loading) fail(item int, err error) {
	if !l.failed[item] && len(l.out.Failures) < dataset.MaxFailures {
		l.failed[item] = true
		at := l.Sample.Items[item].File
		f := dataset.Failed(item, err, l.Sample.Files[at].Path)
		if l.OpenOnly {
			f.Item, f.File = -1, at
		}
		l.out.Failures = append(l.out.Failures, f)
	}
}

// sleepUntil waits for a moment of CLOCK_MONOTONIC and says by how much it came too late.
func sleepUntil(ctx context.Context, at time.Duration) (late time.Duration, err error) {
	if at == 0 {
		return 0, nil
	}
	wait := at - procfs.Monotonic()
	if wait > slowest/2 {
		return 0, fmt.Errorf("asked to wait %v before reading", wait)
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return max(0, procfs.Monotonic()-at), nil
}

// clockCost measures what one look at the clock costs, in seconds: 30 ns where the kernel serves it without a system
// call, a microsecond where it does not (some virtual machines).
func clockCost() float64 {
	const tries, looks = 5, 200
	least := math.Inf(1)
	for range tries { // the processor may be taken away in the middle of one
		began := time.Now()
		for range looks {
			_ = time.Now()
		}
		least = min(least, time.Since(began).Seconds()/looks)
	}
	return least
}
