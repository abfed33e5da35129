package evidence

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/evidence/hooked"
	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// hookFigures gives the exact figures of a trainer, which the hook reported, in place of what was seen of it from
// outside.
func (b *builder) hookFigures(r *rank, h *hooked.Trainer) {
	r.hook = h
	r.batches = h.Training.Of(metric.HookSteps)
	r.clock, r.evaluated, r.reported = h.Trained(), h.Evaluated, h.Reported
	r.rate, r.evaluating = b.Quotient(r.batches, r.clock), h.EvaluationSpans()
	b.hookWorkers(r)
}

// reportedWorkers tells from inside where the time of the workers goes, where that was not seen from outside, or was
// seen of several loaders together.
func (b *builder) reportedWorkers(r *rank) {
	l, reported := r.hook.Training, r.hook.Reported
	took, cpu := l.Made(metric.HookFetchTime), l.Made(metric.HookFetchCPU)
	workers := l.Call.NumWorkers
	if _, seen := b.center(metric.WorkerBusy); seen || l.LoadsItself() || workers == nil || stat.Sum(took) <= 0 {
		return
	}
	lived := stat.Times(reported, float64(*workers))
	busy := stat.Lesser(took, lived)
	b.set(metric.WorkerBusy, b.ratio(busy, lived))
	b.set(metric.WorkerIdle, b.ratio(stat.Minus(lived, busy), lived))
	if stat.Sum(cpu) <= 0 {
		return
	}
	b.set(metric.WorkerRunning, b.ratio(stat.Lesser(cpu, busy), lived))
	b.set(metric.WorkerOtherWait, b.ratio(stat.Beyond(busy, cpu), lived))
	b.set(metric.WorkerCPU, b.ratio(cpu, lived))
	seen, _, _ := b.Total(metric.ProcCPU, r.workerSet)
	delay, _, _ := b.Total(metric.ProcRunDelay, r.workerSet)
	// Per second on a CPU all workers are delayed alike.
	if all := stat.Sum(seen) + stat.Sum(b.programs(r.workerSet)); all > 0 && stat.Sum(delay) > 0 {
		b.set(metric.WorkerRunDelay, summary(b.Quotient(cpu, lived).Scaled(stat.Sum(delay)/all)).by(metric.Inferred))
	}
}

// warnTogether says of which of several loaders the report is.
func (b *builder) warnTogether(h *hooked.Trainer) {
	all, own := stat.Sum(h.Waits()), stat.Sum(h.Training.Waits())
	if len(h.Partners) == 0 || all <= 0 {
		return
	}
	place := "an unknown line"
	if c := h.Training.Call; c.File != "" && c.Line > 0 {
		place = c.File + ":" + strconv.Itoa(c.Line)
	}
	b.warn("%d loaders are gone over in each step; %.0f %% of the wait is for the one made at %s, and settings and "+
		"costs of a loader are of that one", len(h.Partners)+1, 100*own/all, place)
}

// hookWorkers takes the workers of evaluations out of the trainer's worker set, as far as the hook reported whose they
// are: while training goes on they wait for work, and that says nothing of the training loop's. What workers hand over
// is then of the training loop, else of all loaders that have workers.
func (b *builder) hookWorkers(r *rank) {
	h, of := r.hook, r.hook.All()
	reported := recording.Rows[recording.Hook](b.Rec, recording.EventHook)
	evaluates := func(w *watched.Process) bool {
		loop := reported[w.Entity].Loop
		return slices.ContainsFunc(h.Evaluations, func(l *hooked.Loop) bool { return slices.Contains(l.Members, loop) })
	}
	if len(b.Beside(r.Process)) > 0 { // they were told apart
		of = []*hooked.Loop{h.Training}
	}
	own := slices.DeleteFunc(slices.Clone(r.workerSet), evaluates)
	if !h.Training.LoadsItself() && len(own) > 0 && len(own) < len(r.workerSet) {
		r.others = slices.DeleteFunc(r.workerSet, func(w *watched.Process) bool { return !evaluates(w) })
		r.workerSet, of = own, append([]*hooked.Loop{h.Training}, h.Sources...)
	}
	r.handed = make([]float64, len(b.Spans))
	for _, l := range of {
		if !l.LoadsItself() || h.Training.LoadsItself() {
			stat.Add(r.handed, l.Of(metric.HookSteps))
		}
	}
}

