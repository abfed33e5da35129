package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// loader takes the settings of the loader of the trainer that waits most, and how its queue stands.
func (b *builder) loader() {
	r := b.top()
	if r == nil {
		return
	}
	if r.noLoader {
		b.exact(metric.NumWorkers, 0, metric.Measured)
		return
	}
	parked := b.park(r)
	b.workersAlive(r, parked)
	entity := r.loader()
	looks := b.grow(metric.LoaderLooks, entity)
	waits := b.grow(metric.LoaderWaiting, entity)
	b.share(metric.LoaderIsAhead, b.grow(metric.LoaderAhead, entity), looks, metric.Measured)
	idle, alive := b.grow(metric.LoaderWaitIdle, entity), b.grow(metric.LoaderWaitAlive, entity)
	blocked, told := b.grow(metric.LoaderBlocked, entity), slices.Clone(looks)
	all := b.grow(metric.LoaderAliveSum, entity)
	for i := range idle {
		// Workers of another loader that stand by are idle in every look. The sampler leaves them out once they have been for a while;
		// before, they are taken out here, and some being idle while others are busy says nothing.
		if extra := min(divide(all[i], looks[i])-float64(len(r.crew)), float64(parked)); extra > 0.01 {
			idle[i], alive[i] = max(idle[i]-extra*waits[i], 0), max(alive[i]-extra*waits[i], 0)
			told[i] = math.NaN()
		}
	}
	b.share(metric.HeadOfLine, blocked, told, metric.Measured)
	b.share(metric.IdleWhileWaits, idle, alive, metric.Measured)
	if len(r.others) > 0 {
		b.drop(metric.HeadOfLine, metric.IdleWhileWaits)
		b.miss(besideEvaluation, "", metric.HeadOfLine, metric.IdleWhileWaits)
	}
	if parked > 0 {
		b.miss("workers of another loader stand by, so that some are always idle", "", metric.HeadOfLine)
	}
	b.queue(r)
}

// parkedIdle is the share of looks at a worker that must find it waiting for work for it to stand by; a worker of a loader in use
// works at least now and then, and in 25 s some 1,200 looks are taken at each.
const parkedIdle = 0.995

// park takes out of the crew the sets of workers that stood by through the whole window, as those of a validation loader with
// persistent_workers do while the trainer trains. It returns how many they are.
func (b *builder) park(r *rank) int {
	sets := workerSets(r.crew)
	if len(sets) < 2 {
		return 0
	}
	var active, standby []*actor
	for _, set := range sets {
		idle, looks := 0.0, 0.0
		whole := true
		for _, w := range set {
			idle += sum(b.grow(metric.LooksQueuePoll, w.entity))
			looks += sum(b.grow(metric.LooksTotal, w.entity))
			whole = whole && w.born <= b.steady.from && w.died >= b.steady.to
		}
		if whole && looks > 0 && idle >= parkedIdle*looks {
			standby = append(standby, set...)
		} else {
			active = append(active, set...)
		}
	}
	if len(active) == 0 || len(standby) == 0 {
		return 0
	}
	r.crew = active
	return len(standby)
}

// workersAlive takes num_workers: the median of how many were alive while any was.
func (b *builder) workersAlive(r *rank, parked int) {
	var alive []float64
	for _, v := range b.h.of(metric.LoaderWorkers, r.loader()).within(b.steady) {
		if v > 0 && parked == 0 {
			alive = append(alive, v)
		}
	}
	if len(alive) == 0 {
		for _, s := range b.spans {
			n := 0
			for _, w := range r.crew {
				if w.born <= s.from && w.died >= s.to {
					n++
				}
			}
			if n > 0 {
				alive = append(alive, float64(n))
			}
		}
	}
	n, ok := stat.Quantile(alive, 0.5)
	if n = math.Floor(n); ok && n > 0 {
		b.exact(metric.NumWorkers, n, metric.Measured)
	}
}

// queue takes the batches on their way, in bytes and in number.
func (b *builder) queue(r *rank) {
	entity := r.loader()
	if bytes := b.h.of(metric.LoaderBatchBytes, entity).within(b.steady); len(bytes) > 0 {
		b.set(metric.BatchBytes, stat.Median(bytes), metric.Measured)
	}
	per, ok := b.tensorsPerBatch(r)
	queued := b.h.of(metric.LoaderQueued, entity)
	if !ok || queued == nil {
		return
	}
	depth := queued.means(b.spans)
	for i := range depth {
		depth[i] *= b.length[i] / per
	}
	b.share(metric.QueueBatches, depth, b.length, metric.Measured)
	readings := queued.within(b.steady)
	if len(readings) == 0 {
		return
	}
	most := slices.Max(readings) / per
	b.exact(metric.QueueCapacity, math.Round(most), metric.Measured)
	b.ev.Facts.Prefetch = b.prefetch(r, readings, per)
}

// When the queue's greatest depth is taken for num_workers × prefetch_factor. The loader must be ahead for much of the time, for only
// then is the queue full; and the depth must have been read there often, for one reading may catch a batch that is being made.
const (
	aheadEnough = 0.3 // share of looks
	fullEnough  = 0.2 // share of readings
)

// prefetch returns prefetch_factor where it shows. A pinning thread empties the queue, so it never shows there.
func (b *builder) prefetch(r *rank, readings []float64, per float64) *int {
	workers, known := b.center(metric.NumWorkers)
	ahead, seen := b.center(metric.LoaderIsAhead)
	if !known || !seen || ahead < aheadEnough || b.pinned(r) {
		return nil
	}
	full, _ := stat.Quantile(readings, 0.9)
	times := 0
	for _, v := range readings {
		if v == full {
			times++
		}
	}
	factor := full / per / workers
	whole := math.Round(factor)
	if whole < 1 || math.Abs(factor-whole) > 1e-9 || float64(times) < fullEnough*float64(len(readings)) {
		return nil
	}
	n := int(whole)
	return &n
}

// pinned reports whether the trainer has a pinning thread.
func (b *builder) pinned(r *rank) bool {
	for _, e := range b.rec.Events {
		if e.Kind == "pin-thread" && e.Entity == r.pin() {
			return true
		}
	}
	return b.h.of(metric.LooksTotal, r.pin()) != nil
}
