package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// hookCrew takes the workers of evaluations out of the trainer's crew, as far as the hook told whose they are: while training goes on they wait for work, and
// that says nothing of the training loop's. What workers hand over is then of the training loop, else of all loaders that have workers.
func (b *builder) hookCrew(r *rank) {
	h := r.hook
	r.handed = make([]float64, len(b.spans))
	for _, l := range h.all() {
		if n := l.call.Workers; n == nil || *n > 0 || h.loadsItself() {
			add(r.handed, l.of(metric.HookSteps))
		}
	}
	if h.loadsItself() {
		return
	}
	evaluates := map[string]bool{}
	for _, l := range h.evaluations {
		for _, m := range l.members {
			evaluates[m] = true
		}
	}
	told := eventsOf(b.rec, recording.EventHook)
	own := slices.DeleteFunc(slices.Clone(r.crew), func(w *actor) bool { return evaluates[told[w.entity]["loop"]] })
	if len(own) == 0 || len(own) == len(r.crew) {
		return
	}
	r.others = slices.DeleteFunc(slices.Clone(r.crew), func(w *actor) bool { return slices.Contains(own, w) })
	r.crew = own
	for _, l := range h.evaluations {
		if n := l.call.Workers; n == nil || *n > 0 {
			less(r.handed, l.of(metric.HookSteps))
		}
	}
}

// less takes xs off sums, window by window.
func less(sums, xs []float64) {
	for i := range sums {
		sums[i] = max(sums[i]-xs[i], 0)
	}
}

// besideEvaluation is why what is seen of trainer and workers at once is not told.
const besideEvaluation = "the evaluation's loader has workers of its own, which wait for work while training goes on"
