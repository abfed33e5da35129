package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// evaluating is what evaluations take; nothing where it is not told.
func evaluating(e *evidence.Evidence) evidence.Evaluating {
	if h := e.Facts.Hook; h != nil && h.Evaluating.Time < 1 {
		return h.Evaluating
	}
	return evidence.Evaluating{}
}

// trainerCPU is the CPU time of one trainer in a second of training: without what it computes in evaluations, as
// rates are.
func trainerCPU(e *evidence.Evidence) (stat.Summary, bool) {
	all, ok := e.Get(metric.TrainerCPU)
	if !ok {
		return stat.Summary{}, false
	}
	ranks := 1.0
	if n, ok := e.Get(metric.Ranks); ok && n.Center > 1 {
		ranks = n.Center
	}
	s := scaled(all.Summary, 1/ranks)
	if x := evaluating(e); x.Time > 0 && s.Center > 0 {
		s = scaled(s, max(s.Center-x.CPU, 0)/s.Center/(1-x.Time))
	}
	return s, true
}

// trainerDelay is how long, in a second of training, the trainer's main thread was ready to run without a CPU.
func trainerDelay(e *evidence.Evidence) (float64, bool) {
	delay, ok := e.Get(metric.MainRunDelay)
	x := evaluating(e)
	return max(delay.Center-x.Delay, 0) / (1 - x.Time), ok
}

// pauses is what interrupts training while its workers go on.
func pauses(e *evidence.Evidence) predict.Pause {
	h := e.Facts.Hook
	if h == nil {
		return predict.Pause{}
	}
	return predict.Pause{Every: h.Pauses.Every, Length: h.Pauses.Length, CPU: h.Pauses.CPU}
}
