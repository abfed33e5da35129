package evidence

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// workers takes where the time of the workers goes and what they cost.
func (b *builder) workers(r *rank) {
	if r.hook != nil && !r.hook.Training.HasWorkers() { // those that were seen are of an evaluation
		without := *r
		without.workerSet, r = nil, &without
	}
	take := func(d metric.Desc, f figure, from ...metric.Desc) { b.take(d, b.own(r, f), from...) }
	samples, alive, seen := b.Total(metric.ThreadSamples, r.workerSet)
	for _, s := range []struct {
		d      metric.Desc
		states []metric.Desc
	}{
		{metric.WorkerIdle, r.idleStates()},
		{metric.WorkerRunning, []metric.Desc{metric.ThreadRunning}},
		{metric.WorkerStorage, []metric.Desc{metric.ThreadDisk, metric.ThreadFileRead}},
		{metric.WorkerOpenWait, []metric.Desc{metric.ThreadFileOpen}},
		{metric.WorkerFileLock, []metric.Desc{metric.ThreadFileLock}},
		{metric.WorkerHandOver, r.busyStates(metric.ThreadPipeWrite)},
		{metric.WorkerStopped, []metric.Desc{metric.ThreadStopped}},
	} {
		take(s.d, b.ratio(b.totals(r.workerSet, s.states...), samples), s.states...)
	}
	if r.fed == nil { // else those that wait for a lock are idle
		take(metric.WorkerSharedLock, b.shareOf(metric.ThreadSharedFutex, r), metric.ThreadSharedFutex)
	}
	idle := b.totals(r.workerSet, r.idleStates()...)
	busy := stat.Minus(samples, idle)
	take(metric.WorkerBusy, b.ratio(busy, samples), metric.ThreadQueuePoll)

	// The time that workers sleep while a program they run uses a CPU is not slept elsewhere. The kernel counts a
	// program's CPU time at its end.
	programs, elsewhere := b.programs(r.workerSet), b.totals(r.workerSet, r.busyStates(elsewhereStates...)...)
	used := stat.Each(len(samples), func(i int) float64 { return stat.Over(programs[i], alive[i]) * samples[i] })
	left := 1 - stat.Share(stat.Divide(stat.Sum(used), stat.Sum(elsewhere)))
	take(metric.WorkerOtherWait, b.ratio(stat.Times(elsewhere, left), samples), metric.ThreadOther)
	if stat.Sum(programs) > 0 && stat.Sum(elsewhere) > 0 {
		take(metric.WorkerPrograms, b.ratio(stat.Times(elsewhere, 1-left), samples))
	}
	b.ev.row(metric.WorkerPrograms).from = []metric.Desc{metric.ProcEndedCPU, metric.ThreadOther}

	cpu, lived, counted := b.Total(r.cpu(), r.workerSet)
	main, _, timed := b.Total(metric.ProcMainCPU, r.workerSet)
	delay, ready, _ := b.Total(metric.ProcRunDelay, r.workerSet)

	waiting, asleep, queueing := b.ownThreads(r, workerTime{samples, alive, busy, cpu, main, delay, counted && timed})
	r.threads = waiting

	stat.Add(cpu, programs)
	take(metric.WorkerCPU, b.ratio(cpu, lived), metric.ProcCPU)
	if !counted {
		cpu = nil
	}
	stat.Add(main, programs)
	stat.Add(main, stat.Times(waiting, 1/queueing))
	stat.Add(delay, stat.Times(waiting, 1-1/queueing))
	if !timed {
		main = nil
	}
	take(metric.WorkerParallel, b.ratio(cpu, main), metric.ProcMainCPU)
	b.perBatch(r, metric.WorkerCPUBatch, b.own(r, b.ratio(b.counted(r, cpu), r.handed)), metric.ProcCPU)
	take(metric.WorkerRunDelay, b.ratio(delay, ready), metric.ProcRunDelay)
	var waits []float64
	if seen {
		waits = b.totals(r.workerSet, r.busyStates(waitingStates...)...)
		for i := range waits {
			waits[i] = stat.OrNothing(stat.Divide(waits[i], samples[i])*alive[i] - programs[i] - asleep[i])
		}
	}
	var each []float64 // while batches were counted
	if r.clock != nil {
		each = stat.Products(stat.Quotients(busy, samples), r.clock)
	}
	b.perBatch(r, metric.WorkerBusyBatch, b.own(r, b.ratio(each, r.handed)), metric.ThreadQueuePoll)
	b.perBatch(r, metric.WorkerWaitBatch, summary(stat.NotNegative(b.Quotient(b.counted(r, waits), r.handed))),
		metric.ThreadSamples)

	usual := func(raw metric.Desc) func(*watched.Process) (float64, bool) {
		return func(w *watched.Process) (float64, bool) { return b.Usual(raw, w.Entity) }
	}
	b.take(metric.WorkerRSS, ofEach(r, usual(metric.ProcRSS)), metric.ProcRSS)
	b.take(metric.WorkerPrivate, ofEach(r, b.private).by(metric.Inferred), metric.ProcRSS, metric.ProcShared)
	b.take(metric.WorkerThreads, ofEach(r, usual(metric.ProcThreads)), metric.ProcThreads)
	b.take(metric.WorkerGrowth, b.memoryGrowth(r), metric.ProcRSS)
	b.take(metric.FeedersAtOnce, b.feedersAtOnce(r), metric.LoaderWaitAlive)
	take(metric.WithData, b.withData(r), metric.LoaderTensors, metric.ThreadQueuePoll)
	take(metric.WorkerImbalance, b.imbalance(r), metric.ProcCPU)
	b.take(metric.WorkersOneCPUSet, r.leastCores(), metric.CPUUsable)
	if r.hook != nil {
		b.reportedWorkers(r)
	}
}

