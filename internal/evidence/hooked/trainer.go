// Package hooked is what the hook reported from inside a launched job, over the windows of its watch: which loops a
// trainer went over, how long each of their parts took, and what their epochs were like.
//
// It promises that a total belongs to the time before the moment it holds for, whenever it was told. It derives no
// signal.
package hooked

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// Trainer is what the hook reported on one trainer over the windows.
type Trainer struct {
	w       *watched.Watch
	process *watched.Process
	clock   *hookClock
	// gradients enabled, most time; where none has any, just most time; of several in each step, most wait
	Training    *Loop
	Partners    []*Loop         // of sources, those gone over in each step of training, as in zip
	Evaluations []*Loop         // no gradients, while training stands still
	Sources     []*Loop         // others with gradients, or all others where none has any
	Epochs      []watched.Epoch // of training, in order of their beginning
	Reported    []float64       // seconds of each window that are reported
	Evaluated   []float64       // of those, in evaluations
	earlier     bool            // the call of the training loop made loaders before those of the window
	made        int             // loaders that this call made in all
	again       int             // epochs of theirs that were not the first of their loader
}

// Trained is how long of each window the trainer did not evaluate: what shares and rates of the training loop are of.
func (h *Trainer) Trained() []float64 { return stat.Beyond(h.Reported, h.Evaluated) }

// Waits is how long training stood still for data.
func (h *Trainer) Waits() []float64 {
	return h.Over(append([]*Loop{h.Training}, h.Sources...), (*Loop).Waits)
}

// All returns every loop gone over in the window, training first.
func (h *Trainer) All() []*Loop {
	return slices.Concat([]*Loop{h.Training}, h.Evaluations, h.Sources)
}

// Over adds a signal up over loops.
func (h *Trainer) Over(loops []*Loop, of func(*Loop) []float64) []float64 {
	out := make([]float64, len(h.Reported))
	for _, l := range loops {
		stat.Add(out, of(l))
	}
	return out
}

// Read gathers what the hook reported on a trainer; nil where it reported nothing, or too little to stand for the
// window: then it is thin, and reported is for how many seconds it did.
func Read(w *watched.Watch, a *watched.Process) (h *Trainer, reported float64, thin bool) {
	clock, entities := readHookClock(w, a), w.Loops(a)
	if clock == nil || len(entities) == 0 {
		return nil, 0, false
	}
	for _, e := range w.EpochsOf[entities[0]] {
		if e.Number == 0 && strings.HasSuffix(entities[0], ".0") { // the very first
			clock.begunAt(e.Begun)
		}
	}
	if reported, ok := clock.covers(w.Steady, w.Spans); !ok {
		return nil, reported, reported > 0 || len(clock.moments) > 1
	}
	h = &Trainer{w: w, process: a, clock: clock, Reported: clock.reported(w.Spans)}
	loops := h.gather(entities)
	holdOut(loops, h.Reported)
	main := longest(loops)
	if main == nil || stat.Sum(main.Of(metric.HookSteps)) <= 0 {
		return nil, 0, true
	}
	h.choose(main, loops)
	trains := h.Training.Trains()
	for _, l := range loops {
		switch {
		case l == h.Training || stat.Sum(l.time()) <= 0:
		case trains && !l.Trains():
			h.Evaluations = append(h.Evaluations, l)
		default:
			h.Sources = append(h.Sources, l)
		}
	}
	h.evaluate()
	h.readEpochs(entities)
	longer := func(x, y *Loop) int { return cmp.Compare(stat.Sum(y.time()), stat.Sum(x.time())) }
	slices.SortStableFunc(h.Evaluations, longer)
	slices.SortStableFunc(h.Sources, longer)
	return h, stat.Sum(h.Reported), false
}

// The samplers that PyTorch makes itself, by shuffle (torch/utils/data/dataloader.py, 1.13 to 2.14).
const (
	InSequence = "torch.utils.data.sampler.SequentialSampler"
	AtRandom   = "torch.utils.data.sampler.RandomSampler"
)

// holdOut finds evaluations that leave gradients enabled: loops over a dataset in its order, in turns with one that
// trains on another one at random, or within few of its steps.
func holdOut(loops []*Loop, reported []float64) {
	for _, l := range loops {
		l.HeldOut = l.Call.Sampler == InSequence && l.Trains() && slices.ContainsFunc(loops, func(o *Loop) bool {
			return o.Call.Sampler == AtRandom && o.Trains() && (!together(l, o, reported) || seldom(l, o))
		})
		l.Call.Evaluates = l.Call.Evaluates || l.HeldOut
	}
}

// seldom reports whether the epochs of one loop lie within steps of another, and not within most of them.
func seldom(inner, outer *Loop) bool {
	all := inner.time()
	within := stat.Sum(stat.Lesser(outer.Of(metric.HookNested), all))
	return within >= sharedTime*stat.Sum(all) &&
		stat.Sum(inner.Of(metric.HookBegun)) < stat.Sum(outer.Of(metric.HookSteps))/2
}

// longest picks the loop with the most time, those that train first.
func longest(loops []*Loop) *Loop {
	var best *Loop
	for _, l := range loops {
		if best == nil || l.Trains() && !best.Trains() ||
			l.Trains() == best.Trains() &&
				stat.Sum(l.Of(metric.HookStepTime)) > stat.Sum(best.Of(metric.HookStepTime)) {
			best = l
		}
	}
	return best
}

// leastOverlap is by how much loops must take more time together than there is for their steps to lie within each
// other's.
const leastOverlap = 1.02

