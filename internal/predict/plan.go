package predict

import (
	"slices"

	"github.com/pipetune/pipetune/pkg/report"
)

// Change is one knob turned, and what that brings.
type Change struct {
	Knob  Knob
	Alone Forecast // this change and no other
	Then  Forecast // after this and all changes before it
}

// Plan is a set of changes, in the order of what each brings.
type Plan struct {
	Name    string
	Risk    string   // how much of what was not measured it relies on: low, medium or high
	Changes []Change // none: nothing within this plan's reach is worth changing
	After   Forecast // with all of them
	Clamp   Clamp    // what kept num_workers from being larger, where larger would have helped
}

// Plans are what to do about a loader's settings.
type Plans struct {
	Outcome  string // one of report.Outcomes
	Now      Forecast
	Plans    []Plan  // conservative, moderate, aggressive; one that comes to the same as the one before it is left out
	Headroom float64 // what the loader would give to a step of no time, over the present rate; 0 = unknown
}

// tiers returns the three plans' names and risks, and their reaches. One worker per usable core is the number above
// which PyTorch warns; half of the available memory is what tf.data's autotuner takes; a quarter and three quarters of
// it are choices on either side of that. in_order=False changes the order of training and is aggressive for that, not
// for its cost.
func tiers(unordered bool) ([]Plan, []Reach) {
	return []Plan{
			{Name: report.Conservative, Risk: "low"},
			{Name: report.Moderate, Risk: "medium"},
			{Name: report.Aggressive, Risk: "high"},
		}, []Reach{
			{Memory: memoryShare / 2, PerCore: 1, Waiting: 1},
			{Memory: memoryShare, PerCore: 1, Waiting: waiting, Prefetches: []int{2, 4, 8}},
			{Memory: (1 + memoryShare) / 2, PerCore: waiting, Waiting: 2 * waiting, Prefetches: []int{2, 4, 8, 16},
				Unordered: unordered},
		}
}

// Plans makes the three plans, of which each makes the changes of the one before it, to the same values, and further
// ones; unordered says that this PyTorch knows in_order, and ruledOut which settings must not be planned, nil: none.
// False where nothing can be predicted.
func (f *Forecaster) Plans(unordered bool, ruledOut func(Setting) bool) (Plans, bool) {
	now, ok := f.Forecast(f.pipeline.Setting, Remedy{})
	if !ok {
		return Plans{}, false
	}
	out := Plans{Outcome: report.OutcomeNothing, Now: now, Headroom: f.headroom(now)}
	last, target := 0.0, now.Setting
	plans, reaches := tiers(unordered)
	for i, plan := range plans {
		r := reaches[i]
		r.RuledOut = ruledOut
		if plan.Name == report.Aggressive {
			r.RuledOut = func(set Setting) bool {
				return ruledOut != nil && ruledOut(set) || !slices.Equal(values(now.Setting, target, set),
					values(now.Setting, target, target))
			}
		}
		if !f.pipeline.Fetch.Measured() {
			r.Prefetches = nil // what depth brings follows from how batches vary, and that was not measured
		}
		found, ok := f.search(r, f.asMeasured())
		last = max(last, found.Now.Rate)
		if !ok || found.Chosen.Setting == now.Setting || found.Chosen.Rate < last/enough {
			continue // no more than what is had without it
		}
		last, target, plan.Clamp = found.Chosen.Rate, found.Chosen.Setting, found.Clamp
		if plan.Name == report.Moderate {
			cautious := reaches[0]
			cautious.RuledOut = ruledOut
			out.Plans = f.cautious(now, target, cautious)
		}
		plan.Changes = f.steps(now, target)
		plan.After = plan.Changes[len(plan.Changes)-1].Then
		out.Plans = append(out.Plans, plan)
		out.Outcome = report.OutcomeWorthwhile
	}
	if out.Outcome == report.OutcomeNothing && f.stepBound(now) {
		out.Outcome = report.OutcomeStep
	}
	return out, true
}

// cautious is the conservative plan, if there is one, beside a moderate one that leads to a setting: those of its
// changes that are within reach.
func (f *Forecaster) cautious(now Forecast, target Setting, r Reach) []Plan {
	set := now.Setting
	for _, k := range []Knob{NumWorkers, PersistentWorkers} {
		if slices.Contains(changes(now.Setting, target), k) {
			set = k.set(set, target)
		}
	}
	part, ok := f.Point(set, Remedy{})
	if !ok || set == now.Setting || !f.pipeline.allows(set, r) || part.Rate < now.Rate/enough {
		return nil
	}
	steps := f.steps(now, set)
	return []Plan{{Name: report.Conservative, Risk: "low", Changes: steps, After: steps[len(steps)-1].Then}}
}

// values are what a setting has for each knob that leads from one setting to another.
func values(from, to, of Setting) (out []string) {
	for _, k := range changes(from, to) {
		out = append(out, k.Value(of.plain()))
	}
	return out
}

// stepBound reports that the trainer hardly waits for more than taking a batch that is ready.
func (f *Forecaster) stepBound(now Forecast) bool {
	if !now.Limit.OfStep() || now.Setting.Workers == 0 {
		return false
	}
	p := f.pipeline
	taking := p.Dispatch
	if !p.Pin {
		taking += p.Receive
	}
	return now.Steady*(p.FreeStep.Center+taking) >= enough
}

// headroom is what the loader gives to a trainer that takes no time, over the present rate.
func (f *Forecaster) headroom(now Forecast) float64 {
	always := Forecaster{pipeline: f.pipeline} // and not only between pauses
	always.pipeline.Pause = Pause{}
	at := always.pipeline.center()
	at.step, at.trainer = 0, 0
	out, _ := always.run(at, now.Setting, f.long, f.options.Steps)
	return out.Steady / now.Steady
}

// steps orders the changes that lead to a setting: at each point the one that brings most.
func (f *Forecaster) steps(now Forecast, target Setting) (out []Change) {
	at := now
	for left := changes(now.Setting, target); len(left) > 0; {
		best, which := Forecast{}, 0
		for i, k := range left {
			if one, ok := f.Point(k.set(at.Setting, target), Remedy{}); ok && one.Rate > best.Rate {
				best, which = one, i
			}
		}
		change := Change{Knob: left[which]}
		change.Alone, _ = f.Forecast(change.Knob.set(now.Setting, target), Remedy{})
		change.Then, _ = f.Forecast(change.Knob.set(at.Setting, target), Remedy{})
		left, at = slices.Delete(left, which, which+1), change.Then
		out = append(out, change)
	}
	return out
}
