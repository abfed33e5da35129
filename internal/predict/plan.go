package predict

import (
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// Knob is one setting of a DataLoader, spelled as PyTorch spells it.
type Knob string

// The knobs.
const (
	NumWorkers        Knob = "num_workers"
	PrefetchFactor    Knob = "prefetch_factor"
	PersistentWorkers Knob = "persistent_workers"
	Context           Knob = "multiprocessing_context"
	InOrder           Knob = "in_order"
)

// Knobs lists them.
var Knobs = []Knob{NumWorkers, PrefetchFactor, PersistentWorkers, Context, InOrder}

// Value is what a knob is set to, as Python writes it.
func (k Knob) Value(s Setting) string {
	truth := map[bool]string{true: "True", false: "False"}
	switch k {
	case NumWorkers:
		return strconv.Itoa(s.Workers)
	case PrefetchFactor:
		return strconv.Itoa(s.Prefetch)
	case PersistentWorkers:
		return truth[s.Persistent]
	case Context:
		return string(s.Start)
	}
	return truth[!s.Unordered]
}

// Turn sets a knob to a value as Python writes it; false, with nothing turned, where it cannot have that value.
func (k Knob) Turn(s Setting, value string) (Setting, bool) {
	n, err := strconv.Atoi(value)
	truth := value == "True" || value == "False"
	switch {
	case k == NumWorkers && err == nil && n >= 0:
		s.Workers = n
	case k == PrefetchFactor && err == nil && n > 0:
		s.Prefetch = n
	case k == PersistentWorkers && truth:
		s.Persistent = value == "True"
	case k == InOrder && truth:
		s.Unordered = value == "False"
	case k == Context:
		s.Start = StartMethod(value)
	default:
		return s, false
	}
	return s, true
}

// set changes one knob of a setting to what it is in another. From no workers to some they start as the other says.
func (k Knob) set(s, to Setting) Setting {
	s, _ = k.Turn(s, k.Value(to))
	if k == NumWorkers && s.Start == UnknownStart {
		s.Start = to.Start
	}
	return s.plain()
}

// changes are the knobs that lead from one setting to another. From no workers to some, PyTorch's default of prefetch_factor and the way
// to start them are no changes of their own; to none, all else loses its meaning.
func changes(from, to Setting) []Knob {
	from, to = from.plain(), to.plain()
	if from.Workers == 0 {
		from.Prefetch, from.Start = DefaultPrefetch, to.Start
	}
	return slices.DeleteFunc(slices.Clone(Knobs), func(k Knob) bool {
		return k.Value(from) == k.Value(to) || to.Workers == 0 && k != NumWorkers
	})
}

// Change is one knob turned, and what that brings.
type Change struct {
	Knob  Knob
	Alone Forecast     // this change and no other
	Gain  stat.Summary // of it alone: how many times as fast as now
	Then  Forecast     // after this and all changes before it
	Extra Memory       // of this change on top of those before it; below zero where it frees memory
	Risk  string       // what can go wrong
	Watch string       // what to look at after the change
}

// Plan is a set of changes, in the order of what each brings.
type Plan struct {
	Name    string
	Risk    string       // how much of what was not measured it relies on: low, medium or high
	Changes []Change     // none: nothing within this plan's reach is worth changing
	After   Forecast     // with all of them
	Gain    stat.Summary // how many times as fast as now
	Extra   Memory
	Clamp   Clamp // what kept num_workers from being larger, where larger would have helped
}

// Plans are what to do about a loader's settings.
type Plans struct {
	Outcome  string // one of report.Outcomes
	Now      Forecast
	Plans    []Plan  // conservative, moderate, aggressive; one that comes to the same as the one before it is left out
	Headroom float64 // what the loader would give to a step of no time, over the present rate; 0 = unknown
}

// tier is a plan before it is made.
type tier struct {
	name  string
	risk  string
	reach Reach
}

// tiers returns the three plans' reaches. One worker per usable core is the number above which PyTorch warns; half of
// the available memory is what tf.data's autotuner takes; a quarter and three quarters of it are choices on either
// side of that. in_order=False changes the order of training and is aggressive for that, not for its cost.
func tiers(unordered bool) []tier {
	return []tier{
		{report.Conservative, "low", Reach{Memory: memoryShare / 2, PerCore: 1, Waiting: 1}},
		{report.Moderate, "medium", Reach{Memory: memoryShare, PerCore: 1, Waiting: waiting,
			Prefetches: []int{2, 4, 8}, Start: true}},
		{report.Aggressive, "high", Reach{Memory: (1 + memoryShare) / 2, PerCore: waiting, Waiting: 2 * waiting,
			Prefetches: []int{2, 4, 8, 16}, Start: true, Unordered: unordered}},
	}
}

// Plans makes the three plans; unordered says that this PyTorch knows in_order, and ruledOut which settings must not
// be planned, nil: none. False where nothing can be predicted.
func (f *Forecaster) Plans(unordered bool, ruledOut func(Setting) bool) (Plans, bool) {
	now, ok := f.Forecast(f.pipeline.Setting)
	if !ok {
		return Plans{}, false
	}
	out := Plans{Outcome: report.OutcomeNothing, Now: now, Headroom: f.headroom(now)}
	last := 0.0
	for _, a := range tiers(unordered) {
		a.reach.RuledOut = ruledOut
		if !f.pipeline.Fetch.Measured() {
			a.reach.Prefetches = nil // what depth brings follows from how batches vary, and that was not measured
		}
		found, ok := f.Search(a.reach)
		last = max(last, found.Now.Rate)
		if !ok || found.Chosen.Setting == now.Setting || found.Chosen.Rate < last/enough {
			continue // no more than what is had without it
		}
		plan := f.plan(a, now, found)
		last = found.Chosen.Rate
		out.Plans = append(out.Plans, plan)
		out.Outcome = report.OutcomeWorthwhile
	}
	if out.Outcome == report.OutcomeNothing && f.stepBound(now) {
		out.Outcome = report.OutcomeStep
	}
	return out, true
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
	c, ok := always.pipeline.costs(at, now.Setting)
	if !ok || now.Rate <= 0 || c.cpu+c.storage+c.other+c.handover+c.receive+c.dispatch <= 0 {
		return 0
	}
	return always.simulate(c, at, now.Setting, f.long, f.options.Steps).Steady / now.Steady
}

// plan orders the changes that lead to a setting: at each point the one that brings most.
func (f *Forecaster) plan(a tier, now Forecast, found Found) Plan {
	target := found.Chosen.Setting
	plan := Plan{Name: a.name, Risk: a.risk, Clamp: found.Clamp}
	at := now
	for left := changes(now.Setting, target); len(left) > 0; {
		best, which := Forecast{}, 0
		for i, k := range left {
			if one, ok := f.Point(k.set(at.Setting, target), Remedy{}); ok && one.Rate > best.Rate {
				best, which = one, i
			}
		}
		knob := left[which]
		left = slices.Delete(left, which, which+1)
		change := Change{Knob: knob, Risk: f.risk(knob), Watch: watches[knob]}
		change.Alone, _ = f.Forecast(knob.set(now.Setting, target))
		change.Gain = f.Gain(now, change.Alone)
		change.Then, _ = f.Forecast(knob.set(at.Setting, target))
		change.Extra = f.extra(at.Setting, change.Then.Setting)
		at = change.Then
		plan.Changes = append(plan.Changes, change)
	}
	plan.After, plan.Gain, plan.Extra = at, f.Gain(now, at), f.extra(now.Setting, at.Setting)
	return plan
}

// extra is what one setting takes beyond another.
func (f *Forecaster) extra(from, to Setting) Memory {
	a, b := f.pipeline.Memory(from), f.pipeline.Memory(to)
	return Memory{Workers: b.Workers - a.Workers, Shm: b.Shm - a.Shm, Pinned: b.Pinned - a.Pinned}
}

// risk is what can go wrong with a change.
func (f *Forecaster) risk(knob Knob) string {
	if knob == PrefetchFactor && f.pipeline.Pause.there() {
		return "finished batches fill /dev/shm; with order kept, depth evens out how batches vary and holds more of what is made while training pauses, and does not raise the mean else"
	}
	return risks[knob]
}

var risks = map[Knob]string{
	NumWorkers:        "each worker is a process with a copy of what the dataset holds in Python objects; a dataset that keeps an open file or a random state from before the start needs a worker_init_fn",
	PrefetchFactor:    "finished batches fill /dev/shm; with order kept, depth only evens out how batches vary and does not raise the mean",
	PersistentWorkers: "the dataset's state lives on from epoch to epoch: changes made to it in the trainer between epochs no longer reach the workers",
	Context:           "spawn and forkserver need a dataset that can be pickled and a main guard; fork is unsafe once the trainer runs threads or has used CUDA in ways the workers use too",
	InOrder:           "the order of batches depends on their timing, so a run can no longer be repeated exactly, and slow samples come later than their turn",
}

var watches = map[Knob]string{
	NumWorkers:        "the workers' CPU and memory, the run queue, and whether storage gets slower as more of them read",
	PrefetchFactor:    "free space in /dev/shm",
	PersistentWorkers: "the workers' memory from epoch to epoch",
	Context:           "the time to the first batch of an epoch",
	InOrder:           "the loss, against a run with order kept",
}
