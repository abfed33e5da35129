package evidence

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// workerTime is what the workers of a trainer did in each window: in samples of their main threads all of them and
// those at work, in seconds the rest: how long they lived, the CPU time of all of their threads and of the main ones,
// and how long these had no CPU.
type workerTime struct {
	samples, alive, busy, cpu, main, delay []float64
	timed                                  bool // CPU times were read
}

// leastOnCPU is the CPU time below which the delays of a main thread are those of waking up, in CPUs.
const leastOnCPU = 0.02

// ownThreads takes how long main threads of workers wait for other threads of theirs, which compute meanwhile: for no
// lock that somebody else holds. It is what they wait for locks that processes do not share; at the most what the
// others compute in it, who queue for CPUs as the main thread does, and compute as likely in the rest of the time at
// work, as one does that sends a batch. A process that feeds a trainer was sampled as running while its threads
// compute: there it is what its main thread does neither compute nor queue of that.
//
// It returns, in each window, the seconds of it and of these those that were seen as waits for locks; and how many
// times as long as alone computing takes, for the queues.
func (b *builder) ownThreads(r *rank, w workerTime) (waits, asleep []float64, queueing float64) {
	seconds := func(samples []float64) []float64 {
		return stat.Each(len(samples), func(i int) float64 {
			return stat.Over(samples[i], w.samples[i]) * w.alive[i]
		})
	}
	running := b.totals(r.workerSet, metric.ThreadRunning)
	locked := b.totals(r.workerSet, r.busyStates(metric.ThreadFutex, metric.ThreadFutexTimed)...)
	shared := b.totals(r.workerSet, metric.ThreadSharedFutex)
	private := stat.Beyond(locked, shared)
	waits, queueing = seconds(private), 1
	most := stat.Sum(waits)
	if r.fed != nil {
		waits = seconds(running)
		most = max(stat.Sum(waits)-stat.Sum(w.main)-stat.Sum(w.delay), 0)
	}
	helped := 0.0
	if main := stat.Sum(w.main); w.timed {
		if main > leastOnCPU*stat.Sum(w.alive) {
			queueing += stat.Sum(w.delay) / main
		}
		part := stat.Share(stat.Divide(most, stat.Sum(seconds(w.busy))))
		helped = min(most, queueing*max(stat.Sum(w.cpu)-main, 0)*part)
	}
	waits = stat.Times(waits, stat.Over(helped, stat.Sum(waits)))

	own := make([]float64, len(private))
	if r.fed == nil {
		own = stat.Times(private, stat.Share(stat.Divide(helped, stat.Sum(seconds(private)))))
	}
	b.take(metric.WorkerLock, b.own(r, b.ratio(stat.Minus(locked, own), w.samples)), metric.ThreadFutex,
		metric.ThreadFutexTimed)
	if stat.Sum(own) > 0 {
		b.take(metric.WorkerOwnThreads, b.own(r, b.ratio(own, w.samples)))
	}
	b.ev.row(metric.WorkerOwnThreads).from = []metric.Desc{metric.ThreadFutex, metric.ProcCPU, metric.ProcMainCPU}
	return waits, seconds(own), queueing
}
