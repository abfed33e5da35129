package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// knobs are the settings that are simulated.
var knobs = []predict.Knob{predict.NumWorkers, predict.PrefetchFactor, predict.PersistentWorkers, predict.Context, predict.InOrder}

// ruledOut tells whether a finding says against a setting that it will not help.
func (m *model) ruledOut(r *report.Report, set predict.Setting) bool {
	now := m.Setting
	if now.Prefetch <= 0 {
		now.Prefetch = usualPrefetch
	}
	for _, k := range knobs {
		if set.Workers == 0 && k != predict.NumWorkers {
			continue // without meaning then
		}
		from := value(k, now)
		if r.RuledOut(string(k), &from, value(k, set)) != nil {
			return true
		}
	}
	return false
}

// usualPrefetch is prefetch_factor where nobody says otherwise (torch/utils/data/dataloader.py, 1.13 to 2.14).
const usualPrefetch = 2

// asked is the setting that a recommendation leads to where nothing else is changed; false where it is none that is simulated, or where what it
// brings rests on what this watch did not measure.
func (m *model) asked(c report.Recommendation) (predict.Setting, bool) {
	set := m.Setting
	n, err := strconv.Atoi(c.To)
	switch predict.Knob(c.Setting) {
	case predict.NumWorkers:
		set.Workers = n
		return set, err == nil && n >= 0
	case predict.PrefetchFactor: // what depth brings follows from how batches vary
		set.Prefetch = n
		return set, err == nil && n > 0 && set.Workers > 0 && m.Fetch.Measured()
	case predict.PersistentWorkers:
		set.Persistent = c.To == "True"
		return set, set.Workers > 0 && m.Epoch > 0 && !m.Anew
	case predict.InOrder:
		set.Unordered = c.To == "False"
		return set, set.Workers > 0 && m.Fetch.Measured()
	case predict.Context:
		set.Start = predict.StartMethod(c.To)
		_, known := m.Starts[set.Start]
		return set, set.Workers > 0 && m.Epoch > 0 && known
	}
	return set, false
}

// agree makes findings say of a change what plans say of it: what the simulation can tell has one figure in the whole report. What it does
// not expect to be worth a change is no recommendation any more, and a finding that is left without any has nothing at stake. It tells whether
// there is such a finding.
func (m *model) agree(f *predict.Forecaster, now predict.Forecast, findings []report.Finding) (emptied bool) {
	for i := range findings {
		x := &findings[i]
		kept := x.Recommendations[:0]
		for _, c := range slices.Clone(x.Recommendations) {
			told, to := m.told(f, now, c)
			if told != nil && !told.Worthwhile() {
				deny(x, c, fmt.Sprintf("%s=%s: a simulation of the loader gives %s instead of %s", c.Setting, c.To,
					unit.Format(told.After, told.Unit), unit.Format(told.Before, told.Unit)))
				continue
			} else if told != nil {
				if c.Effect = told; m.contested(to) {
					c.Caveat = strings.TrimSuffix(byGroup+"; "+c.Caveat, "; ")
				}
			}
			kept = append(kept, c)
		}
		if len(kept) == 0 && len(x.Recommendations) > 0 {
			x.Score, x.Severity, emptied = 0, report.Info, true
		}
		x.Recommendations = kept
	}
	return emptied
}

// told is what the simulation makes of a recommendation that is given for its effect; nil where it cannot tell.
func (m *model) told(f *predict.Forecaster, now predict.Forecast, c report.Recommendation) (*report.Effect, predict.Forecast) {
	set, ok := m.asked(c)
	if !ok || c.Effect == nil {
		return nil, predict.Forecast{}
	}
	to, ok := f.Forecast(set)
	if !ok {
		return nil, to
	}
	return m.effect(to, f.Gain(now, to)), to
}
