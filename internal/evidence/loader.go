package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// loader takes how the queue of the leading trainer's loader stands.
func (b *builder) loader(r *rank) {
	idle, alive, samples := b.standby(r)
	ahead := b.ratio(b.Grow(r.Loader(), metric.LoaderAhead), b.Grow(r.Loader(), metric.LoaderSamples))
	blocked := b.ratio(b.Grow(r.Loader(), metric.LoaderBlocked), samples)
	if r.standby > 0 {
		blocked.why.Text = "workers that are not asked for batches stand by, so that some are always idle"
	}
	b.take(metric.LoaderIsAhead, r.own(ahead), metric.LoaderAhead, metric.ThreadQueuePoll)
	b.take(metric.HeadOfLine, r.own(r.alone(blocked)), metric.LoaderBlocked, metric.ThreadQueuePoll)
	b.take(metric.IdleWhileWaits, r.own(r.alone(b.ratio(idle, alive))), metric.LoaderWaitIdle, metric.ThreadQueuePoll)

	var size, tensors, depth, capacity figure
	if queued := b.Track(metric.LoaderQueued, r.Loader()); !r.noLoader {
		size = median(b.Track(metric.LoaderBatchBytes, r.Loader()).Within(b.Steady))
		if per, ok := b.TensorsPerBatch(r.Loader()); ok {
			tensors = exact(per)
			depth = b.mean(stat.Times(queued.Means(b.Spans), 1/per))
			if readings := queued.Within(b.Steady); len(readings) > 0 {
				capacity = exact(math.Round(slices.Max(readings) / per))
			}
		}
	}
	tensors = r.own(tensors)
	if r.hook != nil {
		size, tensors = b.reportedBatch(r.hook.Training, size, tensors)
	}
	b.take(metric.TensorsPerBatch, tensors, metric.LoaderTensorsPer, metric.LoaderTensors)
	b.take(metric.BatchBytes, size, metric.LoaderBatchBytes, metric.LoaderTensors)
	b.take(metric.QueueBatches, r.own(depth), metric.LoaderQueued, metric.LoaderTensors)
	b.take(metric.QueueCapacity, r.own(capacity), metric.LoaderQueued, metric.LoaderTensors)
	b.pinning(r)
}

// pinning takes what the thread does that pins the batches.
func (b *builder) pinning(r *rank) {
	samples := b.Grow(r.Pin(), metric.ThreadSamples)
	idle := b.Grow(r.Pin(), metric.ThreadQueuePoll, metric.ThreadStopped)
	busy := stat.Minus(samples, idle)
	batch := summary(stat.NotNegative(b.Quotient(busy, r.handed)))
	b.take(metric.PinBusy, b.ratio(busy, samples), metric.ThreadSamples)
	locked := b.Grow(r.Pin(), metric.ThreadFutexTimed, metric.ThreadGIL)
	b.take(metric.PinLock, b.ratio(locked, samples), metric.ThreadSamples)
	if stat.Sum(samples) == 0 {
		batch = none("no thread that pins batches was seen", "")
	}
	b.perBatch(r, metric.PinBatch, batch, metric.ThreadSamples)
}

// alone leaves out what is of trainer and workers at once where some of the workers are of the evaluation's loader.
func (r *rank) alone(f figure) figure {
	switch {
	case len(r.others) > 0:
		return none(evaluationHasWorkers, "")
	case r.fed != nil:
		return none("who feeds the trainer is no DataLoader's worker, and its queue is not known", "")
	}
	return f
}

// severalLoaders is why nothing of workers seen from outside is reported where loaders that are gone over in each step
// have workers each.
const severalLoaders = "several loaders are gone over in each step, and whose workers these are does not show"

// own leaves out what is seen of workers that are not known to be the training loop's: it has none, or others' are
// among them.
func (r *rank) own(f figure) figure {
	switch {
	case r.hook == nil:
		return f
	case !r.hook.Training.HasWorkers():
		return figure{}
	case len(r.hook.Partners) > 0:
		return none(severalLoaders, "")
	}
	return f
}

// standby returns, per window, the workers that were idle and alive while the trainer waited, and the seconds in which
// it could be determined whether some are idle while others are busy. Workers that stand by are idle in every sample.
// The sampler leaves them out once they have been for a while; before, they are taken out here.
func (b *builder) standby(r *rank) (idle, alive, samples []float64) {
	if r.noLoader {
		return nil, nil, nil
	}
	entity := r.Loader()
	idle, alive = b.Grow(entity, metric.LoaderWaitIdle), b.Grow(entity, metric.LoaderWaitAlive)
	samples = b.Grow(entity, metric.LoaderSamples)
	waits, all := b.Grow(entity, metric.LoaderWaiting), b.Grow(entity, metric.LoaderAliveSum)
	for i := range idle {
		extra := stat.Divide(all[i], samples[i]) - float64(r.working)
		if extra = min(extra, float64(r.standby)); extra > 0.01 {
			idle[i], alive[i] = max(idle[i]-extra*waits[i], 0), max(alive[i]-extra*waits[i], 0)
			samples[i] = math.NaN()
		}
	}
	return idle, alive, samples
}

