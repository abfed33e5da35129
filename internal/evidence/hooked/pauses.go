package hooked

import (
	"cmp"
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// Evaluating is what evaluations take, in the middle of epochs or between them, per second of the watch. The zero value
// is that there are none, or that it is not reported when they were.
type Evaluating struct {
	Time  float64 // seconds, 0..1
	CPU   float64 // seconds of CPU of the trainer
	Delay float64 // seconds for which its main thread was ready to run without a CPU
	// where a step of training goes is not known: all that was seen of it from outside has evaluations in it
	Mixed bool
}

// Pauses are evaluations in the middle of an epoch: training stands still, and its workers make the batches that are
// asked of them already. The zero value is that there are none.
type Pauses struct {
	Every  float64 // steps of training from one to the next
	Length float64 // seconds, without those for which the main thread was ready to run without a CPU
	CPU    float64 // seconds of CPU in one, of the trainer and of the workers that load for it
}

// pauses is what evaluations take, and what those in the middle of an epoch are like.
func (h *Trainer) pauses(mixed bool) (all Evaluating, p Pauses) {
	evaluated, reported, steps := stat.Sum(h.Evaluated), stat.Sum(h.Reported), stat.Sum(h.Training.Of(metric.HookSteps))
	if evaluated <= 0 || reported <= 0 || steps <= 0 {
		return all, p
	}
	all.Mixed = mixed
	spans := h.EvaluationSpans()
	begun, worked := 0.0, 0.0
	for _, l := range h.Evaluations {
		begun += stat.Sum(l.Of(metric.HookBegun))
		if n := l.Call.NumWorkers; n != nil && *n > 0 {
			worked += stat.Sum(l.Made(metric.HookFetchCPU)) / evaluated
		}
	}
	length := stat.Divide(evaluated, begun)
	cpu, late := 0.0, 0.0 // per second of an evaluation
	if len(spans) > 0 {
		length = 0
		for _, s := range spans {
			length += s.Length() / float64(len(spans))
		}
		known := watched.Intersect(h.w.Spans, watched.Span{From: math.Inf(-1), To: spans[len(spans)-1].To})
		if used, ok := h.w.Track(metric.ProcCPU, h.process.Entity).RateIn(known, spans); ok {
			cpu = used
			delayed, _ := h.w.Track(metric.ProcRunDelay, h.process.Entity).RateIn(known, spans)
			late = stat.Share(delayed)
			all = Evaluating{Time: stat.Share(evaluated / reported), CPU: cpu * evaluated / reported,
				Delay: late * evaluated / reported, Mixed: mixed}
		}
	}
	nested := min(stat.Sum(h.Training.Of(metric.HookNested)), evaluated)
	if !(nested > 0) || !(length > 0) || !stat.Finite(length) {
		return all, p
	}
	cpu += worked
	return all, Pauses{Every: max(steps*length/nested, 1), Length: length * max(1-late, min(cpu, 1)), CPU: length * cpu}
}

// allEvaluations is the part of the time in evaluations that must be reported one by one, and at most that much more
// may be, for the times that are told to stand for all. The one under way at the end is not reported.
const allEvaluations = 0.6

// EvaluationSpans returns when the trainer evaluated, what follows within a step of training as one; nil where most of
// it is not reported one by one.
func (h *Trainer) EvaluationSpans() (out []watched.Span) {
	step := stat.Divide(stat.Sum(h.Trained()), stat.Sum(h.Training.Of(metric.HookSteps)))
	var reported []watched.Span
	for _, l := range h.Evaluations {
		for _, m := range l.Members {
			for _, e := range h.w.EpochsOf[m] {
				if e.Wall > 0 && !e.Grad {
					reported = append(reported, watched.Span{From: e.Begun, To: e.Begun + e.Wall})
				}
			}
		}
	}
	slices.SortFunc(reported, func(x, y watched.Span) int { return cmp.Compare(x.From, y.From) })
	for _, s := range reported {
		if n := len(out); n > 0 && s.From-out[n-1].To < step {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	seen := stat.Sum(stat.Each(len(h.w.Spans), func(i int) float64 { return h.w.Spans[i].Within(out) }))
	if evaluated := stat.Sum(h.Evaluated); seen < allEvaluations*evaluated || evaluated < allEvaluations*seen {
		return nil
	}
	return out
}
