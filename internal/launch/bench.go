package launch

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/footprint"
	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/tune"
)

// How a candidate is measured.
const (
	benchWithin = 0.02            // half of the rate's interval, as a part of it, that is close enough
	benchLeast  = 2 * time.Second // of steps
	benchChunks = 6               // stat.Ratio gives no interval for fewer
	// for one batch: workers that are spawned import all they need first. So long a DataLoader looks for no dead ones
	benchPatience = 30 * time.Second
	// beyond what a candidate was given, until the trainer is given up: ending its workers takes 5 s each at most
	benchMargin = 30 * time.Second
	guardEvery  = 100 * time.Millisecond
	guardGrace  = 2 * time.Second // for a candidate that was told to stop, until its workers are ended
	guardShare  = 4               // a candidate may take what is there but for one part in so many
)

// Bench measures settings in a job whose trainer takes orders. It implements tune.Bench.
type Bench struct {
	job     *Job
	control control
	rows    <-chan hook.Row
	room    func() (memory, shm int64) // that is free; below 0: not known
	Loader  hook.Row                   // what the training loop's loader is
	gone    string                     // why nothing more can be measured; "" where it can
}

// Bench asks the one trainer of the job for its loader. The error says why settings cannot be measured here.
func (j *Job) Bench() (*Bench, error) {
	list := j.receiver.Controls()
	switch {
	case len(list) == 0:
		return nil, errors.New("no trainer takes batches from a loader of torch.utils.data")
	case len(list) > 1:
		return nil, fmt.Errorf("%d trainers take batches, and settings are measured on one alone: start the job with "+
			"one rank", len(list))
	}
	b := &Bench{job: j, control: list[0], rows: list[0].Rows(), room: roomOf(j.fs, list[0].PID)}
	if err := b.control.Send(hook.Order{Order: hook.OrderDescribe}); err != nil {
		return nil, fmt.Errorf("asking for the loader: %w", err)
	}
	b.await(time.Now().Add(replyPatience), func(row hook.Row) bool {
		b.Loader = row
		return row.Row == hook.RowLoader
	}, nil)
	switch {
	case b.gone != "":
		return nil, errors.New(b.gone)
	case b.Loader.Row != hook.RowLoader || b.Loader.Made == nil && b.Loader.Why == "":
		return nil, errors.New("the trainer did not say what its loader is")
	case b.Loader.Why != "":
		return nil, errors.New("the loader cannot be made again with other settings: " + b.Loader.Why)
	}
	return b, nil
}

// await takes rows until one ends it, the time is up, or the job is. each is asked now and then.
func (b *Bench) await(until time.Time, ends func(hook.Row) bool, each func()) {
	ticker := time.NewTicker(guardEvery)
	defer ticker.Stop()
	for b.gone == "" && time.Now().Before(until) {
		select {
		case row, ok := <-b.rows:
			switch {
			case !ok:
				b.gone = "the training ended"
			case row.Row == hook.RowFailed:
				b.gone = "the hook gave up: " + row.Why
			case ends(row):
				return
			}
		case <-b.job.over:
			b.gone = "it was interrupted"
		case <-ticker.C:
			if each != nil {
				each()
			}
		}
	}
}

// Now is the setting that the loader has.
func (b *Bench) Now() tune.Setting {
	made := b.Loader.Made
	now := tune.Setting{Pin: made.PinMemory != nil && *made.PinMemory}
	if made.NumWorkers != nil && *made.NumWorkers > 0 {
		now.Workers, now.Prefetch = *made.NumWorkers, predict.DefaultPrefetch
		if made.Prefetch != nil {
			now.Prefetch = *made.Prefetch
		}
		now.Persistent = made.Persistent != nil && *made.Persistent
	}
	return now
}

// Gone is why nothing more can be measured; "" where it can.
func (b *Bench) Gone() string { return b.gone }

func candidate(set tune.Setting, most time.Duration) *hook.Candidate {
	return &hook.Candidate{NumWorkers: set.Workers, PrefetchFactor: cmp.Or(set.Prefetch, predict.DefaultPrefetch),
		PersistentWorkers: set.Persistent, PinMemory: set.Pin, BatchSize: set.Batch, Seconds: most.Seconds(),
		Patience: benchPatience.Seconds()}
}

// Alone implements tune.Bench.
func (b *Bench) Alone(set tune.Setting, most time.Duration) tune.Rate {
	return b.measure(hook.Order{Order: hook.OrderCandidate, Candidate: candidate(set, most)}, most, 0, hook.OrderStop)
}

// InLoop implements tune.Bench. The loop keeps the candidate until it is given another one.
func (b *Bench) InLoop(set tune.Setting, most time.Duration) tune.Rate {
	return b.measure(hook.Order{Order: hook.OrderUse, Candidate: candidate(set, most)}, most, 1, "")
}

