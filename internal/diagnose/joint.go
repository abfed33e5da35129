package diagnose

import (
	"slices"

	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// joint is the effect of all that is decided together; nil where there are no two changes that bring something, or
// nothing can tell. Single effects do not add up, because each moves the same bound. What is no setting of the loader
// is taken to make a batch so many times as cheap as the rate that it brings alone.
func (s *subject) joint(r *report.Report) *report.Effect {
	l, ok := s.model()
	if !ok {
		return nil
	}
	var best *report.Effect
	told := 0
	set, least, likely, most := l.Setting, 1.0, 1.0, 1.0
	for _, d := range r.Decided() {
		if d.Outcome != report.ToChange || d.Hold == report.HoldFurther || d.Hold == report.HoldInstead {
			continue
		}
		if slices.Contains(report.Simulated, d.Setting) {
			if changed, known := l.turned(set, d.Setting, d.To); known {
				set = l.along(changed, d.With)
			}
		}
		x := d.Effect
		if x == nil || x.Metric != l.Metric || x.Before <= 0 || x.After <= x.Before {
			continue
		}
		told++
		if best == nil || x.After > best.After {
			best = x
		}
		if !slices.Contains(report.Simulated, d.Setting) {
			least, likely, most = least*max(x.Lo/x.Before, 1), likely*x.After/x.Before, most*x.Hi/x.Before
		}
	}
	if told < 2 {
		return nil
	}
	_, effect, ok := l.Predict(set, predict.Remedy{SavedLo: 1 - 1/least, Saved: 1 - 1/likely, SavedHi: 1 - 1/most})
	if !ok {
		return nil
	}
	if effect.Hi < best.Hi { // reported by a rule from shares of time
		effect.Hi, effect.Limit = best.Hi, best.Limit
	}
	effect.After, effect.Lo = max(effect.After, best.After), max(effect.Lo, best.Lo)
	return effect
}