// counted is what of each window falls into the time in which batches were counted: beside batches of a part of the
// window, what took all of it makes each too dear.
func (b *builder) counted(r *rank, xs []float64) []float64 {
	clock := r.clock
	if r.hook != nil { // evaluations are among the batches then
		clock = r.reported
	}
	if clock == nil || xs == nil {
		return xs
	}
	return stat.Each(len(xs), func(i int) float64 { return xs[i] * stat.Share(stat.Divide(clock[i], b.Length[i])) })
}

// ofEach is the median worker's figure.
func ofEach(r *rank, of func(*watched.Process) (float64, bool)) figure {
	var all []float64
	for _, w := range r.workerSet {
		if x, ok := of(w); ok {
			all = append(all, x)
		}
	}
	return median(all)
}

// elsewhereStates are those of a wait for the network, a timer, another process, or what is unknown.
var elsewhereStates = []metric.Desc{metric.ThreadPipeRead, metric.ThreadSleep, metric.ThreadDevice,
	metric.ThreadWaitChild, metric.ThreadOther}

// waitingStates are those in which a worker neither runs nor waits for work.
var waitingStates = append([]metric.Desc{metric.ThreadDisk, metric.ThreadFileRead, metric.ThreadFileOpen,
	metric.ThreadFileLock, metric.ThreadFutex, metric.ThreadFutexTimed, metric.ThreadPipeWrite}, elsewhereStates...)

// programs returns the CPU time of the programs that workers ran and waited for the end of, per window.
func (b *builder) programs(workers []*watched.Process) []float64 {
	growth, _, _ := b.Total(metric.ProcEndedCPU, workers)
	return growth
}

// totals adds up samples in several states over several processes, per window.
func (b *builder) totals(of []*watched.Process, states ...metric.Desc) []float64 {
	out := make([]float64, len(b.Spans))
	for _, a := range of {
		stat.Add(out, b.Grow(a.Entity, states...))
	}
	return out
}

// imbalance compares the busiest worker with the median one. Workers that lived for less than half of the window are
// left out: at an epoch's start all are busy.
func (b *builder) imbalance(r *rank) figure {
	var rates []float64
	for _, w := range r.workerSet {
		cpu, seen := b.Track(metric.ProcCPU, w.Entity).Grow(b.Spans)
		if lived := stat.Sum(seen); lived > stat.Sum(b.Length)/2 {
			rates = append(rates, (stat.Sum(cpu)+stat.Sum(b.Grow(w.Entity, metric.ProcEndedCPU)))/lived)
		}
	}
	// The clock ticks of CPU time are 10 ms: below 1 % of a CPU the ratio would be one of ticks.
	median, _ := stat.Quantile(rates, 0.5)
	if len(rates) < 2 || !(median > 0.01) {
		return figure{}
	}
	return exact(slices.Max(rates) / median)
}

