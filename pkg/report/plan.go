package report

import (
	"cmp"
	"slices"
)

// Plan is a set of changes of the loader's settings with a risk. Plans make more or fewer of the same changes: no two
// name different values.
type Plan struct {
	Name    string           `json:"name"`    // one of PlanNames
	Risk    string           `json:"risk"`    // "low", "medium", "high"
	Changes []Recommendation `json:"changes"` // what brings most first; the effect of each is that of it alone
	Effect  *Effect          `json:"effect"`  // of all of them together
	Check   string           `json:"check"`   // the command that checks it

	// Since 1.2.0. Times and shares are those the model expects with all of the changes.
	StepTimeS      *float64 `json:"step_time_s,omitempty"`
	EpochTimeS     *float64 `json:"epoch_time_s,omitempty"`                 // null: the length of an epoch is not known
	InputWaitRatio *float64 `json:"input_wait_ratio,omitempty" share:"yes"` // then
	// of all trainers that were watched; below 0: that much less; null: not known
	ExtraMemoryBytes *int64 `json:"extra_memory_bytes,omitempty"`
	ExtraShmBytes    *int64 `json:"extra_shm_bytes,omitempty"` // of it in /dev/shm
	Next             string `json:"next_limit,omitempty"`      // what would limit after the effect's limit
	Clamp            string `json:"clamp,omitempty"`           // what allows no more workers, where more would help
}

// The names of plans, each reaching further than the one before.
const (
	Conservative = "conservative"
	Moderate     = "moderate"
	Aggressive   = "aggressive"
)

// PlanNames lists them.
var PlanNames = []string{Conservative, Moderate, Aggressive}

// Outlook is what a simulation of the loader says of its settings: whether a change is worth it, and what limits. Since
// 1.2.0.
type Outlook struct {
	Outcome   string `json:"outcome"`   // one of Outcomes
	Statement string `json:"statement"` // the same in a sentence or two
	// what the model makes of the settings as they are, before: what was seen
	Now   *Effect `json:"now"`
	Limit string  `json:"limit,omitempty"`      // what limits now
	Next  string  `json:"next_limit,omitempty"` // what would limit then
	// how many times the present rate the loader alone would give; null: not known
	Headroom   *float64 `json:"headroom_times"`
	Confidence float64  `json:"confidence" share:"yes"` // of the intervals of the plans, 0..1
	// where the model's own error was measured, which the intervals then hold; "": nowhere
	Calibrated string   `json:"calibrated,omitempty"`
	Assumed    []string `json:"assumed,omitempty"` // inputs that were not measured in this watch
	First      string   `json:"first,omitempty"`   // the rule whose finding comes before any setting
}

// What a simulation of the loader comes to.
const (
	OutcomeWorthwhile = "worthwhile" // a plan brings more than it costs attention
	OutcomeNothing    = "nothing"    // no setting within reach brings 3 %
	OutcomeStep       = "step"       // nothing, because the training step is the limit
)

// Outcomes lists these words.
var Outcomes = []string{OutcomeWorthwhile, OutcomeNothing, OutcomeStep}

// Recommended is the plan to follow where nobody says otherwise: the moderate one, or the conservative one where that
// reaches as far. It is nil where neither is there.
func (r *Report) Recommended() *Plan {
	for _, name := range []string{Moderate, Conservative} {
		if i := slices.IndexFunc(r.Plans, func(p Plan) bool { return p.Name == name }); i >= 0 {
			return &r.Plans[i]
		}
	}
	return nil
}

// Simulated are the settings that plans are about.
var Simulated = []string{"num_workers", "prefetch_factor", "persistent_workers", "multiprocessing_context", "in_order"}

// WorthChange is how many times as fast as now a change must make a job, at the likely figure, before it is advised:
// what lies below is within 3 % of what there is, which is also how close to the best the smallest setting of a plan
// lies. TraceML's compare policy calls a change of a step's time by 3 % moderate.
const WorthChange = 1 / 0.97

// Worthwhile reports whether an effect is one to advise a change for. One that was not predicted (nil) is not held
// against it.
func (e *Effect) Worthwhile() bool { return e == nil || e.After >= WorthChange*e.Before }

// RuledOut is what a finding says against a change of a setting; nil where none does.
func (r *Report) RuledOut(setting string, from *string, to string) *Unhelpful {
	now := ""
	if from = cmp.Or(from, r.present(setting)); from != nil {
		now = *from
	}
	for i := range r.Findings {
		for j, u := range r.Findings[i].Unhelpful {
			if u.Within == "" && u.Covers(setting, now, to) {
				return &r.Findings[i].Unhelpful[j]
			}
		}
	}
	return nil
}
