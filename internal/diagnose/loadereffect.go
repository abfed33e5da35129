package diagnose

import (
	"fmt"
	"math"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// mostMisfit is by what factor the model's rate at the settings as they are may differ from the one that was seen.
// Beyond it something that the model does not know of holds the loader, and what it says of other settings is worth
// nothing.
const mostMisfit = 1.25

// Predict returns what the model expects of a setting with a remedy, and the same as an effect on what was seen;
// false where it cannot tell.
func (l *Loader) Predict(set predict.Setting, r predict.Remedy) (predict.Forecast, *report.Effect, bool) {
	to, ok := l.forecaster.Forecast(set, r)
	if !ok {
		return to, nil, false
	}
	effect := l.effect(to, true)
	return to, effect, effect != nil
}

// WithWorkers is the effect of another num_workers, changed along with other settings; nil where it is unknown.
func (l *Loader) WithWorkers(n int, with ...report.Value) *report.Effect {
	set := l.Setting
	set.Workers = n
	_, effect, _ := l.Predict(l.along(set, with), predict.Remedy{})
	return effect
}

// SteadyGain is the part of the time between the starts of workers that another num_workers would save, 0..1: the
// mean of what it saves beside other programs and of what it saves alone, for they pass and the setting stays.
func (l *Loader) SteadyGain(n int) float64 {
	set, sum := l.Setting, 0.0
	set.Workers = n
	for _, r := range []predict.Remedy{{}, {Cores: l.CPUs.Center}} {
		if to, ok := l.forecaster.Point(set, r); ok && to.Steady > 0 {
			sum += stat.Share(1 - l.present.Steady/to.Steady)
		}
	}
	return sum / 2
}

// Target is the CPU time per batch, in seconds, at which the cores that the job can count on keep up with the step: the
// most of which a smaller one would be worth no change; 0 where none does.
func (l *Loader) Target() float64 {
	rate := func(saved float64) float64 {
		f, ok := l.forecaster.Point(l.Setting, predict.Remedy{Saved: saved})
		if !ok {
			return 0
		}
		return f.Rate
	}
	enough := rate(1) / report.WorthChange
	if !(enough > 0) {
		return 0
	}
	short, cut := 0.0, 1.0
	for range targetSteps {
		if at := (short + cut) / 2; rate(at) >= enough {
			cut = at
		} else {
			short = at
		}
	}
	return l.CPU.Center * (1 - cut)
}

// targetSteps halve a batch's cost so often: 1.6 % of it is as exact as it is known.
const targetSteps = 6

// With is the effect of a remedy, the settings staying as they are; nil where it is unknown.
func (l *Loader) With(r predict.Remedy) *report.Effect {
	_, effect, _ := l.Predict(l.Setting, r)
	return effect
}

// Saving is the effect of saving between lo and hi of what a batch costs, 0..1, which is as closely as it can be said;
// unthrottled where the change raises the limit on reading, or reads from elsewhere.
func (l *Loader) Saving(lo, hi float64, unthrottled bool) *report.Effect {
	r := predict.Saving(stat.Share(lo), stat.Share(max(hi, lo)))
	r.Unthrottled = unthrottled
	return l.With(r)
}

// OntoDevice is the effect of moving up to part of a batch's CPU time, 0..1, from the loader to the device, which takes
// up to each second for a second of it. How much can be moved is not known, nor what it takes there: where the device
// is near its limit, that may be a loss.
func (l *Loader) OntoDevice(part, each float64) *report.Effect {
	out := l.Saving(0, part, false)
	slower := *l
	slower.FreeStep.Center += part * each * l.CPU.Center
	if out == nil || !slower.simulate() {
		return nil
	}
	all, ok := slower.forecaster.Point(l.Setting, predict.Remedy{Saved: part})
	if !ok {
		return nil
	}
	out.Lo = out.Before * min(all.Rate/l.present.Rate, 1) // where next to nothing moves, next to nothing changes
	return out
}

// AloneGain is the part of the time that so many usable cores for the job alone would save, 0..1.
func (l *Loader) AloneGain(usable float64) float64 {
	to, ok := l.forecaster.Point(l.Setting, predict.Remedy{Cores: usable / l.ranks})
	if !ok {
		return 0
	}
	return stat.Share(1 - l.present.Rate/to.Rate)
}

// Alone is the effect of so many usable cores for the job alone; its ranks share them.
func (l *Loader) Alone(usable float64) *report.Effect {
	return l.With(predict.Remedy{Cores: usable / l.ranks})
}

// Needed is the smallest num_workers that comes within 3 % of the best that is feasible here.
type Needed struct {
	Workers int
	Clamp   predict.Clamp // what kept it from being more; NoClamp where more would not help
	Limit   predict.Term  // what limits with so many
}

// WorkersNeeded chooses num_workers by what workers give that live on from epoch to epoch: what starting them costs
// is another matter; anyShm says to take /dev/shm for large enough. False where nothing can be predicted.
func (l *Loader) WorkersNeeded(anyShm bool) (Needed, bool) {
	set := l.Setting
	set.Persistent = set.Persistent || !l.Anew
	found, ok := l.forecaster.WorkersNeeded(set, anyShm)
	return Needed{found.Chosen.Setting.Workers, found.Clamp, found.Chosen.Limit}, ok
}

// Unsharded is the model of the same loader over a dataset in as many shards as there may be workers.
func (l *Loader) Unsharded() *Loader {
	free := *l
	free.Shards = 0
	free.simulate()
	return &free
}

// MostStarved is the model of the same loader beside the shortest step that what was seen allows; false where the
// device was seen, and the likely step stands.
func (l *Loader) MostStarved(e *evidence.Evidence) (*Loader, bool) {
	if !DeviceUnseen(e) || !l.StepRange || l.FreeStep.Lo <= 0 {
		return nil, false
	}
	quick := *l
	quick.FreeStep, quick.StepRange = stat.Exact(l.FreeStep.Lo), false
	quick.Seen.FreeStep = quick.FreeStep
	return &quick, quick.simulate()
}

// KeepsUp returns the fewest workers, from one to most, with which the loader is as fast as it is, to within the 3 %
// that are worth a change, and at least one more than the mean of a batch needs; false where there is no such number,
// or the model does not fit.
func (l *Loader) KeepsUp(most int) (int, bool) {
	if !l.fits() {
		return 0, false
	}
	return l.forecaster.KeepsUp(most)
}

// misfit is by what factor the model's rate at the settings as they are differs from the one that was seen, at least
// 1. Where the step is known as a range, any of the rates that this allows will do.
func (l *Loader) misfit() float64 {
	seen := l.Now.Center / l.PerBatch
	if seen <= 0 || l.present.Least <= 0 {
		return math.Inf(1)
	}
	return max(seen/l.present.Most, l.present.Least/seen, 1)
}

// misses says what the model makes of the loader as it is, where it does not fit.
func (l *Loader) misses() string {
	return fmt.Sprintf("the model makes %s %s of the loader as it is, where %s were seen: something that it does not "+
		"know of is at work", unit.Number(l.present.Rate*l.PerBatch), noun(l.Metric), unit.Number(l.Now.Center))
}

// around widens a promise of a model that does not fit: what it does not know of may take its part of a batch with the
// new setting too, as the gain over what was seen has it, or stay as long as it is, or be gone with what is changed.
func (l *Loader) around(to predict.Forecast, lo, hi float64) (float64, float64) {
	seen, whole := l.Now.Center/l.PerBatch, to.StepsPerS.Scaled(l.PerBatch)
	if beyond := 1/seen - 1/l.present.Rate; beyond > 0 {
		return min(lo, l.PerBatch/(1/to.Rate+beyond)), max(hi, whole.Hi)
	}
	return min(lo, whole.Lo), hi
}

func (l *Loader) fits() bool { return l.misfit() <= mostMisfit }

// slower reports that the model makes too few batches of the loader as it is.
func (l *Loader) slower() bool { return !l.fits() && l.present.Most < l.Now.Center/l.PerBatch }

// contended reports whether a setting with more workers than now can only get on with CPU time that other programs
// use. Whether it gets any of that is not the job's to decide: the kernel shares between groups of processes first
// (cgroups, and a group for each session: sched(7), "The autogroup feature"), and a worker more adds nothing to its
// group's share. Then there is no gain, and what more workers cost is within the model's own error.
func (l *Loader) contended(to predict.Forecast) bool {
	if l.Others < leastOthers || l.left <= 0 || to.Remedy.Cores > 0 || to.Setting.Workers <= max(l.Setting.Workers, 0) {
		return false
	}
	// what spins waits for the device
	needs := to.Rate * (l.CPU.Center + max(l.TrainerCPU.Center-l.Spin, 0)) * (1 - to.PauseShare)
	if to.PauseShare > 0 {
		needs += to.PauseShare * l.Pause.CPU / l.Pause.Length
	}
	return needs > l.left
}

// byGroup is the reason, for the person.
const byGroup = "other programs use the CPU time that it needs, and the kernel shares CPUs by group of processes " +
	"(sched(7)): more workers may get none of it, and then bring nothing"

// effect says a forecast in the job's own unit. The model gives it in two ways: the rate itself, and how many times
// as fast as now that is, applied to what was seen. The interval is the narrower one with room for both figures, and,
// where others may go, up to what would be without other programs; it ends where the inputs' best ends do.
func (l *Loader) effect(to predict.Forecast, othersMayGo bool) *report.Effect {
	now, rate := l.Now.Center, to.StepsPerS.Scaled(l.PerBatch)
	before, _ := l.forecaster.Forecast(l.present.Setting, predict.Remedy{}) // there is one without an interval
	gained := l.forecaster.Gain(before, to).Scaled(now)
	if !l.fits() || l.StepRange || l.Lock.N > 0 { // then the model's own rate says nothing, or less than what was seen
		rate = gained
	}
	lo, hi := rate.Lo, rate.Hi
	if gained.Hi-gained.Lo < hi-lo { // what both settings have in common cancels in the gain
		lo, hi = gained.Lo, gained.Hi
	}
	lo, hi = min(lo, rate.Center, gained.Center), max(hi, rate.Center, gained.Center)
	if !l.fits() {
		lo, hi = l.around(to, lo, hi)
	}
	if l.Lock.N > 0 { // workers that take turns in step are faster now than the model's, and then gain less
		lo = min(lo, to.Least*l.PerBatch)
	}
	if othersMayGo && l.Others >= leastOthers && to.Remedy.Cores == 0 {
		alone := to.Remedy
		// an upper edge: how much of the variation is theirs cannot be determined
		alone.Cores, alone.Even = l.CPUs.Center, true
		if gone, ok := l.forecaster.Point(to.Setting, alone); ok { // they come and go
			hi = max(hi, gone.Rate*l.PerBatch)
		}
	}
	if l.contended(to) {
		lo = min(lo, now/(1+l.error.Of(to.Exposure)))
	}
	after := math.Sqrt(rate.Center * gained.Center)
	if len(to.Bounds) > 0 {
		after = min(after, to.Bounds[0].Rate*l.PerBatch)
	}
	// the bound is of the costs of this run, and another one's differ
	most := l.forecaster.Cap(to.Setting, to.Remedy) * l.PerBatch * (1 + stat.RunSpread)
	if l.noWait > 0 && to.Remedy.Cores == 0 { // what is told to be had with free data; other programs stay
		most = min(most, l.noWait*l.PerBatch)
	}
	if !l.fits() {
		most = max(most, now) // what was seen is possible, whatever the model makes of it
	}
	hi = min(hi, most)
	lo = min(lo, hi)
	after = min(max(after, lo), hi)
	if to.Remedy != (predict.Remedy{}) && to.Setting == l.present.Setting { // what only costs less is no slower
		after, hi = max(after, now), max(hi, now)
	}
	out := &report.Effect{Metric: l.Metric, Unit: l.Unit, Before: now, After: after, Lo: lo, Hi: hi,
		Basis: report.Modelled, Limit: limitText[to.Limit]}
	if !stat.Finite(out.Before, out.After, out.Lo, out.Hi) {
		return nil
	}
	return out
}

// limitText says what bounds a prediction.
var limitText = map[predict.Term]string{
	predict.Step:    "the training step itself",
	predict.Device:  "the device",
	predict.Copy:    "copies to the device",
	predict.Workers: "the workers",
	predict.CPUs:    "the usable CPUs",
	predict.Storage: "the storage limit",
	predict.Lock:    "a lock that the workers share",
	predict.Serial:  "loading and training one after the other",
}
