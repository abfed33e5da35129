package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/hooked"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// setReported adds what only the hook can tell of the trainer that leads.
func (b *builder) setReported(r *rank) {
	if r.hook != nil {
		b.hookStep(r)
		b.hookMade(r)
		b.ev.Facts.Hook = r.hook.Facts(r.mixed)
	}
}

// hookStep takes where a step goes. Shares of the training loop are of the time in which the trainer did not evaluate.
func (b *builder) hookStep(r *rank) {
	h := r.hook
	if h.Training.Trains() {
		b.set(metric.Evaluation, b.ratio(h.Evaluated, h.Reported))
		b.set(metric.EvalWait, b.ratio(h.Over(h.Evaluations, (*hooked.Loop).Waits), h.Reported))
	}
	if h.Training.Known(metric.HookSyncs) {
		b.set(metric.SyncRatio, b.ratio(h.Training.Of(metric.HookSyncTime), h.Trained()))
		b.set(metric.SyncsPerStep, b.ratio(h.Training.Of(metric.HookSyncs), r.batches))
	}
	if timed := b.ownClock(r); timed.N > 0 {
		b.set(metric.Starved, summary(timed))
	}
}

// delayPerCPU is how long the main thread is ready without a CPU for each second that it has one.
func (b *builder) delayPerCPU(r *rank) float64 {
	return stat.Over(stat.Sum(b.Grow(r.Entity, metric.ProcRunDelay)), stat.Sum(b.Grow(r.Entity, metric.ProcMainCPU)))
}

// inNext is the CPU time of the main thread that is its loaders' in each window: within __next__, and where a sampler
// begins; nil where nobody tells.
func (b *builder) inNext(r *rank) []float64 {
	h := r.hook
	if h == nil || h.OffMain() > mostlyOffMain {
		return nil
	}
	all := make([]float64, len(b.Spans))
	for _, l := range append([]*hooked.Loop{h.Training}, h.Sources...) {
		per := stat.Divide(stat.Sum(l.Of(metric.HookTakenCPU)), stat.Sum(l.Of(metric.HookTaken)))
		switch {
		case stat.Finite(per):
			stat.Add(all, stat.Times(l.Of(metric.HookSteps), per))
		case l.LoadsItself(): // hooks of before told what making a batch costs
			stat.Add(all, l.Made(metric.HookFetchCPU))
		case l == h.Training:
			return nil
		}
	}
	if h.Training.HasWorkers() || h.MakesAlone() > 0 {
		began, _ := h.Drawn()
		stat.Add(all, began)
	}
	return all
}

// reportedBatch is the size of a batch and its number of tensors, and takes what else it is made of; as seen from
// outside where that was not reported.
func (b *builder) reportedBatch(l *hooked.Loop, seen, tensors figure) (figure, figure) {
	read := func(d metric.Desc) (all []float64) {
		for _, m := range l.Members {
			all = append(all, b.Track(d, m).Within(b.Steady)...)
		}
		return all
	}
	bytes := slices.DeleteFunc(read(metric.HookBatchSize), func(x float64) bool { return x <= 0 })
	if len(bytes) == 0 {
		return seen, tensors
	}
	listed, all := median(read(metric.HookTensors)), median(read(metric.HookAllTensors))
	if all.N == 0 && listed.Center > tensors.Center { // an older hook told only these
		all = listed
	}
	if all.Center > 0 && l.HasWorkers() {
		tensors = exact(all.Center)
	}
	b.set(metric.BatchTensors, listed)
	b.set(metric.BatchFloat32, median(read(metric.HookFloat32)))
	b.set(metric.BatchFloat64, median(read(metric.HookFloat64)))
	return median(bytes), tensors
}

// hookMade takes what it costs to make a batch and an item, and to take a batch from workers.
func (b *builder) hookMade(r *rank) {
	l := r.hook.Training
	if l.HasWorkers() {
		b.set(metric.TakeCPU, b.ratio(l.Of(metric.HookTakenCPU), l.Of(metric.HookTaken)))
	}
	b.set(metric.DrawTime, b.ratio(l.Of(metric.HookDraw), l.Of(metric.HookDrawn)))
	fetches, items, took, cpu := l.Made(metric.HookFetches), l.Made(metric.HookItems), l.Made(metric.HookFetchTime),
		l.Made(metric.HookFetchCPU)
	if stat.Sum(fetches) <= 0 || stat.Sum(took) <= 0 {
		return
	}
	collate := l.Made(metric.HookCollate)
	b.set(metric.FetchTime, b.ratio(took, fetches))
	b.set(metric.CollateRatio, b.ratio(collate, took))
	b.set(metric.RowsPerBatch, b.ratio(l.Made(metric.HookRows), fetches))
	b.set(metric.RowRatio, b.ratio(l.Made(metric.HookRowTime), took))
	b.ev.SetSpread(metric.HookFetchSpread, l.FetchSpread())
	b.ev.SetSpread(metric.HookWaitSpread, l.WaitSpread())
	if p99, ok := stat.ClassQuantile(b.ev.Spread(metric.HookFetchSpread), 0.99); ok {
		b.set(metric.FetchP99, exact(p99))
	}
	if stat.Sum(cpu) > 0 {
		b.set(metric.FetchCPU, b.ratio(cpu, fetches))
		b.costOfBatch(r, fetches, took, cpu)
	}
	if stat.Sum(items) <= 0 {
		return
	}
	open, read, decode := l.Made(metric.HookOpenTime), l.Made(metric.HookReadTime), l.Made(metric.HookDecodeTime)
	resize, archive := l.Made(metric.HookResize), l.Made(metric.HookArchive)
	parts := stat.Plus(open, read, decode, resize, archive, collate)
	other := stat.Beyond(took, parts)
	for _, p := range []struct {
		d    metric.Desc
		took []float64
	}{{metric.MadeItem, took}, {metric.MadeOpen, open}, {metric.MadeRead, read}, {metric.MadeDecode, decode},
		{metric.MadeResize, resize}, {metric.MadeArchive, archive}, {metric.MadeOther, other},
		{metric.MadeCollate, collate}} {
		b.set(p.d, b.ratio(p.took, items))
	}
	b.set(metric.MadeReads, b.ratio(l.Made(metric.HookReads), items))
	b.set(metric.MadePerS, b.ratio(items, r.hook.Trained()))
	if taken := b.valuesTaken(r); taken > 0 {
		b.set(metric.DecodedTimes, summary(b.Quotient(l.Made(metric.HookDecodedValues), items).Scaled(1/taken)))
	}
}

