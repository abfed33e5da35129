package hooked

import (
	"cmp"
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// readEpochs gathers the epochs of the training loop in order: those of all loaders that were made by its call, before
// the window too.
func (h *Trainer) readEpochs(entities []string) {
	l := h.Training
	key, placed := watched.PlaceOf(l.Call)
	for _, e := range entities {
		if !slices.Contains(l.Members, e) {
			call := h.w.CallOf[e]
			call.Evaluates = l.Call.Evaluates
			if other, _ := watched.PlaceOf(call); !placed || other != key || !l.never(e) {
				continue
			}
			h.earlier = h.earlier || watched.LoopNumber(e) < watched.LoopNumber(l.Members[0])
		}
		made := h.loadersOf(e)
		h.made += made
		h.again += max(h.counted(metric.HookBegun, e)-made, 0)
		for _, x := range h.w.EpochsOf[e] {
			if x.Grad || l.Call.Evaluates {
				h.Epochs = append(h.Epochs, x)
			}
		}
	}
	slices.SortStableFunc(h.Epochs, func(x, y watched.Epoch) int { return cmp.Compare(x.Begun, y.Begun) })
}

// recreated reports whether the training loop's call makes a loader for each epoch, or most of them: workers live no
// longer than their loader.
func (h *Trainer) recreated() bool { return h.made > 1 && h.again < h.made }

// loadersOf is how many DataLoaders a loop stands for.
func (h *Trainer) loadersOf(entity string) int { return max(h.counted(metric.HookLoaders, entity), 1) }

// counted is where a count of a loop stood at its last reading.
func (h *Trainer) counted(d metric.Desc, entity string) int {
	t := h.w.Track(d, entity)
	if t == nil {
		return 0
	}
	return int(math.Round(t.V[len(t.V)-1]))
}

// never reports whether a loader was not gone over within the window, so that it is none of those gone over beside a
// loop.
func (l *Loop) never(entity string) bool {
	g, _ := l.clock.retime(l.w.Track(metric.HookStepTime, entity)).Grow(l.w.Spans)
	return stat.Sum(g) <= 0
}

// Between is how long each restart of the workers took that began in the window, how long the trainer started them in
// it, and, of all that were reported, the times from one epoch to the next.
func (h *Trainer) Between() (gaps, starts, epochs []float64) {
	for i := 1; i < len(h.Epochs); i++ {
		e, before := h.Epochs[i], h.Epochs[i-1]
		if e.Begun >= h.w.Steady.To {
			break
		}
		drain := before.Drain
		switch apart := e.Number - before.Number; {
		case e.Entity != before.Entity && e.Number > 0: // those between are not reported
			drain = e.Drain
		case e.Entity == before.Entity && apart != 1: // of many epochs only some are reported
			drain = e.Drain
			epochs = append(epochs, (e.Begun-before.Begun)/max(float64(apart), 1))
		default:
			epochs = append(epochs, e.Begun-before.Begun)
		}
		if e.Begun >= h.w.Steady.From && e.WorkersBorn > 0 {
			create := max(e.Create-stat.OrZero(e.Draw)-stat.OrZero(e.Redraw), 0)
			gaps = append(gaps, stat.OrZero(drain)+create+stat.OrZero(e.FirstWait))
			starts = append(starts, create)
		}
	}
	return gaps, starts, epochs
}

// Restarts counts the iterators of the training loop that began in the window with workers of their own, the very
// first left out.
func (h *Trainer) Restarts() float64 {
	if p := h.Training.Call.Persistent; p != nil && *p && len(h.Training.Members) == 1 &&
		h.loadersOf(h.Training.Members[0]) == 1 {
		return 0
	}
	if h.Training.Call.Persistent == nil {
		n := 0.0
		for i, e := range h.Epochs {
			if i > 0 && e.WorkersBorn > 0 && e.Begun >= h.w.Steady.From && e.Begun < h.w.Steady.To {
				n++
			}
		}
		return n
	}
	begun := stat.Sum(h.Training.Of(metric.HookBegun))
	if at := h.firstBatch(); at > h.w.Steady.From {
		begun--
	}
	return max(math.Round(begun), 0)
}

// firstBatch returns the reading that first reported a batch of the training loop, its very first; before the
// window where that is not known.
func (h *Trainer) firstBatch() float64 {
	t := h.clock.retime(h.w.Track(metric.HookSteps, h.Training.Members[0]))
	if t == nil || t.V[0] != 0 || h.earlier || len(h.Epochs) > 0 && h.Epochs[0].Begun < min(t.At[0], h.w.Steady.From) {
		return math.Inf(-1)
	}
	first, _ := t.Rises()
	return first
}

// LostToRestarts is the time of ending and starting workers, per window. The very first start is none.
func (h *Trainer) LostToRestarts() []float64 {
	spans := watched.Intersect(h.w.Spans, watched.Span{From: h.firstBatch(), To: math.Inf(1)})
	lost := func(d metric.Desc) []float64 { return h.Training.within(spans, d, h.clock.retime) }
	drawn, _ := h.Drawn()
	return stat.Beyond(stat.Plus(lost(metric.HookCreate), lost(metric.HookFirstWait), lost(metric.HookDrain)), drawn)
}

// MakesAlone is how long a trainer without workers makes a batch of a dataset that is asked for items by their index;
// 0 of any other.
func (h *Trainer) MakesAlone() float64 {
	l := h.Training
	if !l.LoadsItself() || l.Call.Iterable {
		return 0
	}
	return stat.Over(stat.Sum(l.Made(metric.HookFetchTime)), stat.Sum(l.Made(metric.HookFetches)))
}

// Drawn is the time in which a training loop's sampler began, of each window, and of each epoch that began in them; the
// very first one is left out. What the hook counted up to the end of the watch is taken by the part that drawing has in
// the epochs it told one by one.
func (h *Trainer) Drawn() (lost, took []float64) {
	making, from := h.MakesAlone(), h.firstBatch()
	drew, of := 0.0, 0.0
	for i, e := range h.Epochs {
		each, ok := e.Drawing(making)
		if !ok || i == 0 || e.Begun < from || e.Begun >= h.w.Steady.To {
			continue
		}
		each += stat.OrZero(e.Redraw)
		drew += each
		of += e.Create
		if making > 0 {
			of += stat.OrZero(e.FirstWait)
		}
		if e.Begun >= h.w.Steady.From {
			took = append(took, each)
		}
	}
	spans := watched.Intersect(h.w.Spans, watched.Span{From: from, To: math.Inf(1)})
	counted := h.Training.within(spans, metric.HookCreate, h.clock.retime)
	if making > 0 {
		counted = stat.Plus(counted, h.Training.within(spans, metric.HookFirstWait, h.clock.retime))
	}
	return stat.Times(counted, stat.Share(stat.Divide(drew, of))), took
}

// EpochCost is what the epochs of a training loop were made of, as the hook reported it: medians, in seconds. A zero
// Summary is not reported.
type EpochCost struct {
	Batches stat.Summary // of an epoch that is over
	Create  stat.Summary // iter() without Draw and Redraw, of epochs that started workers
	First   stat.Summary // the wait for their first batch
	Drain   stat.Summary // the end of such epochs, in which their workers are ended
	Draw    stat.Summary // drawing the first indices; of epochs whose workers were there already, all of iter()
	Redraw  stat.Summary // drawing them for nothing, of epochs that started workers
}

// Cost gathers it. The very first epoch pays for what is done once, and stands only where there is no other.
func (h *Trainer) Cost() EpochCost {
	var whole, create, first, drain, draw, redraw []float64
	making := h.MakesAlone()
	for i, e := range h.Epochs {
		if e.Steps > 0 && (e.Drain != nil || i < len(h.Epochs)-1) { // or the loop was left, and another one began
			whole = append(whole, float64(e.Steps))
		}
		if drew, known := e.Drawing(making); known {
			draw = append(draw, drew)
		}
		if i == 1 && len(draw) == 2 { // the first one is not alone any more
			draw = draw[1:]
		}
		if e.WorkersBorn == 0 {
			continue
		}
		if i == 1 && len(create) == 1 {
			create, first, redraw = nil, nil, nil
		}
		create = append(create, max(e.Create-stat.OrZero(e.Draw)-stat.OrZero(e.Redraw), 0))
		if e.Redraw != nil {
			redraw = append(redraw, *e.Redraw)
		}
		if e.FirstWait != nil {
			first = append(first, *e.FirstWait)
		}
		if e.Drain != nil {
			drain = append(drain, *e.Drain)
		}
	}
	return EpochCost{Batches: stat.Median(whole), Create: stat.Median(create), First: stat.Median(first),
		Drain: stat.Median(drain), Draw: stat.Median(draw), Redraw: stat.Median(redraw)}
}
