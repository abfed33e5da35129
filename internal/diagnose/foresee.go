package diagnose

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// Foreseen is what plans would tell of a setting, in steps per second.
type Foreseen struct {
	predict.Forecast
	Told stat.Summary // what a report shows, which leans on the rate that was seen as well as on the model
}

// Foresee tells what a report of this watch would say of other settings of the watched loader, if the model were as far off as c says. It
// fails where the report would have no plans.
func Foresee(e *evidence.Evidence, c predict.Calibration, settings ...predict.Setting) ([]Foreseen, error) {
	m, why := pipelineOf(e)
	if why != nil {
		return nil, fmt.Errorf("there is no model of the loader: %s", why.Reason)
	}
	m.error = c
	f := predict.NewForecaster(m.Pipeline, predict.Options{Confidence: Confidence, Calibration: c})
	now, ok := f.Forecast(m.Setting)
	if !ok {
		return nil, fmt.Errorf("the loader as it is cannot be simulated")
	}
	if by := m.misfit(now); by > mostMisfit {
		return nil, fmt.Errorf("the model gives %g steps/s for the loader as it is, where %g were seen", now.Rate, m.as.Now.Center/m.as.scale)
	}
	var out []Foreseen
	for _, set := range settings {
		to, ok := f.Forecast(set)
		if !ok {
			return nil, fmt.Errorf("%+v cannot be simulated", set)
		}
		effect := m.effect(to, f.Gain(now, to))
		if effect == nil {
			return nil, fmt.Errorf("%+v has no finite rate", set)
		}
		scale := m.as.scale
		out = append(out, Foreseen{to, stat.Summary{Center: effect.After / scale, Lo: effect.Lo / scale, Hi: effect.Hi / scale, Confidence: Confidence, N: to.StepsPerS.N}})
	}
	return out, nil
}
