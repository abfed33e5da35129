package evidence

import "github.com/pipetune/pipetune/internal/metric"

// What taking a batch costs the trainer's main thread on a CPU: unpickling, mapping each tensor, the DataLoader's own
// code. The trainer's stop-watch counts it as waiting, and from outside it looks like any other running. Measured as
// the CPU time of next() beyond what the samples see: 0.31 to 0.50 ms with one tensor, 0.41 to 0.69 with two, 0.86 to
// 0.97 with five, 1.2 to 1.5 with ten (torch 1.13, 2.6 and 2.14, Debian, 2-core Xeon). Another thread that takes the
// batches takes it off the main thread.
const (
	receiveBatch  = 0.35e-3 // s
	receiveTensor = 0.11e-3 // s
)

// receive adds that cost to the time the trainer waited: as long as it takes where the main thread must wait for a CPU
// as well, and never more than the main thread ran.
func (b *builder) receive(r *rank) {
	r.receiving = make([]float64, len(r.waiting))
	if r.batches == nil || sum(b.grow(r.pin(), metric.ThreadSamples))+sum(b.grow(r.taker(), metric.ThreadSamples)) > 0 {
		return
	}
	cost := receiveBatch
	if per := b.h.of(metric.LoaderTensorsPer, r.loader()).within(b.steady); len(per) > 0 {
		cost += per[len(per)-1] * receiveTensor
	}
	cpu, delay := sum(b.grow(r.entity, metric.ProcMainCPU)), sum(b.grow(r.entity, metric.ProcRunDelay))
	if cpu > 0 && delay > 0 {
		// it wakes twice a batch: when the batch comes, and when the step ends; only the first is a wait
		cost *= 1 + delay/cpu/2
	}
	running := b.grow(r.entity, metric.ThreadRunning)
	for i := range r.receiving {
		free := min(running[i]-r.starting[i], r.joint[i]-r.waiting[i])
		r.receiving[i] = max(min(cost*r.batches[i], free), 0)
		r.waiting[i] += r.receiving[i]
	}
}
