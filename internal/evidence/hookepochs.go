package evidence

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// epochTold is one time over a loader, in seconds. NaN is not told.
type epochTold struct {
	entity                   string
	number                   int
	begun                    float64 // since the recording's start
	create, firstWait, drain float64
	wall, steps              float64
	born                     float64 // workers begun for it
	grad                     bool
}

// readEpochs reads the epochs of each loop; one that is told twice, when it begins and when it ends, is one.
func (b *builder) readEpochs() map[string][]epochTold {
	if b.epochs != nil {
		return b.epochs
	}
	type key struct {
		entity string
		number int
	}
	attrs := map[key]map[string]string{}
	var order []key
	for _, e := range b.rec.Events {
		if e.Kind != recording.EventEpoch {
			continue
		}
		n := whole(e.Attrs, "epoch")
		if n == nil {
			continue
		}
		k := key{e.Entity, *n}
		if attrs[k] == nil {
			attrs[k], order = map[string]string{}, append(order, k)
		}
		for name, v := range e.Attrs {
			attrs[k][name] = v
		}
	}
	b.epochs = map[string][]epochTold{}
	for _, k := range order {
		a := attrs[k]
		begun, err := strconv.ParseFloat(a["begun_s"], 64)
		if err != nil || math.Abs(begun) > maxReading {
			continue
		}
		told := func(key string) float64 {
			if x, ok := attr(a, key); ok {
				return x
			}
			return math.NaN()
		}
		b.epochs[k.entity] = append(b.epochs[k.entity], epochTold{entity: k.entity, number: k.number, begun: begun, create: told("create_s"),
			firstWait: told("first_wait_s"), drain: told("drain_s"), wall: told("wall_s"), steps: told("steps"), born: told("workers_born"), grad: a["grad"] == "1"})
	}
	return b.epochs
}

// firstBegun returns when the very first epoch of a loader began, where that is told.
func firstBegun(epochs []epochTold) (float64, bool) {
	for _, e := range epochs {
		if e.number == 0 {
			return e.begun, true
		}
	}
	return 0, false
}

// epochsOf gathers the epochs of the training loop in order: those of all loaders that were made by its call, before the window too.
func (b *builder) epochsOf(h *hooked, entities []string, epochs map[string][]epochTold) {
	l := h.training
	key, placed := callKey(l.call)
	for _, e := range entities {
		if !slices.Contains(l.members, e) {
			call := b.calls[e]
			call.Evaluates = l.call.Evaluates
			if other, _ := callKey(call); !placed || other != key || !b.never(l, e) {
				continue
			}
			h.earlier = h.earlier || number(loopNumber(e)) < number(loopNumber(l.members[0]))
		}
		made := b.loadersOf(e)
		h.made += made
		h.again += max(b.counted(metric.HookBegun, e)-made, 0)
		for _, x := range epochs[e] {
			if x.grad || l.call.Evaluates {
				h.epochs = append(h.epochs, x)
			}
		}
	}
	slices.SortStableFunc(h.epochs, func(x, y epochTold) int { return cmp.Compare(x.begun, y.begun) })
}

// anew tells whether the training loop's call makes a loader for each epoch, or most of them: workers live no longer than their loader.
func (h *hooked) anew() bool { return h.made > 1 && h.again < h.made }

// loadersOf is how many DataLoaders a loop stands for.
func (b *builder) loadersOf(entity string) int { return max(b.counted(metric.HookLoaders, entity), 1) }

// counted is where a count of a loop stood at its last reading.
func (b *builder) counted(d metric.Desc, entity string) int {
	t := b.h.of(d, entity)
	if t == nil {
		return 0
	}
	return int(math.Round(t.v[len(t.v)-1]))
}

// loopNumber is the last part of a loop's name.
func loopNumber(entity string) string { return entity[strings.LastIndexByte(entity, '.')+1:] }

