package diagnose

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// joint is the effect of all that findings recommend together; nil where there are no two changes that bring
// something, or nothing can tell. Single effects do not add up, because each moves the same bound. Settings are those
// of the recommended plan, where there is one; what else is recommended is taken to make a batch so many times as
// cheap as the rate that it brings alone.
func (s *subject) joint(r *report.Report) *report.Effect {
	l, ok := s.model()
	if !ok {
		return nil
	}
	told := l.helpful(r.Findings)
	if len(told) < 2 {
		return nil
	}
	best := slices.MaxFunc(told, func(a, b report.Recommendation) int { return cmp.Compare(a.Effect.After, b.Effect.After) }).Effect
	p := r.Recommended()
	set, least, likely, most := l.Setting, 1.0, 1.0, 1.0
	for _, c := range told {
		if slices.Contains(report.Simulated, c.Setting) {
			if changed, known := l.turned(set, c.Setting, c.To); known && p == nil {
				set = l.along(changed, c.With)
			}
			continue
		}
		x := c.Effect
		least, likely, most = least*max(x.Lo/x.Before, 1), likely*x.After/x.Before, most*x.Hi/x.Before
	}
	if p != nil {
		for _, c := range p.Changes {
			if changed, known := l.turned(set, c.Setting, c.To); known {
				set = changed
			}
		}
	}
	_, effect, ok := l.Predict(set, predict.Remedy{SavedLo: 1 - 1/least, Saved: 1 - 1/likely, SavedHi: 1 - 1/most})
	if !ok {
		return nil
	}
	if effect.Hi < best.Hi { // told by a rule from shares of time
		effect.Hi, effect.Limit = best.Hi, best.Limit
	}
	effect.After, effect.Lo = max(effect.After, best.After), max(effect.Lo, best.Lo)
	return effect
}

// helpful are the recommendations that are told to bring something of what the loader gives.
func (l *Loader) helpful(findings []report.Finding) (out []report.Recommendation) {
	for _, f := range findings {
		for _, c := range f.Recommendations {
			if x := c.Effect; x != nil && x.Metric == l.Metric && x.Before > 0 && x.After > x.Before {
				out = append(out, c)
			}
		}
	}
	return out
}
