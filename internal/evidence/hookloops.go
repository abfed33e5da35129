package evidence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// hooked is what the hook reported on one trainer over the windows.
type hooked struct {
	w       *watched.Watch
	process *watched.Process
	clock   *hookClock
	// gradients enabled, most time; where none has any, just most time; of several in each step, most wait
	training    *hookLoop
	partners    []*hookLoop     // of sources, those gone over in each step of training, as in zip
	evaluations []*hookLoop     // no gradients, while training stands still
	sources     []*hookLoop     // others with gradients, or all others where none has any
	epochs      []watched.Epoch // of training, in order of their beginning
	reported    []float64       // seconds of each window that are reported
	evaluated   []float64       // of those, in evaluations
	earlier     bool            // the call of the training loop made loaders before those of the window
	made        int             // loaders that this call made in all
	again       int             // epochs of theirs that were not the first of their loader
}

// trained is how long of each window the trainer did not evaluate: what shares and rates of the training loop are of.
func (h *hooked) trained() []float64 { return stat.Beyond(h.reported, h.evaluated) }

// waits is how long training stood still for data.
func (h *hooked) waits() []float64 {
	return h.over(append([]*hookLoop{h.training}, h.sources...), (*hookLoop).waits)
}

// all returns every loop gone over in the window, training first.
func (h *hooked) all() []*hookLoop {
	return slices.Concat([]*hookLoop{h.training}, h.evaluations, h.sources)
}

// over adds a signal up over loops.
func (h *hooked) over(loops []*hookLoop, of func(*hookLoop) []float64) []float64 {
	out := make([]float64, len(h.reported))
	for _, l := range loops {
		stat.Add(out, of(l))
	}
	return out
}

// readHook gathers what the hook reported on a trainer; nil where it reported nothing, or too little to stand for the
// window: then thin says of how many seconds it reported.
func readHook(w *watched.Watch, a *watched.Process) (h *hooked, reported float64, thin bool) {
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
	h = &hooked{w: w, process: a, clock: clock, reported: clock.reported(w.Spans)}
	loops := h.gather(entities)
	holdOut(loops, h.reported)
	main := longest(loops)
	if main == nil || stat.Sum(main.of(metric.HookSteps)) <= 0 {
		return nil, 0, true
	}
	h.choose(main, loops)
	trains := h.training.trains()
	for _, l := range loops {
		switch {
		case l == h.training || stat.Sum(l.time()) <= 0:
		case trains && !l.trains():
			h.evaluations = append(h.evaluations, l)
		default:
			h.sources = append(h.sources, l)
		}
	}
	h.evaluate()
	h.readEpochs(entities)
	longer := func(x, y *hookLoop) int { return cmp.Compare(stat.Sum(y.time()), stat.Sum(x.time())) }
	slices.SortStableFunc(h.evaluations, longer)
	slices.SortStableFunc(h.sources, longer)
	return h, stat.Sum(h.reported), false
}

// The samplers that PyTorch makes itself, by shuffle (torch/utils/data/dataloader.py, 1.13 to 2.14).
const (
	InSequence = "torch.utils.data.sampler.SequentialSampler"
	AtRandom   = "torch.utils.data.sampler.RandomSampler"
)

// holdOut finds evaluations that leave gradients enabled: loops over a dataset in its order, in turns with one that
// trains on another one at random, or within few of its steps.
func holdOut(loops []*hookLoop, reported []float64) {
	for _, l := range loops {
		l.heldOut = l.call.Sampler == InSequence && l.trains() && slices.ContainsFunc(loops, func(o *hookLoop) bool {
			return o.call.Sampler == AtRandom && o.trains() && (!together(l, o, reported) || seldom(l, o))
		})
		l.call.Evaluates = l.call.Evaluates || l.heldOut
	}
}

// seldom reports whether the epochs of one loop lie within steps of another, and not within most of them.
func seldom(inner, outer *hookLoop) bool {
	all := inner.time()
	within := stat.Sum(stat.Lesser(outer.of(metric.HookNested), all))
	return within >= sharedTime*stat.Sum(all) &&
		stat.Sum(inner.of(metric.HookBegun)) < stat.Sum(outer.of(metric.HookSteps))/2
}