// never tells whether a loader was not gone over within the window, so that it is none of those gone over beside a loop.
func (b *builder) never(l *hookLoop, entity string) bool {
	g, _ := l.clock.retime(b.h.of(metric.HookStepTime, entity)).grow(b.spans)
	return sum(g) <= 0
}

// hookEpochs takes what epochs and the restarts of workers between them cost. What a restart costs is the end of the old set of workers, the making
// of the new, and the wait for its first batch; what the trainer does in between is its own.
func (b *builder) hookEpochs(r *rank) {
	h := r.hook
	if h.loadsItself() {
		return
	}
	restarts := b.hookRestarts(h)
	var gaps, epochs []float64
	for i := 1; i < len(h.epochs); i++ {
		e, before := h.epochs[i], h.epochs[i-1]
		if e.begun >= b.steady.to {
			break
		}
		drain := before.drain
		switch apart := e.number - before.number; {
		case e.entity != before.entity && e.number > 0: // those between are not told
			drain = e.drain
		case e.entity == before.entity && apart != 1: // of many epochs only some are told
			drain = e.drain
			epochs = append(epochs, (e.begun-before.begun)/max(float64(apart), 1))
		default:
			epochs = append(epochs, e.begun-before.begun)
		}
		if e.begun >= b.steady.from && e.born > 0 {
			gaps = append(gaps, orNothing(drain)+orNothing(e.create)+orNothing(e.firstWait))
		}
	}
	b.replace(metric.EpochTime, stat.Median(epochs))
	b.replace(metric.Restarts, stat.Exact(restarts))
	if restarts == 0 {
		b.replace(metric.EpochGap, stat.Exact(0))
		b.drop(metric.RestartGap)
		b.miss("the workers were not replaced in the window", "watch for longer than an epoch", metric.RestartGap)
		return
	}
	lost := b.lostToRestarts(h)
	b.replace(metric.EpochGap, stat.Ratio(lost, h.trained()))
	if len(gaps) > 0 {
		b.replace(metric.RestartGap, stat.Median(gaps))
	} else {
		b.replace(metric.RestartGap, stat.Exact(sum(lost)/restarts))
	}
}

// orNothing is a figure, or 0 where it is not told.
func orNothing(x float64) float64 {
	if !finite(x) {
		return 0
	}
	return x
}

// hookRestarts counts the iterators of the training loop that began in the window with workers of their own, the very first left out.
func (b *builder) hookRestarts(h *hooked) float64 {
	if p := h.training.call.Persistent; p != nil && *p && len(h.training.members) == 1 && b.loadersOf(h.training.members[0]) == 1 {
		return 0
	}
	if h.training.call.Persistent == nil {
		n := 0.0
		for i, e := range h.epochs {
			if i > 0 && e.born > 0 && e.begun >= b.steady.from && e.begun < b.steady.to {
				n++
			}
		}
		return n
	}
	begun := sum(h.training.of(metric.HookBegun))
	if at := b.firstBatchTold(h); at > b.steady.from {
		begun--
	}
	return max(math.Round(begun), 0)
}

// firstBatchTold returns the reading that first told a batch of the training loop, its very first; before the window where that is not known.
func (b *builder) firstBatchTold(h *hooked) float64 {
	t := h.clock.retime(b.h.of(metric.HookSteps, h.training.members[0]))
	if t == nil || t.v[0] != 0 || h.earlier || len(h.epochs) > 0 && h.epochs[0].begun < min(t.at[0], b.steady.from) {
		return math.Inf(-1)
	}
	first, _ := rises(t)
	return first
}

// lostToRestarts is the time of ending and starting workers, per window. The very first start is none.
func (b *builder) lostToRestarts(h *hooked) []float64 {
	spans := intersect(b.spans, span{b.firstBatchTold(h), math.Inf(1)})
	out := make([]float64, len(b.spans))
	for _, d := range []metric.Desc{metric.HookCreate, metric.HookFirstWait, metric.HookDrain} {
		for _, m := range h.training.members {
			g, _ := h.clock.retime(b.h.of(d, m)).grow(spans)
			add(out, g)
		}
	}
	return out
}
