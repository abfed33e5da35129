package evidence

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// workerStates says which looks make which share of a worker's time.
var workerStates = []struct {
	share metric.Desc
	looks []metric.Desc
}{
	{metric.WorkerIdle, []metric.Desc{metric.LooksQueuePoll}},
	{metric.WorkerRunning, []metric.Desc{metric.LooksRunning}},
	{metric.WorkerStorage, []metric.Desc{metric.LooksDisk, metric.LooksFileRead}},
	{metric.WorkerOpenWait, []metric.Desc{metric.LooksFileOpen}},
	{metric.WorkerFileLock, []metric.Desc{metric.LooksFileLock}},
	{metric.WorkerLock, []metric.Desc{metric.LooksFutex, metric.LooksFutexTime}},
	{metric.WorkerHandOver, []metric.Desc{metric.LooksPipeWrite}},
	{metric.WorkerOtherWait, elsewhereStates},
	{metric.WorkerStopped, []metric.Desc{metric.LooksStopped}},
}

// elsewhereStates are those of a wait for the network, a timer, another process, or what is unknown.
var elsewhereStates = []metric.Desc{metric.LooksPipeRead, metric.LooksSleep, metric.LooksDevice, metric.LooksChild, metric.LooksOther}

// waitingStates are those in which a worker neither runs nor waits for work.
var waitingStates = []metric.Desc{metric.LooksDisk, metric.LooksFileRead, metric.LooksFileOpen, metric.LooksFileLock, metric.LooksFutex,
	metric.LooksFutexTime, metric.LooksPipeWrite, metric.LooksPipeRead, metric.LooksSleep, metric.LooksDevice, metric.LooksChild, metric.LooksOther}

// workers says where the time of the workers goes and what they cost.
func (b *builder) workers() {
	for _, r := range b.ranks {
		b.list(r)
	}
	r := b.top()
	if r == nil || len(r.crew) == 0 {
		return
	}
	looks, alive, seen := b.total(metric.LooksTotal, r.crew)
	if seen {
		for _, s := range workerStates {
			b.share(s.share, b.totals(r.crew, s.looks), looks, metric.Measured)
		}
		b.runPrograms(r, looks, alive)
		idle := b.totals(r.crew, []metric.Desc{metric.LooksQueuePoll})
		b.share(metric.WorkerBusy, each(len(looks), func(i int) float64 { return looks[i] - idle[i] }), looks, metric.Measured)
	}
	programs := b.programs(r.crew)
	cpu, lived, counted := b.total(metric.ProcCPU, r.crew)
	if counted {
		add(cpu, programs)
		b.share(metric.WorkerCPU, cpu, lived, metric.Measured)
	}
	if delay, lived, ok := b.total(metric.ProcRunDelay, r.crew); ok {
		b.share(metric.WorkerRunDelay, delay, lived, metric.Measured)
	}
	if r.handed != nil {
		if counted {
			b.share(metric.WorkerCPUBatch, cpu, r.handed, metric.Measured)
		}
		if seen {
			waits := b.totals(r.crew, waitingStates)
			b.set(metric.WorkerWaitBatch, notNegative(stat.Ratio(each(len(looks), func(i int) float64 {
				if looks[i] == 0 {
					return 0
				}
				return waits[i]/looks[i]*alive[i] - programs[i]
			}), r.handed)), metric.Measured)
		}
	}
	b.imbalance(r)
	b.affinity(r)
	b.workerMemory(r)
}

// programs returns the CPU time of the programs that workers ran and waited for the end of, per window.
func (b *builder) programs(workers []*actor) []float64 {
	growth, _, _ := b.total(metric.ProcEndedCPU, workers)
	return growth
}

// runPrograms takes the time that workers sleep while a program they run uses a CPU out of what they sleep elsewhere. The kernel counts a program's
// CPU time at its end.
func (b *builder) runPrograms(r *rank, looks, alive []float64) {
	programs, elsewhere := b.programs(r.crew), b.totals(r.crew, elsewhereStates)
	if sum(programs) <= 0 || sum(elsewhere) <= 0 {
		return
	}
	of := each(len(looks), func(i int) float64 { return orNothing(divide(programs[i], alive[i])) * looks[i] })
	left := hold(1 - sum(of)/sum(elsewhere))
	b.share(metric.WorkerPrograms, each(len(looks), func(i int) float64 { return elsewhere[i] * (1 - left) }), looks, metric.Measured)
	b.share(metric.WorkerOtherWait, each(len(looks), func(i int) float64 { return elsewhere[i] * left }), looks, metric.Measured)
}