// follow has the trainer's figures be of the loader whose workers the hook reported for the training loop.
func (b *builder) follow(r *rank, training *hooked.Loop) {
	reported := recording.Rows[recording.Hook](b.Rec, recording.EventHook)
	b.Follow(r.Process, func(worker string) bool { return slices.Contains(training.Members, reported[worker].Loop) })
}

// evaluationHasWorkers is why what is seen of trainer and workers at once is not reported.
const evaluationHasWorkers = "the evaluation's loader has workers of its own, which wait for work while training " +
	"goes on"

// reportedRestarts is what epochs and the restarts of workers between them cost. What a restart costs is the end of the
// old set of workers, the making of the new, and the wait for its first batch; what the sampler takes is the sampler's,
// and what the trainer does in between is its own.
func (b *builder) reportedRestarts(h *hooked.Trainer) restarted {
	restarts := h.Restarts()
	gaps, starts, epochs := h.Between()
	if restarts == 0 {
		never := none("the workers were not replaced in the window", "watch for longer than an epoch")
		return restarted{count: exact(0), share: exact(0), lasted: never, start: never, epoch: median(epochs)}
	}
	lost := h.LostToRestarts()
	of := restarted{count: exact(restarts), share: b.ratio(lost, h.Trained()), lasted: median(gaps),
		start: meanSeen(starts), epoch: median(epochs)}
	if len(gaps) == 0 {
		of.lasted = exact(stat.Sum(lost) / restarts)
	}
	return of
}

// sampler takes what the sampler of the training loop costs the trainer at the beginnings of epochs.
func (b *builder) sampler(r *rank) {
	var spent, each figure
	if h := r.hook; h != nil && (h.Training.HasWorkers() || h.MakesAlone() > 0) {
		lost, took := h.Drawn()
		spent, each = b.ratio(lost, h.Trained()), median(took)
	}
	b.take(metric.SamplerTime, spent, metric.HookCreate)
	b.take(metric.SamplerStart, each, metric.HookCreate)
	if d := r.drawing; d.Hi > 0 && r.rate.Center > 0 {
		b.set(metric.DrawTime, summary(b.summaryOf(d).Scaled(1/r.rate.Center)).by(metric.Inferred))
	}
}

// hookSettings puts what the loader was given in place of what could be seen of it.
func (b *builder) hookSettings() {
	f := &b.ev.Facts
	if f.Hook == nil {
		return
	}
	f.Framework = cmp.Or(f.Framework, "pytorch") // the hook is in nothing else
	c := f.Hook.Loader
	if c.NumWorkers != nil && *c.NumWorkers == 0 { // these mean nothing then
		f.Prefetch, f.Persistent, f.StartMethod = nil, nil, ""
	} else {
		f.Prefetch, f.Persistent = cmp.Or(c.Prefetch, f.Prefetch), cmp.Or(c.Persistent, f.Persistent)
		f.StartMethod, f.Sharing = cmp.Or(c.StartMethod, f.StartMethod), cmp.Or(c.Sharing, f.Sharing)
	}
	f.PinMemory, f.BatchSize = cmp.Or(c.PinMemory, f.PinMemory), cmp.Or(c.BatchSize, f.BatchSize)
}

// allSites is the share of opens that must be reported by line for the files opened to be counted from them: the hook
// keeps a bounded number of lines.
const allSites = 0.9

// reportedOpens is how often HDF5 files are opened, in a second and for a batch, where h5py opened any: another
// library's opens are seen from outside only. Of how many different files is reported where the lines hold nearly all.
func (b *builder) reportedOpens(r *rank) (perSec, perBatch, distinct figure) {
	if r.hook == nil {
		return
	}
	l := r.hook.Training
	opens := l.Made(metric.HookOpens)
	every := r.hook.Over(r.hook.All(), func(l *hooked.Loop) []float64 { return l.Made(metric.HookOpens) })
	if stat.Sum(every) <= 0 {
		return
	}
	perSec, perBatch = b.ratio(every, r.hook.Reported), b.ratio(opens, l.Made(metric.HookFetches))
	calls, files := 0.0, map[string]bool{}
	for _, s := range r.hook.Sites([]*hooked.Loop{l}, "open") {
		calls += s.Calls
		files[s.What] = true
	}
	if calls >= max(allSites*stat.Sum(opens), 1) {
		distinct = exact(float64(len(files)) / calls)
	}
	return
}