// standbyIdle is the share of samples of a worker that must find it waiting for work for it to stand by; a worker of a
// loader in use works at least now and then, and in 25 s some 1,200 samples are taken at each.
const standbyIdle = 0.995

// excludeIdleLoaders finds the workers that stood by through the whole window, and takes those of another loader out of
// the worker set, as those of a validation loader are that waits while the trainer trains: sets of their own, and
// workers of a set that have made what a loader makes ahead. Of others in a set with workers at work it is not known
// whether they are another loader's or have no shard to read.
func (b *builder) excludeIdleLoaders(r *rank) {
	working := slices.DeleteFunc(slices.Clone(r.workerSet), b.standsBy)
	if len(working) == 0 {
		return
	}
	inTurn := stat.Sum(r.batches) >= float64(batchesEach*len(r.workerSet)) &&
		b.idleShare(working) <= 1-watched.LeastFeeding
	var workerSet []*watched.Process
	for _, set := range watched.WorkerSets(r.workerSet) {
		other := !slices.ContainsFunc(set, func(w *watched.Process) bool { return slices.Contains(working, w) })
		for _, w := range set {
			switch {
			case slices.Contains(working, w):
				workerSet = append(workerSet, w)
			case other || inTurn && b.madeAhead(w, working, r.batches):
				r.standby++
			default:
				workerSet = append(workerSet, w)
				if inTurn {
					r.standby++
				}
			}
		}
	}
	r.workerSet, r.working = workerSet, len(working)
}

// standsBy reports whether a worker was there for the whole window and waited for work.
func (b *builder) standsBy(w *watched.Process) bool {
	return w.Born <= b.Steady.From && w.Died >= b.Steady.To && b.idleShare([]*watched.Process{w}) >= standbyIdle
}

// What a loader makes ahead, in batches for each worker, and what it takes a worker to be forked: 8 to 15 ms were
// measured of the trainer, and clock ticks are 10 ms.
const (
	leastAhead, mostAhead = 1.0, 16.0
	forkedCPU             = 0.03 // s
)

// madeAhead reports whether a worker that stands by has, in all its life, used the CPU time of a few batches such as
// those at work make: a loader asks for as many as its queue holds as soon as its iterator is there. One that has no
// shard to read made none, and one whose shard has come to its end made many.
func (b *builder) madeAhead(w *watched.Process, working []*watched.Process, batches []float64) bool {
	used := b.Track(metric.ProcCPU, w.Entity)
	growth, _, ok := b.Total(metric.ProcCPU, working)
	if used == nil || !ok || w.Method != "fork" {
		return false
	}
	each := stat.Sum(growth) / stat.Sum(batches)
	made := (used.V[len(used.V)-1] - forkedCPU) / each
	return made >= leastAhead && made <= mostAhead
}

// numWorkers is the median of how many were alive while any was.
func (b *builder) numWorkers(r *rank) figure {
	switch {
	case r.hook != nil && r.hook.Training.Call.NumWorkers != nil:
		return exact(float64(*r.hook.Training.Call.NumWorkers))
	case r.hook != nil && r.hook.Training.Call.Foreign():
		return figure{}
	case r.noLoader:
		return exact(0)
	}
	var alive []float64
	if r.standby == 0 {
		alive = slices.Clone(b.Track(metric.LoaderWorkers, r.Loader()).Within(b.Steady))
	}
	living := func(xs []float64) []float64 { return slices.DeleteFunc(xs, func(n float64) bool { return n <= 0 }) }
	if alive = living(alive); len(alive) == 0 {
		alive = living(stat.Each(len(b.Spans), func(i int) (n float64) {
			for _, w := range r.workerSet {
				if w.Born <= b.Spans[i].From && w.Died >= b.Spans[i].To {
					n++
				}
			}
			return n
		}))
	}
	n, _ := stat.Quantile(alive, 0.5)
	return positive(math.Floor(n))
}

// When the queue's greatest depth is taken for num_workers × prefetch_factor. The loader must be ahead for much of the
// time, for only then is the queue full; and the depth must have been read there often, for one reading may catch a
// batch that is being made.
const (
	aheadEnough = 0.3 // share of samples
	fullEnough  = 0.2 // share of readings
)

// prefetch returns prefetch_factor where it shows. A pinning thread empties the queue, so it never shows there.
func (b *builder) prefetch(r *rank) *int {
	workers, known := b.center(metric.NumWorkers)
	ahead, seen := b.center(metric.LoaderIsAhead)
	per, ok := b.TensorsPerBatch(r.Loader())
	if !known || !seen || !ok || ahead < aheadEnough || b.pinned(r) {
		return nil
	}
	readings := b.Track(metric.LoaderQueued, r.Loader()).Within(b.Steady)
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
	return new(int(whole))
}

// pinned reports whether the trainer has a pinning thread.
func (b *builder) pinned(r *rank) bool {
	return b.Track(metric.ThreadSamples, r.Pin()) != nil || slices.ContainsFunc(b.Rec.Events,
		func(e recording.Event) bool {
			return e.Kind == recording.EventPin && e.Entity == r.Pin()
		})
}
