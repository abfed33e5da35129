package diagnose

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// joint is the effect of all that findings recommend together; nil where there are no two changes that bring something. Single effects do not add up,
// because each moves the same bound. Where all are settings that were simulated, the recommended plan says what they come to; else it is at least
// the best one's, and at most what is left as a bound when all are made.
func joint(e *evidence.Evidence, r *report.Report) *report.Effect {
	told := helpful(r.Findings)
	if len(told) < 2 {
		return nil
	}
	best := *slices.MaxFunc(told, func(a, b report.Recommendation) int { return cmp.Compare(a.Effect.After, b.Effect.After) }).Effect
	cheaper, simulated := 1.0, true
	for _, c := range told {
		if !slices.Contains(report.Simulated, c.Setting) {
			simulated = false
			cheaper *= max(c.Effect.Hi/c.Effect.Before, 1)
		}
	}
	if p := r.Recommended(); simulated && p != nil && p.Effect != nil && p.Effect.Metric == best.Metric {
		if p.Effect.After > best.After {
			best = *p.Effect
		}
		return &best
	}
	l, ok := modelOf(e)
	if !ok || l.Metric != best.Metric || l.FreeStep.Center <= 0 || !finite(cheaper) {
		return nil
	}
	if top, limit := l.leftBound(cheaper); top*l.scale > best.Hi {
		best.Hi, best.Limit = top*l.scale, limitText[limit]
	}
	best.After = max(best.After, (best.After+best.Hi)/2)
	return &best
}

// helpful are the recommendations that are told to bring something.
func helpful(findings []report.Finding) (out []report.Recommendation) {
	for _, f := range findings {
		for _, c := range f.Recommendations {
			if c.Effect != nil && c.Effect.Before > 0 && c.Effect.After > c.Effect.Before {
				out = append(out, c)
			}
		}
	}
	return out
}

// leftBound is the lowest bound with any number of workers, at the upper edges of what is known of CPUs and storage, and what sets it. Making a batch
// may be so many times as cheap as it is: that is what changes of it bring alone, and how much more they save where something else comes to
// limit them is not known.
func (l Loader) leftBound(cheaper float64) (float64, predict.Term) {
	l.CPUs.Center, l.Storage.Center = l.CPUs.Hi, l.Storage.Hi
	top, limit := 1/l.FreeStep.Center, predict.Step
	for _, b := range l.Bounds(max(l.Workers, 1)) {
		if (b.Term == predict.CPUs || b.Term == predict.Storage) && b.Rate*cheaper < top {
			top, limit = b.Rate*cheaper, b.Term
		}
	}
	return top, limit
}