// valuesTaken is how many values an item has in its batch, at the most: those of its tensors of float32 with three axes
// or more, as pictures have, or where there are none one for each byte; 0 where the batch size or its bytes are not
// known.
func (b *builder) valuesTaken(r *rank) float64 {
	size, bytes := r.hook.Training.Call.BatchSize, 0.0
	if v, ok := b.ev.Get(metric.BatchFloat32); ok && v.Center > 0 {
		bytes = v.Center / 4
	} else if v, ok := b.ev.Get(metric.BatchBytes); ok {
		bytes = v.Center
	}
	if size == nil || *size < 1 {
		return 0
	}
	return bytes / float64(*size)
}

// costOfBatch takes CPU time and waiting of a worker per batch. The hook knows the CPU time of the thread that makes
// batches; where its process takes more, in threads of its own, that stands, less what workers took to start and to
// end.
func (b *builder) costOfBatch(r *rank, fetches, took, cpu []float64) {
	seen, threads := b.ev.read(metric.WorkerCPUBatch).figure, r.threads
	if besides := b.ofStarts(r, fetches, took); seen.N == 0 || seen.Center-besides < stat.Sum(cpu)/stat.Sum(fetches) {
		threads = nil // what they compute is not counted, so waiting for them is waiting
		b.set(metric.WorkerCPUBatch, b.ratio(cpu, fetches).over(seen.num, seen.den))
	} else if besides > 0 {
		seen.Summary = seen.Scaled(1 - besides/seen.Center)
		b.set(metric.WorkerCPUBatch, seen)
	}
	delay, others := make([]float64, len(took)), make([]float64, len(took))
	if r.hook.Training.LoadsItself() {
		delay = stat.Times(cpu, b.delayPerCPU(r))
	} else if delayed := b.growthOf(metric.ProcRunDelay, r.workerSet); delayed != nil {
		all := r.hook.Over(r.hook.All(), func(l *hooked.Loop) []float64 { return l.Made(metric.HookFetchTime) })
		part := stat.Share(stat.Divide(stat.Sum(took), stat.Sum(all)))
		if len(r.others) > 0 || len(b.Beside(r.Process)) > 0 {
			part = 1
		}
		delay, others = stat.Times(delayed, part), b.programs(r.workerSet)
		if threads != nil { // nil of a loader of which it is not known whether it has workers
			stat.Add(others, threads)
		}
		others = stat.Times(others, part)
	}
	waits := stat.Minus(stat.Minus(stat.Minus(took, cpu), others), delay)
	b.set(metric.WorkerWaitBatch, summary(stat.NotNegative(b.Quotient(waits, fetches))))
}

// ofStarts is the most CPU time that workers can have taken to start and to end, per batch made: the making of a set,
// in which a trainer that sends each a large dataset waits for its imports, the wait for the first batch of an epoch,
// but for making one, and its end. Workers that import torch anew each epoch of 20 batches may take longer for that
// than for all of these.
func (b *builder) ofStarts(r *rank, fetches, took []float64) float64 {
	restarts, ok := b.center(metric.Restarts)
	workers := r.hook.Training.Call.NumWorkers
	if !ok || workers == nil || r.hook.Training.LoadsItself() {
		return 0
	}
	epoch := r.hook.Cost()
	most := epoch.Create.Center + max(epoch.First.Center-stat.Sum(took)/stat.Sum(fetches), 0) + epoch.Drain.Center
	return restarts * float64(*workers) * most / stat.Sum(fetches)
}

// Spread returns how the durations of a signal were spread over classes in the window, the shortest class first, empty
// ones left out: of metric.HookFetchSpread and metric.HookWaitSpread. It is nil where the hook did not tell them.
func (e *Evidence) Spread(d metric.Desc) []stat.Class { return e.read(d).spread }

// SetSpread sets what Spread returns.
func (e *Evidence) SetSpread(d metric.Desc, classes []stat.Class) { e.row(d).spread = classes }
