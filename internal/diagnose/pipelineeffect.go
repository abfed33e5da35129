package diagnose

import (
	"math"

	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// without prepares what the loader would do if the other programs were gone. How much of the variation of its batches is theirs cannot be
// told; none is left, so that this is an upper edge and no forecast.
func (m *model) without() {
	if m.Others >= leastOthers {
		p := m.Pipeline
		p.Others, p.Fetch = 0, predict.Spread{}
		m.quiet = predict.NewForecaster(p, predict.Options{Resamples: -1})
	}
}

// contested tells whether a setting with more workers than now can only get on with CPU time that other programs use. Whether it gets any of that
// is not the job's to decide: the kernel shares between groups of processes first (cgroups, and a group for each session: sched(7), "The autogroup
// feature"), and a worker more adds nothing to its group's share. Then there is no gain, and what more workers cost beside is within the model's
// own error.
func (m *model) contested(to predict.Forecast) bool {
	if m.Others < leastOthers || m.left <= 0 || to.Setting.Workers <= max(m.Setting.Workers, 0) {
		return false
	}
	needs := to.Rate * (m.CPU.Center + m.TrainerCPU.Center) * (1 - to.PauseShare)
	if p := m.Pause; to.PauseShare > 0 {
		needs += to.PauseShare * p.CPU / p.Length
	}
	return needs > m.left
}

// byGroup is the reason, for the person.
const byGroup = "other programs use the CPU time that it needs, and the kernel shares CPUs by group of processes (sched(7)), so that more workers may get none of it: no gain is possible"

// misfit is by what factor the model's rate at the settings as they are differs from the one that was seen, at least 1.
func (m *model) misfit(now predict.Forecast) float64 {
	seen := m.as.Now.Center
	modelled := now.Rate * m.as.scale
	if seen <= 0 || modelled <= 0 {
		return math.Inf(1)
	}
	return max(seen/modelled, modelled/seen)
}

// effect tells a setting's rate in the job's own unit. The model gives it in two ways: the rate itself, and how many times as fast as now
// that is, applied to what was seen. The interval is the narrower one with room for both figures, and up to what would be without other programs,
// but no higher than the inputs' best edges allow.
func (m *model) effect(to predict.Forecast, gain stat.Summary) *report.Effect {
	scale, now := m.as.scale, m.as.Now.Center
	rate := to.StepsPerS
	lo, hi := rate.Lo*scale, rate.Hi*scale
	if (gain.Hi-gain.Lo)*now < hi-lo { // what both settings have in common cancels in the gain
		lo, hi = gain.Lo*now, gain.Hi*now
	}
	lo, hi = min(lo, rate.Center*scale, gain.Center*now), max(hi, rate.Center*scale, gain.Center*now)
	after := math.Sqrt(rate.Center * scale * gain.Center * now)
	if m.quiet != nil {
		if gone, ok := m.quiet.Point(to.Setting); ok { // they come and go
			hi = max(hi, gone.Rate*scale)
		}
	}
	if m.contested(to) {
		lo = min(lo, m.error.Widen(stat.Summary{Center: now, Lo: now, Hi: now}, to.NewPrograms).Lo)
	}
	if len(to.Bounds) > 0 {
		after = min(after, to.Bounds[0].Rate*scale)
	}
	if most := m.most(to.Setting); !math.IsInf(most, 1) {
		hi = min(hi, most*scale)
	}
	lo = min(lo, hi)
	out := &report.Effect{Metric: m.as.Metric, Unit: m.as.Unit, Before: now, After: min(max(after, lo), hi), Lo: lo, Hi: hi, Basis: report.Modelled, Limit: limitText[to.Limit]}
	if !finite(out.Before, out.After, out.Lo, out.Hi) {
		return nil
	}
	return out
}

// most is the lowest bound with every cost at its cheapest edge; +Inf where none is known.
func (m *model) most(set predict.Setting) float64 {
	best := m.Loader
	best.Prefetch = set.Prefetch
	for _, s := range []*stat.Summary{&best.FreeStep, &best.CPU, &best.Wait, &best.TrainerCPU, &best.FromStore} {
		s.Center = max(s.Lo, s.Center/20)
	}
	best.CPUs.Center, best.Storage.Center = best.CPUs.Hi, best.Storage.Hi
	if m.Spin > 0 {
		best.TrainerCPU.Center = max(best.TrainerCPU.Center-m.Spin, 0)
	}
	bounds := best.Bounds(set.Workers)
	if len(bounds) == 0 {
		return math.Inf(1)
	}
	return bounds[0].Rate
}