// leastCores is the fewest cores that a worker may run on, where they are fewer than its trainer's.
func (r *rank) leastCores() figure {
	least := r.Affinity
	for _, w := range r.workerSet {
		if w.Affinity > 0 {
			least = min(least, w.Affinity)
		}
	}
	if least >= r.Affinity {
		return figure{}
	}
	return exact(float64(least))
}

// private is a worker's resident memory less what it shares.
func (b *builder) private(w *watched.Process) (float64, bool) {
	all, ok := b.Usual(metric.ProcRSS, w.Entity)
	common, known := b.Usual(metric.ProcShared, w.Entity)
	return max(all-common, 0), ok && known
}

// leastTrend is how long a worker must have lived in the window for the growth of its memory to be distinguished from
// its start, in seconds.
const leastTrend = 5.0

// growthParts are the parts of the window in each of which memory must grow: buffers that fill, and a heap that settles
// as the largest item comes by, grow in one of them.
const growthParts = 3

// memoryGrowth is the median worker's, with its own interval; of those that grew in each part of the window.
func (b *builder) memoryGrowth(r *rank) figure {
	var growths []stat.Summary
	middle := stat.Each(len(b.Spans), func(i int) float64 { return (b.Spans[i].From + b.Spans[i].To) / 2 })
	for _, w := range r.workerSet {
		rss := b.Track(metric.ProcRSS, w.Entity)
		if rss == nil || (watched.Span{From: w.Born, To: w.Died}).Overlap(b.Steady) < leastTrend {
			continue
		}
		held, throughout := rss.Means(b.Spans), true
		for i := range growthParts {
			from, to := i*len(held)/growthParts, (i+1)*len(held)/growthParts
			throughout = throughout && stat.Trend(middle[from:to], held[from:to]).Center > 0
		}
		switch t := stat.Trend(middle, held); {
		case t.N <= 2:
		case throughout:
			growths = append(growths, t)
		default:
			growths = append(growths, stat.Summary{N: t.N, Confidence: t.Confidence})
		}
	}
	if len(growths) == 0 {
		return figure{}
	}
	slices.SortFunc(growths, func(x, y stat.Summary) int { return cmp.Compare(x.Center, y.Center) })
	return summary(growths[len(growths)/2])
}

// Remote is a peer that loading waits for over TCP.
type Remote struct {
	Address string  // number and port, or "others"
	Share   float64 // of all such waits whose peer is known
}

// remote takes how long those that load for a trainer wait on TCP connections, and to whom.
func (b *builder) remote(r *rank) {
	b.take(metric.WorkerRemote, b.shareOf(metric.ThreadRemote, r), metric.ThreadRemote)
	all := 0.0
	for _, e := range b.Rec.Events {
		if e.Kind != recording.EventRemote || e.Attrs["trainer"] != r.Entity {
			continue
		}
		if samples := stat.Sum(b.Grow(e.Entity, metric.RemoteSamples)); samples > 0 {
			all += samples
			b.ev.Facts.Remotes = append(b.ev.Facts.Remotes, Remote{e.Attrs["address"], samples})
		}
	}
	for i := range b.ev.Facts.Remotes {
		b.ev.Facts.Remotes[i].Share /= all
	}
	slices.SortFunc(b.ev.Facts.Remotes, func(x, y Remote) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), cmp.Compare(x.Address, y.Address))
	})
}

// shareOf is the share of samples of a trainer's workers that found them in a state, of those of which it could be
// reported; absent where of none.
func (b *builder) shareOf(state metric.Desc, r *rank) figure {
	reported := slices.DeleteFunc(slices.Clone(r.workerSet), func(w *watched.Process) bool {
		return b.Track(state, w.Entity) == nil
	})
	return b.ratio(b.totals(reported, state), b.totals(reported, metric.ThreadSamples))
}