// longest picks the loop with the most time, those that train first.
func longest(loops []*hookLoop) *hookLoop {
	var best *hookLoop
	for _, l := range loops {
		if best == nil || l.trains() && !best.trains() ||
			l.trains() == best.trains() &&
				stat.Sum(l.of(metric.HookStepTime)) > stat.Sum(best.of(metric.HookStepTime)) {
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
func (h *hooked) evaluate() {
	h.evaluated = h.over(h.evaluations, (*hookLoop).time)
	room := max(stat.Sum(h.reported)-stat.Sum(h.training.time()), 0)
	if all := stat.Sum(h.evaluated); all > leastOverlap*room && all > 0 {
		h.evaluated = stat.Each(len(h.reported), func(i int) float64 { return h.evaluated[i] * room / all })
	}
	h.evaluated = stat.Lesser(h.evaluated, h.reported)
}

// gather makes loops of a trainer's DataLoaders: those that were made by the same call, one after the other, are one.
func (h *hooked) gather(entities []string) []*hookLoop {
	byPlace := map[watched.CallPlace][]*hookLoop{}
	var out []*hookLoop
	reported := stat.Sum(h.reported)
	for _, e := range entities {
		l := &hookLoop{members: []string{e}, call: h.w.CallOf[e], clock: h.clock, w: h.w, grown: map[string][]float64{}}
		// One that began as the window ends shows what it is after that.
		l.call.Evaluates = !l.trains() && (stat.Sum(l.of(metric.HookSteps)) > 0 ||
			h.counted(metric.HookGradSteps, e) == 0)
		if l.spent = stat.Sum(l.time()); l.spent <= 0 {
			continue
		}
		key, ok := watched.PlaceOf(l.call)
		same := slices.IndexFunc(byPlace[key], func(o *hookLoop) bool {
			return o.spent+l.spent <= leastOverlap*reported && !o.until(e)
		})
		if ok && same >= 0 {
			o := byPlace[key][same]
			o.members, o.call, o.spent = append(o.members, e), inCommon(o.call, l.call), o.spent+l.spent
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
func (l *hookLoop) until(entity string) bool {
	_, last := l.clock.retime(l.w.Track(metric.HookSteps, l.members[len(l.members)-1])).Rises()
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
func (h *hooked) choose(longest *hookLoop, loops []*hookLoop) {
	group := []*hookLoop{longest}
	for _, l := range loops {
		if l != longest && l.trains() == longest.trains() && together(longest, l, h.reported) {
			group = append(group, l)
		}
	}
	slices.SortStableFunc(group, func(x, y *hookLoop) int {
		return cmp.Compare(stat.Sum(y.waits()), stat.Sum(x.waits()))
	})
	h.training, h.partners = group[0], group[1:]
}

// together reports whether two loops take turns within each step: their times cover each other, or the epochs of one
// lie within the steps of the other.
func together(x, y *hookLoop, reported []float64) bool {
	xs, ys := x.time(), y.time()
	inY, inX := stat.Lesser(x.of(metric.HookNested), ys), stat.Lesser(y.of(metric.HookNested), xs)
	shared, within := stat.Sum(stat.Beyond(stat.Plus(xs, ys), reported)), 0.0
	for i := range inX {
		within += max(inX[i], inY[i])
	}
	return max(shared, within) >= sharedTime*min(stat.Sum(xs), stat.Sum(ys))
}

// otherLoaders says what the partners of the training loop leave to it: how short a step can get with them as they are,
// and the CPUs that they use.
func (h *hooked) otherLoaders() (leastStep, cpus float64) {
	steps, trained := stat.Sum(h.training.of(metric.HookSteps)), stat.Sum(h.trained())
	if steps <= 0 || trained <= 0 || len(h.partners) == 0 {
		return 0, 0
	}
	own := max(trained-stat.Sum(h.waits()), 0) / steps
	for _, p := range h.partners {
		took := stat.Sum(p.made(metric.HookFetchTime)) / steps
		if n := p.call.NumWorkers; n != nil && *n > 0 {
			leastStep = max(leastStep, took/float64(*n))
			cpus += stat.Sum(p.made(metric.HookFetchCPU)) / trained
		} else {
			own += stat.Sum(p.waits()) / steps
		}
	}
	return max(leastStep, own), cpus
}

// offMain is the share of the training loop's steps in the window that another thread than the main one took.
func (h *hooked) offMain() float64 {
	return stat.Over(stat.Sum(h.training.of(metric.HookOffMain)), stat.Sum(h.training.of(metric.HookSteps)))
}
