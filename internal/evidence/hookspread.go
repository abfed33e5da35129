package evidence

import (
	"strconv"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// Spread returns how the durations of a signal were spread over classes in the window, the shortest class first, empty
// ones left out: of metric.HookFetchSpread and metric.HookWaitSpread. It is nil where the hook did not tell them.
func (e *Evidence) Spread(d metric.Desc) []stat.Class { return e.read(d).spread }

// SetSpread sets what Spread returns.
func (e *Evidence) SetSpread(d metric.Desc, classes []stat.Class) { e.row(d).spread = classes }

// mostClasses reaches 10^10 s.
const mostClasses = 320

// hookSpreads keeps how the times of a batch and of a wait for it were spread.
func (b *builder) hookSpreads(l *hookLoop) {
	b.ev.SetSpread(metric.HookFetchSpread, b.spread(l, metric.HookFetchSpread, l.clock.sinceBirth))
	b.ev.SetSpread(metric.HookWaitSpread, b.spread(l, metric.HookWaitSpread, l.clock.retime))
}

// spread counts the durations of each class of a loop's signal within the windows.
func (b *builder) spread(l *hookLoop, d metric.Desc, place func(*track) *track) (out []stat.Class) {
	for k := range mostClasses {
		n := 0.0
		for _, m := range l.members {
			g, _ := place(b.h.of(d, "spread/"+m[len("loop/"):]+"/"+strconv.Itoa(k))).grow(b.spans)
			n += sum(g)
		}
		if n > 0 {
			out = append(out, stat.Class{K: k, Count: n})
		}
	}
	return out
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

// cost gathers it. The very first epoch pays for what is done once, and stands only where there is no other.
func (h *hooked) cost() EpochCost {
	var whole, create, first, drain, draw, redraw []float64
	making := h.makesAlone()
	for i, e := range h.epochs {
		if e.Steps > 0 && (e.Drain != nil || i < len(h.epochs)-1) { // or the loop was left, and another one began
			whole = append(whole, float64(e.Steps))
		}
		if drew, known := e.drawing(making); known {
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
		create = append(create, max(e.Create-orZero(e.Draw)-orZero(e.Redraw), 0))
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