// totals adds up looks in several states over several processes, per window.
func (b *builder) totals(actors []*actor, states []metric.Desc) []float64 {
	out := make([]float64, len(b.spans))
	for _, a := range actors {
		add(out, b.states(a.entity, states...))
	}
	return out
}

// list fills in the evidence's own list of workers.
func (b *builder) list(r *rank) {
	for _, a := range slices.Concat(r.crew, r.others) {
		w := Worker{Entity: a.entity, PID: a.pid, Alive: seconds(span{a.born, a.died}.overlap(b.steady))}
		if looks := sum(b.grow(metric.LooksTotal, a.entity)); looks > 0 {
			w.Busy = hold(1 - sum(b.grow(metric.LooksQueuePoll, a.entity))/looks)
		}
		if cpu, lived := b.cpuOf(a); lived > 0 {
			w.CPU = cpu / lived
		}
		b.ev.Workers = append(b.ev.Workers, w)
	}
}

// cpuOf is the CPU time of a worker and of the programs it ran, and the time over which it was read.
func (b *builder) cpuOf(a *actor) (cpu, lived float64) {
	own, seen := b.h.of(metric.ProcCPU, a.entity).grow(b.spans)
	programs, _ := b.h.of(metric.ProcEndedCPU, a.entity).grow(b.spans)
	return sum(own) + sum(programs), sum(seen)
}

// imbalance compares the busiest worker with the median one. Workers that lived for less than half of the window are left out: at an
// epoch's start all are busy.
func (b *builder) imbalance(r *rank) {
	var rates []float64
	for _, a := range r.crew {
		if cpu, lived := b.cpuOf(a); lived > b.steady.length()/2 {
			rates = append(rates, cpu/lived)
		}
	}
	if len(rates) < 2 {
		return
	}
	// The clock ticks of CPU time are 10 ms: below 1 % of a CPU the ratio would be one of ticks.
	if median, _ := stat.Quantile(rates, 0.5); median > 0.01 {
		b.exact(metric.WorkerImbalance, slices.Max(rates)/median, metric.Measured)
	}
}

// affinity notes where workers may run on fewer cores than their trainer.
func (b *builder) affinity(r *rank) {
	if r.affinity == 0 {
		return
	}
	least := r.affinity
	for _, w := range r.crew {
		if w.affinity > 0 {
			least = min(least, w.affinity)
		}
	}
	if least < r.affinity {
		b.exact(metric.WorkersOneCPUSet, least, metric.Measured)
	}
}

// leastTrend is how long a worker must have lived in the window for the growth of its memory to be told from its start, in seconds.
const leastTrend = 5.0

// workerMemory takes memory and threads per worker: of each its median over the window, of these the median.
func (b *builder) workerMemory(r *rank) {
	var resident, private, threads []float64
	var growths []stat.Summary
	for _, a := range r.crew {
		rss, shared := b.h.of(metric.ProcRSS, a.entity), b.h.of(metric.ProcShared, a.entity)
		all, ok := stat.Quantile(rss.within(b.steady), 0.5)
		if ok {
			resident = append(resident, all)
			if common, ok := stat.Quantile(shared.within(b.steady), 0.5); ok {
				private = append(private, max(all-common, 0))
			}
		}
		if n, ok := stat.Quantile(b.h.of(metric.ProcThreads, a.entity).within(b.steady), 0.5); ok {
			threads = append(threads, n)
		}
		if rss == nil || (span{a.born, a.died}).overlap(b.steady) < leastTrend {
			continue
		}
		middle := each(len(b.spans), func(i int) float64 { return (b.spans[i].from + b.spans[i].to) / 2 })
		if t := stat.Trend(middle, rss.means(b.spans)); t.N > 2 {
			growths = append(growths, t)
		}
	}
	b.set(metric.WorkerRSS, stat.Median(resident), metric.Measured)
	b.set(metric.WorkerPrivate, stat.Median(private), metric.Inferred)
	b.set(metric.WorkerThreads, stat.Median(threads), metric.Measured)
	if len(growths) > 0 { // the median worker, with its own interval
		slices.SortFunc(growths, func(x, y stat.Summary) int { return cmp.Compare(x.Center, y.Center) })
		b.set(metric.WorkerGrowth, growths[len(growths)/2], metric.Measured)
	}
}
