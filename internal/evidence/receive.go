package evidence

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/step"
)

// What taking a batch costs the trainer's main thread on a CPU beyond what the samples see: unpickling, mapping each
// tensor, the DataLoader's own code. The trainer's stop-watch counts it as waiting, and from outside it looks like any
// other running. Measured as next() beyond what the samples see, on quiet CPUs: 0.31 to 0.50 ms with one tensor, 0.41
// to 0.69 with two, 0.74 to 0.97 with five, 1.2 to 1.5 with ten (torch 1.13, 2.6 and 2.14), and 0.80, 0.88 and 0.98
// with one, two and five (torch 2.15; Debian, 2-core Xeons). Another thread that takes the batches takes it off the
// main thread.
const (
	receiveBatch  = 0.45e-3 // s
	receiveOff    = 0.3e-3  // by how much that may be off
	receiveTensor = 0.1e-3  // s
)

// What all of taking a batch costs it, CPU time of next(): 0.8 ms with one tensor, 1.1 with two, 1.9 with five (torch
// 1.13), and 1.0, 1.6 and 2.6 (torch 2.15; the same machine).
const (
	takeBatch  = 0.6e-3  // s
	takeTensor = 0.32e-3 // s
)

// receive adds to the time the trainer waited what taking batches costs it unseen, never more than it ran: that CPU
// time, and a part of the time in which it is ready to run and has no CPU. That part is its CPU time there over all its
// CPU time. Of six jobs beside busy workers (2 CPUs) the wait was told up to 13 points too small then, without the
// delay up to 20.
func (b *builder) receive(r *rank) {
	r.receiving = make([]float64, len(r.waiting))
	if r.batches == nil || sum(b.grow(r.pin(), metric.ThreadSamples))+sum(b.grow(r.taker(), metric.ThreadSamples)) > 0 {
		return
	}
	unseen, all := receiveBatch, takeBatch
	if per, ok := b.tensorsPerBatch(r.loader()); ok {
		unseen += per * receiveTensor
		all += per * takeTensor
	}
	perCPU := b.delayPerCPU(r)
	if sum(b.grow(r.entity, asleepOutside...)) > hardlyWaits*sum(r.samples) {
		perCPU /= 2 // it wakes for its device as well, which is no wait for a batch
	}
	running := b.grow(r.entity, metric.ThreadRunning)
	kept := 0.0
	for i := range r.receiving {
		batches := r.batches[i]
		if r.clock[i] <= 0 { // not counted yet
			batches = r.rate.Center * r.joint[i]
		}
		free := max(min(running[i]-r.starting[i], r.joint[i]-r.waiting[i]), 0)
		took := min(unseen*batches, free)
		delayed := min(all*perCPU*batches, free-took)
		kept += delayed
		r.receiving[i] = took + delayed
		r.waiting[i] += r.receiving[i]
	}
	r.delayed = orNothing(divide(kept, sum(r.joint)))
	r.receivingOff = orNothing(receiveOff * r.rate.Center)
}

// untold is by how much what the trainer waits may be off beside its interval: what taking batches costs it, from none
// to twice of how long it is kept off the CPUs there, and waits for Python's lock.
func (b *builder) untold(r *rank) step.Range {
	if r.hook != nil {
		return step.Range{}
	}
	gil, off := b.gilUntold(r), r.receivingOff
	return step.Range{Lo: -off - r.delayed, Likely: gil.Likely, Hi: gil.Hi + off + r.delayed}
}
