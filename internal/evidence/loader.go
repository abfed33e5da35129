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
	b.take(metric.LoaderIsAhead, b.own(r, ahead), metric.LoaderAhead, metric.ThreadQueuePoll)
	b.take(metric.HeadOfLine, b.own(r, r.alone(blocked)), metric.LoaderBlocked, metric.ThreadQueuePoll)
	b.take(metric.IdleWhileWaits, b.own(r, r.alone(b.ratio(idle, alive))), metric.LoaderWaitIdle,
		metric.ThreadQueuePoll)

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
	tensors = b.own(r, tensors)
	if r.hook != nil {
		size, tensors = b.reportedBatch(r.hook.Training, size, tensors)
	}
	b.take(metric.TensorsPerBatch, tensors, metric.LoaderTensorsPer, metric.LoaderTensors)
	b.take(metric.BatchBytes, size, metric.LoaderBatchBytes, metric.LoaderTensors)
	b.take(metric.QueueBatches, b.own(r, depth), metric.LoaderQueued, metric.LoaderTensors)
	b.take(metric.QueueCapacity, b.own(r, capacity), metric.LoaderQueued, metric.LoaderTensors)
	b.pinning(r)
}

// pinning takes what the thread does that pins the batches.
func (b *builder) pinning(r *rank) {
	samples := b.Grow(r.Pin(), metric.ThreadSamples)
	idle := b.Grow(r.Pin(), metric.ThreadQueuePoll, metric.ThreadStopped)
	busy := stat.Minus(samples, idle)
	batch := summary(stat.NotNegative(b.Quotient(b.counted(r, busy), r.handed)))
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
// have workers each, and were not told apart.
const severalLoaders = "several loaders are gone over in each step, and whose workers these are does not show"

// own leaves out what is seen of workers that are not known to be the training loop's: it has none, or others' are
// among them.
func (b *builder) own(r *rank, f figure) figure {
	switch {
	case r.hook == nil:
		return f
	case !r.hook.Training.HasWorkers():
		return figure{}
	case len(r.hook.Partners) > 0 && len(b.Beside(r.Process)) == 0:
		return none(severalLoaders, "")
	}
	return f
}

// otherLoaders is what the others of a trainer's loaders leave to a step: none is shorter than the time that the
// workers of each work for it.
func (b *builder) otherLoaders(r *rank) (out OtherLoaders) {
	if r.hook != nil {
		out.N = len(r.hook.Partners)
		out.LeastStep, out.CPUs = r.hook.OtherLoaders()
		return out
	}
	for _, other := range b.Beside(r.Process) {
		if other.Apart {
			out.Evaluation = &LoaderCall{Evaluates: true, Loader: recording.Loader{
				NumWorkers: new(len(watched.WorkerSets(other.Workers)[0])), Persistent: other.Persistent}}
			continue
		}
		out.N++
		if r.rate.Center > 0 {
			out.LeastStep = max(out.LeastStep, other.Busy/r.rate.Center)
		}
		cpu, _, _ := b.Total(metric.ProcCPU, other.Workers)
		out.CPUs += stat.Over(stat.Sum(cpu), stat.Sum(b.Length))
	}
	return out
}

// standby returns, per window, the workers that were idle and alive while the trainer waited, and the seconds in which
// it could be determined whether some are idle while others are busy. Workers that stand by are idle in every sample.
func (b *builder) standby(r *rank) (idle, alive, samples []float64) {
	if r.noLoader {
		return nil, nil, nil
	}
	entity := r.Loader()
	idle, alive = b.Grow(entity, metric.LoaderWaitIdle), b.Grow(entity, metric.LoaderWaitAlive)
	samples = b.Grow(entity, metric.LoaderSamples)
	if r.standby = b.standsBy(r); r.standby == 0 {
		return idle, alive, samples
	}
	part := float64(r.standby) / float64(len(r.workerSet))
	for i := range idle {
		idle[i], alive[i] = max(idle[i]-part*alive[i], 0), (1-part)*alive[i]
		samples[i] = math.NaN()
	}
	return idle, alive, samples
}

// standbyIdle is the share of samples of a worker that must find it waiting for work for it to stand by; a worker of a
// loader in use works at least now and then, and in 25 s some 1,200 samples are taken at each.
const standbyIdle = 0.995

// standsBy is how many workers waited for work through the whole window while others of their loader had some, as those
// do that have no shard to read.
func (b *builder) standsBy(r *rank) int {
	working := slices.DeleteFunc(slices.Clone(r.workerSet), func(w *watched.Process) bool {
		return w.Born <= b.Steady.From && w.Died >= b.Steady.To && b.idleShare([]*watched.Process{w}) >= standbyIdle
	})
	asked := stat.Sum(r.batches) >= float64(batchesEach*len(r.workerSet))
	if len(working) == 0 || !asked || b.idleShare(working) > 1-watched.LeastFeeding {
		return 0
	}
	return len(r.workerSet) - len(working)
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
	alive := slices.Clone(b.Track(metric.LoaderWorkers, r.Loader()).Within(b.Steady))
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
	workers := b.numWorkers(r).Center
	ahead := stat.Over(stat.Sum(b.Grow(r.Loader(), metric.LoaderAhead)),
		stat.Sum(b.Grow(r.Loader(), metric.LoaderSamples)))
	per, ok := b.TensorsPerBatch(r.Loader())
	if workers <= 0 || !ok || ahead < aheadEnough || b.pinned(r) {
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