// evaluate adds up the time of evaluations. Where two are gone over together, each has the other's time within its
// steps, and they are held to what training leaves.
func (h *Trainer) evaluate() {
	h.Evaluated = h.Over(h.Evaluations, (*Loop).time)
	room := max(stat.Sum(h.Reported)-stat.Sum(h.Training.time()), 0)
	if all := stat.Sum(h.Evaluated); all > leastOverlap*room && all > 0 {
		h.Evaluated = stat.Each(len(h.Reported), func(i int) float64 { return h.Evaluated[i] * room / all })
	}
	h.Evaluated = earlier(h.Evaluated, h.Reported)
}

// earlier moves what a window holds beyond its room into the one before: a step's time is added up as the next one
// begins, and seems to have passed since the last reading, which may be of later than its begin. What that one has no
// room for is no matter of readings, and goes.
func earlier(held, room []float64) []float64 {
	out := stat.Lesser(held, room)
	for i := 1; i < len(out); i++ {
		out[i-1] += min(held[i]-out[i], room[i-1]-out[i-1])
	}
	return out
}

// gather makes loops of a trainer's DataLoaders: those that were made by the same call, one after the other, are one.
func (h *Trainer) gather(entities []string) []*Loop {
	byPlace := map[watched.CallPlace][]*Loop{}
	var out []*Loop
	reported := stat.Sum(h.Reported)
	for _, e := range entities {
		l := &Loop{Members: []string{e}, Call: h.w.CallOf[e], clock: h.clock, w: h.w, grown: map[string][]float64{}}
		// One that began as the window ends shows what it is after that.
		l.Call.Evaluates = !l.Trains() && (stat.Sum(l.Of(metric.HookSteps)) > 0 ||
			h.counted(metric.HookGradSteps, e) == 0)
		if l.spent = stat.Sum(l.time()); l.spent <= 0 {
			continue
		}
		key, ok := watched.PlaceOf(l.Call)
		same := slices.IndexFunc(byPlace[key], func(o *Loop) bool {
			return o.spent+l.spent <= leastOverlap*reported && !o.until(e)
		})
		if ok && same >= 0 {
			o := byPlace[key][same]
			o.Members, o.Call, o.spent = append(o.Members, e), inCommon(o.Call, l.Call), o.spent+l.spent
			clear(o.grown)
			continue
		}
		out = append(out, l)
		if ok {
			byPlace[key] = append(byPlace[key], l)
		}
	}
	return out
}

// until reports whether a loader was gone over while the last member of a loop was, as in zip: it had begun at a
// reading before the other's last.
func (l *Loop) until(entity string) bool {
	_, last := l.clock.retime(l.w.Track(metric.HookSteps, l.Members[len(l.Members)-1])).Rises()
	first, _ := l.clock.retime(l.w.Track(metric.HookSteps, entity)).Rises()
	return first < last
}

// inCommon is what two loaders made by one call have in common, else as the later one has it.
func inCommon(before, call watched.LoaderCall) watched.LoaderCall {
	for _, n := range []struct{ before, now **int }{{&before.Items, &call.Items},
		{&before.BatchSize, &call.BatchSize}} {
		if *n.before == nil || *n.now == nil || **n.before != **n.now {
			*n.now = nil
		}
	}
	return call
}

// sharedTime is the part of a loop's time that must be another's too for both to be gone over in each step.
const sharedTime = 0.5

// choose picks, of the loops that are gone over together with the longest one, as by zip, the one that training waits
// most for: that is where a change helps. The others of them are its partners.
func (h *Trainer) choose(longest *Loop, loops []*Loop) {
	group := []*Loop{longest}
	for _, l := range loops {
		if l != longest && l.Trains() == longest.Trains() && together(longest, l, h.Reported) {
			group = append(group, l)
		}
	}
	slices.SortStableFunc(group, func(x, y *Loop) int {
		return cmp.Compare(stat.Sum(y.Waits()), stat.Sum(x.Waits()))
	})
	h.Training, h.Partners = group[0], group[1:]
}

// together reports whether two loops take turns within each step: their times cover each other, or the epochs of one
// lie within the steps of the other.
func together(x, y *Loop, reported []float64) bool {
	xs, ys := x.time(), y.time()
	inY, inX := stat.Lesser(x.Of(metric.HookNested), ys), stat.Lesser(y.Of(metric.HookNested), xs)
	shared, within := stat.Sum(stat.Beyond(stat.Plus(xs, ys), reported)), 0.0
	for i := range inX {
		within += max(inX[i], inY[i])
	}
	return max(shared, within) >= sharedTime*min(stat.Sum(xs), stat.Sum(ys))
}

// OtherLoaders says what the partners of the training loop leave to it: how short a step can get with them as they are,
// and the CPUs that they use.
func (h *Trainer) OtherLoaders() (leastStep, cpus float64) {
	steps, trained := stat.Sum(h.Training.Of(metric.HookSteps)), stat.Sum(h.Trained())
	if steps <= 0 || trained <= 0 || len(h.Partners) == 0 {
		return 0, 0
	}
	own := max(trained-stat.Sum(h.Waits()), 0) / steps
	for _, p := range h.Partners {
		took := stat.Sum(p.Made(metric.HookFetchTime)) / steps
		if n := p.Call.NumWorkers; n != nil && *n > 0 {
			leastStep = max(leastStep, took/float64(*n))
			cpus += stat.Sum(p.Made(metric.HookFetchCPU)) / trained
		} else {
			own += stat.Sum(p.Waits()) / steps
		}
	}
	return max(leastStep, own), cpus
}

// OffMain is the share of the training loop's steps in the window that another thread than the main one took.
func (h *Trainer) OffMain() float64 {
	return stat.Over(stat.Sum(h.Training.Of(metric.HookOffMain)), stat.Sum(h.Training.Of(metric.HookSteps)))
}