// measure gives an order and takes the chunks that answer it, the first few left out, until the rate is known closely.
func (b *Bench) measure(o hook.Order, most time.Duration, skip int, stop string) (out tune.Rate) {
	out.Memory, out.Shm = -1, -1
	if b.gone == "" {
		if err := b.control.Send(o); err != nil {
			b.gone = "the training takes no orders any more: " + err.Error()
		}
	}
	if out.Why = b.gone; b.gone != "" {
		return out
	}
	g := newGuard(b.room)
	var steps, seconds []float64
	spent, stopped, made := time.Duration(0), time.Time{}, false
	halt := func(order string) {
		if stopped.IsZero() && order != "" {
			stopped = time.Now()
			if err := b.control.Send(hook.Order{Order: order}); err != nil {
				b.gone = "the training takes no orders any more: " + err.Error()
			}
		}
	}
	until, done := time.Now().Add(benchPatience+most+benchMargin), false
	b.await(until, func(row hook.Row) bool {
		switch row.Row {
		case hook.RowMade:
			g.workers, made = row.PIDs, true
		case hook.RowDied:
			out.Why, done = row.Why, true
		case hook.RowDone:
			done = true
		case hook.RowChunk:
			if skip > 0 {
				if made { // else it is of what was handed out before
					skip--
				}
				return false
			}
			steps, seconds, spent = append(steps, float64(row.Steps)), append(seconds, row.Time.Seconds()), spent+
				row.Time
			s := stat.Ratio(steps, seconds)
			if len(steps) >= benchChunks && spent >= benchLeast && s.Hi-s.Lo <= 2*benchWithin*s.Center ||
				spent >= most {
				done = done || stop == "" && out.Why == ""
				halt(stop)
			}
		}
		return done
	}, func() {
		if g.check(); g.beyond != "" && out.Why == "" {
			out.Why = g.beyond
			halt(cmp.Or(stop, hook.OrderUse)) // the latter, without a candidate, gives the loop its own loader back
		}
		if g.beyond != "" && !stopped.IsZero() && time.Since(stopped) > guardGrace {
			b.end(g.workers)
			done = done || stop == ""
		}
	})
	switch {
	case out.Why == "" && b.gone != "":
		out.Why = b.gone
	case !done && b.gone == "":
		b.gone = "no batch came, nor a word, for " + (benchPatience + benchMargin).String()
		out.Why = b.gone
	}
	if out.Why == "" {
		out.Summary = stat.Ratio(steps, seconds)
	}
	out.Memory, out.Shm = g.taken()
	return out
}

// end ends a candidate's workers that did not stop when they were told to.
func (b *Bench) end(pids []int) {
	for _, pid := range pids {
		if line := b.job.kin.line(pid); len(line) > 0 && running(b.job.fs, line[len(line)-1]) {
			_ = unix.Kill(pid, unix.SIGKILL) // one that has ended meanwhile needs none
		}
	}
}

// guard watches what a candidate takes.
type guard struct {
	room                  func() (int64, int64)
	memory, shm           int64 // that was free before
	leastMemory, leastShm int64
	workers               []int
	beyond                string
}

func newGuard(room func() (int64, int64)) *guard {
	g := &guard{room: room}
	g.memory, g.shm = room()
	g.leastMemory, g.leastShm = g.memory, g.shm
	return g
}

func (g *guard) check() {
	memory, shm := g.room()
	g.leastMemory, g.leastShm = min(g.leastMemory, memory), min(g.leastShm, shm)
	switch {
	case g.beyond != "":
	case g.memory > 0 && memory < g.memory/guardShare:
		g.beyond = "ended: it took three quarters of the available memory"
	case g.shm > 0 && shm < g.shm/guardShare:
		g.beyond = "ended: it took three quarters of the room in /dev/shm"
	}
}

// taken is the most that the machine had less; below 0: not known.
func (g *guard) taken() (memory, shm int64) {
	memory, shm = g.memory-g.leastMemory, g.shm-g.leastShm
	if g.memory < 0 {
		memory = -1
	}
	if g.shm < 0 {
		shm = -1
	}
	return memory, shm
}

// roomOf reads what memory a process's control group and the machine leave, and what room /dev/shm has.
func roomOf(fs procfs.FS, pid int) func() (memory, shm int64) {
	free := footprint.Free(fs, pid)
	return func() (memory, shm int64) {
		memory, shm = -1, -1
		if bytes, known := free(); known {
			memory = bytes
		}
		var st unix.Statfs_t
		if unix.Statfs("/dev/shm", &st) == nil {
			shm = int64(st.Bavail) * st.Bsize
		}
		return memory, shm
	}
}
