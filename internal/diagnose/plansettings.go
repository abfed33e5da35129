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

// asked is the setting that a recommendation leads to, with what it says is to be changed along; false where it is none that is simulated, or where
// what it brings rests on what this watch did not measure.
func (m *model) asked(c report.Recommendation) (predict.Setting, bool) {
	set, ok := m.turned(m.Setting, c.Setting, c.To)
	for _, w := range c.With {
		if with, known := m.turned(set, w.Setting, w.To); known { // of what is not known, nothing is made of either value
			set = with
		}
	}
	return set, ok
}

// turned is a setting with one knob at another value; false as in asked.
func (m *model) turned(set predict.Setting, knob, to string) (predict.Setting, bool) {
	n, err := strconv.Atoi(to)
	switch predict.Knob(knob) {
	case predict.NumWorkers:
		set.Workers = n
		return set, err == nil && n >= 0
	case predict.PrefetchFactor: // what depth brings follows from how batches vary
		set.Prefetch = n
		return set, err == nil && n > 0 && set.Workers > 0 && m.Fetch.Measured()
	case predict.PersistentWorkers:
		set.Persistent = to == "True"
		return set, set.Workers > 0 && m.Epoch > 0 && !m.Anew
	case predict.InOrder:
		set.Unordered = to == "False"
		return set, set.Workers > 0 && m.Fetch.Measured()
	case predict.Context:
		set.Start = predict.StartMethod(to)
		_, known := m.Starts[set.Start]
		return set, set.Workers > 0 && m.Epoch > 0 && known
	}
	return set, false
}

// agree makes findings say of a change what plans say of it: what the simulation can tell has one figure in the whole report. What it does
// not expect to be worth a change is denied to the finding, unless a plan needs it beside others. It tells whether anything was: then findings are
// to be weighed again.
func (m *model) agree(f *predict.Forecaster, now predict.Forecast, r *report.Report, by judgement) (denied bool) {
	for i := range r.Findings {
		x := &r.Findings[i]
		for k := range x.Recommendations {
			c := &x.Recommendations[k]
			part := partOf(r.Plans, *c)
			told, to := m.told(f, now, *c)
			if why := m.against(*c, told); why != "" && part == "" {
				by.deny(x, *c, why)
				denied = true
				continue
			}
			if told == nil {
				continue
			}
			c.Effect = told
			switch {
			case m.contested(to):
				c.Caveat = also(byGroup, c.Caveat)
			case !told.Worthwhile():
				c.Caveat = also("alone it brings hardly anything: the "+part+" plan has it beside other changes", c.Caveat)
			}
		}
	}
	return denied
}

// against is what speaks against a change that no plan has, with what the simulation makes of it, which may be nil; "" where nothing does.
func (m *model) against(c report.Recommendation, told *report.Effect) string {
	if by := m.noRoom(c); by != predict.NoClamp {
		return fmt.Sprintf("%s: its queue would take more than may be used of %s", assigned(c), by)
	}
	if !told.Worthwhile() {
		return fmt.Sprintf("%s: a simulation of the loader gives %s instead of %s", assigned(c), unit.Format(told.After, told.Unit), unit.Format(told.Before, told.Unit))
	}
	return ""
}

// noRoom tells what has no room for a deeper queue that is recommended.
func (m *model) noRoom(c report.Recommendation) predict.Clamp {
	n, err := strconv.Atoi(c.To)
	if c.Setting != string(predict.PrefetchFactor) || err != nil || n <= 0 || m.Setting.Workers == 0 {
		return predict.NoClamp
	}
	set := m.Setting
	set.Prefetch = n
	return m.Room(set)
}

// partOf names the first plan that makes a change; "" where none does.
func partOf(plans []report.Plan, c report.Recommendation) string {
	i := slices.IndexFunc(plans, func(p report.Plan) bool {
		return slices.ContainsFunc(p.Changes, func(x report.Recommendation) bool { return x.Setting == c.Setting && strings.EqualFold(x.To, c.To) })
	})
	if i < 0 {
		return ""
	}
	return plans[i].Name
}

// assigned writes a recommendation as arguments, with what is to be changed along.
func assigned(c report.Recommendation) string {
	text := c.Setting + "=" + c.To
	for _, w := range c.With {
		text += ", " + w.Setting + "=" + w.To
	}
	return text
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

// also joins what is to be minded; either may be "".
func also(first, second string) string { return strings.Trim(first+"; "+second, "; ") }
