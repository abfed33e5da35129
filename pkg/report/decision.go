package report

import (
	"cmp"
	"slices"
	"strconv"
)

// Decision is what a report comes to for one setting: change it to a value, leave it, or not known. There is one for
// each setting that a finding or a plan speaks of; findings, plans, the patch and comparisons name no other value.
// Since 1.6.0.
type Decision struct {
	// of a decision to leave a setting: its name, its present value where that is known, and why
	Recommendation
	Outcome string `json:"outcome"` // one of DecisionOutcomes
	// the findings it answers, the weightiest first; none: a plan alone asks for it
	Rules []string `json:"rules,omitempty"`
	// what is to be looked at before it is followed; "": it may be followed as it stands
	Hold string `json:"hold,omitempty"`
}

// What a report comes to for a setting.
const (
	ToChange = "change"
	ToLeave  = "leave"
	NotKnown = "unknown" // nothing was concluded: the value is what may help
)

// DecisionOutcomes lists these words.
var DecisionOutcomes = []string{ToChange, ToLeave, NotKnown}

// Why a change is not to be followed as it stands.
const (
	HoldCostsNothing = "what it mends takes no time now"
	HoldTooLittle    = "it is predicted to bring less than 3 %"
	HoldFurther      = "it reaches further than what is recommended"
	HoldInstead      = "a change that comes before it goes without it"
	HoldIterable     = "the dataset is iterable: each worker goes over all of it unless its own code takes a share"
)

// NeedWorkers are the settings of a DataLoader that PyTorch refuses without workers.
var NeedWorkers = []string{"prefetch_factor", "persistent_workers", "multiprocessing_context"}

// Decided are the report's decisions, and where it holds none, as before 1.6.0, what its findings and plans amount to:
// what the recommended plan changes is changed to the plan's value; of other settings the first finding that recommends
// a value has its way, with the value of a further plan that names one; what only such a plan changes is held; what
// findings rule out and nothing changes is left.
func (r *Report) Decided() []Decision {
	if r.Decisions != nil {
		return r.Decisions
	}
	var out []Decision
	outcome := ToChange
	if r.Verdict != nil && r.Verdict.Class == Inconclusive {
		outcome = NotKnown
	}
	settle := func(d Decision, rule string) {
		i := slices.IndexFunc(out, func(x Decision) bool { return x.Setting == d.Setting })
		if i < 0 {
			i, out = len(out), append(out, d)
		}
		if rule != "" && !slices.Contains(out[i].Rules, rule) && (out[i].Outcome != ToLeave || d.Outcome == ToLeave) {
			out[i].Rules = append(out[i].Rules, rule)
		}
	}
	planned := r.planned()
	for _, f := range r.Findings {
		for _, c := range f.Recommendations {
			d := Decision{Recommendation: c, Outcome: outcome}
			i := slices.IndexFunc(planned, func(p Decision) bool { return p.Setting == c.Setting })
			if i >= 0 && planned[i].To != c.To {
				d = planned[i]
			}
			d.Hold = ""
			switch { // who asks for a change is a plan that is recommended, or the finding
			case i >= 0 && planned[i].Hold == "":
			case f.Severity == Info:
				d.Hold = HoldCostsNothing
			case !d.Effect.Worthwhile():
				d.Hold = HoldTooLittle
			}
			settle(d, f.Rule)
		}
	}
	for _, d := range planned {
		settle(d, "")
	}
	for _, f := range r.Findings {
		for _, u := range f.Unhelpful {
			if u.Within == "" {
				settle(Decision{Recommendation: Recommendation{Setting: u.Setting, From: r.present(u.Setting),
					Why: u.Why}, Outcome: ToLeave}, f.Rule)
			}
		}
	}
	withoutWorkers(out)
	if r.Unshared(out) {
		for i, d := range out {
			if d.Outcome == ToChange && slices.Contains(Simulated, d.Setting) {
				out[i].Hold = HoldIterable
			}
		}
	}
	return out
}

// withoutWorkers holds what cannot be made along with a change that comes before it: without workers PyTorch refuses
// persistent_workers and prefetch_factor.
func withoutWorkers(list []Decision) {
	needs := func(d Decision) bool { return slices.Contains(NeedWorkers, d.Setting) && d.To != "False" }
	first := ""
	for i, d := range list {
		none := d.Setting == "num_workers" && d.To == "0"
		if d.Outcome == ToLeave || d.Hold != "" || !none && !needs(d) {
			continue
		}
		kind := map[bool]string{true: "none", false: "some"}[none]
		if first = cmp.Or(first, kind); kind != first {
			list[i].Hold = HoldInstead
		}
	}
}

// planned are the changes of all plans, those of the recommended one first; the others are held.
func (r *Report) planned() (out []Decision) {
	take := func(p *Plan, hold string) {
		for _, c := range p.Changes {
			if !slices.ContainsFunc(out, func(d Decision) bool { return d.Setting == c.Setting }) {
				out = append(out, Decision{Recommendation: c, Outcome: ToChange, Hold: hold})
			}
		}
	}
	recommended := r.Recommended()
	if recommended != nil {
		take(recommended, "")
	}
	for i := range r.Plans {
		if &r.Plans[i] != recommended {
			take(&r.Plans[i], HoldFurther)
		}
	}
	return out
}

// Unshared reports whether an iterable dataset is to have several workers that has none or one: nothing then shows
// whether its code shares the data out between them, and if it does not, training sees every sample once for each. One
// whose shards are known does.
func (r *Report) Unshared(list []Decision) bool {
	l := r.DataLoader()
	if !l.Iterable || l.Shards != nil {
		return false
	}
	return slices.ContainsFunc(list, func(d Decision) bool {
		now := l.Argument("num_workers")
		if d.From != nil {
			now = *d.From
		}
		to, err := strconv.Atoi(d.To)
		return d.Setting == "num_workers" && d.Outcome == ToChange && err == nil && to > 1 && (now == "0" || now == "1")
	})
}

// Ready are the changes that may be followed as they stand.
func (r *Report) Ready() (out []Decision) {
	for _, d := range r.Decided() {
		if d.Outcome == ToChange && d.Hold == "" {
			out = append(out, d)
		}
	}
	return out
}

// Decision is what the report comes to for a setting; nil where it says nothing of it.
func (r *Report) Decision(setting string) *Decision {
	list := r.Decided()
	i := slices.IndexFunc(list, func(d Decision) bool { return d.Setting == setting })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// present is the number a setting was seen to have; nil where it was not seen, or is none.
func (r *Report) present(setting string) *string {
	n := r.DataLoader().counts()[setting]
	if n == nil {
		return nil
	}
	return new(strconv.Itoa(*n))
}
