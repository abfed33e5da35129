package diagnose

import (
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// KeepsUp returns the least number of workers, from least to most, with which a simulation of the loader is as fast as with the present ones, to within the
// 3 % that are worth a change; false where there is none. The bounds of Loader go by the mean of a batch: where rare batches take long it is the
// queue, and with it the number of workers, that hides them. Where it was not told how batches vary, or no model fits, nothing speaks against least.
func (p *Pass) KeepsUp(least, most int) (int, bool) {
	m, why := pipelineOf(p.Evidence)
	if why != nil || !m.Fetch.Measured() {
		return least, least <= most
	}
	f := predict.NewForecaster(m.Pipeline, predict.Options{Resamples: -1})
	now, ok := f.Point(m.Setting)
	if !ok || m.misfit(now) > mostMisfit {
		return least, least <= most
	}
	for set := m.Setting; least <= most; least++ {
		set.Workers = least
		if to, ok := f.Point(set); ok && to.Rate*report.WorthChange >= now.Rate {
			return least, true
		}
	}
	return 0, false
}
