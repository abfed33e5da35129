package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// hookWorkers takes the workers of evaluations out of the trainer's worker set, as far as the hook reported whose they
// are: while training goes on they wait for work, and that says nothing of the training loop's. What workers hand over
// is then of the training loop, else of all loaders that have workers.
func (b *builder) hookWorkers(r *rank) {
	h, of := r.hook, r.hook.all()
	reported := recording.Rows[recording.Hook](b.rec, recording.EventHook)
	evaluates := func(w *process) bool {
		loop := reported[w.entity].Loop
		return slices.ContainsFunc(h.evaluations, func(l *hookLoop) bool { return slices.Contains(l.members, loop) })
	}
	own := slices.DeleteFunc(slices.Clone(r.workerSet), evaluates)
	if !h.training.loadsItself() && len(own) > 0 && len(own) < len(r.workerSet) {
		r.others = slices.DeleteFunc(r.workerSet, func(w *process) bool { return !evaluates(w) })
		r.workerSet, of = own, append([]*hookLoop{h.training}, h.sources...)
	}
	r.handed = make([]float64, len(b.spans))
	for _, l := range of {
		if !l.loadsItself() || h.training.loadsItself() {
			add(r.handed, l.of(metric.HookSteps))
		}
	}
}

// evaluationHasWorkers is why what is seen of trainer and workers at once is not reported.
const evaluationHasWorkers = "the evaluation's loader has workers of its own, which wait for work while training " +
	"goes on"
