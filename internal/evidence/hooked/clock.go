package hooked

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// hookClock ties the ticks at which a trainer's totals were recorded to the moments up to which they hold. A trainer
// says nothing while it waits: a wait of 18 s is reported at its end, in one reading, and belongs to the 18 s before.
type hookClock struct {
	ticks, moments []float64 // seconds since the recording's start, rising; at most one tick for each moment
	all            []float64 // every tick at which the clock was recorded
}

// How far the hook's moments may lie from the ticks they were recorded at, in seconds, at their nearest. Beyond it the
// two clocks do not begin at the same time (a time namespace, an edited file), and the nearest is taken to have been
// reported at once.
const (
	earlyMoment = 0.5
	lateMoment  = 5.0
)

// readHookClock reads the clock of one trainer; nil where the hook reported nothing there.
func readHookClock(w *watched.Watch, a *watched.Process) *hookClock {
	t := w.Track(metric.HookClock, a.Entity)
	if t == nil {
		return nil
	}
	c := &hookClock{all: t.At}
	start := w.Rec.Header.StartMonotonic.Seconds()
	nearest := t.At[0] - (t.V[0] - start)
	for i, v := range t.V {
		moment := v - start
		nearest = min(nearest, t.At[i]-moment)
		if n := len(c.moments); n == 0 || moment > c.moments[n-1] {
			c.ticks, c.moments = append(c.ticks, t.At[i]), append(c.moments, moment)
		}
	}
	if nearest < -earlyMoment || nearest > lateMoment {
		for i := range c.moments {
			c.moments[i] += nearest
		}
	}
	return c
}

// begunAt puts the moment at which the trainer first asked for an iterator before all others: every total was zero
// then.
func (c *hookClock) begunAt(moment float64) {
	if moment < c.moments[0] {
		c.ticks, c.moments = slices.Insert(c.ticks, 0, min(moment, c.ticks[0])), slices.Insert(c.moments, 0, moment)
	}
}

// retime puts the readings of a trainer's total where they belong. A total that first appears while others are reported
// was zero at the reading before.
func (c *hookClock) retime(t *watched.Track) *watched.Track {
	if t == nil {
		return nil
	}
	out := &watched.Track{Entity: t.Entity}
	put := func(at, v float64) {
		switch n := len(out.At); {
		case n == 0 || at > out.At[n-1]:
			out.At, out.V = append(out.At, at), append(out.V, v)
		case at == out.At[n-1]:
			out.V[n-1] = v
		}
	}
	before := -1 // the clock's reading of the last one put
	for i, tick := range t.At {
		k, exact := slices.BinarySearch(c.ticks, tick)
		if !exact {
			k-- // the last reading before it
		}
		switch {
		case k < 0:
			continue
		case len(out.At) == 0 && k > 0:
			put(c.moments[k-1], 0)
		case len(out.At) > 0 && k-1 > before:
			put(c.moments[k-1], t.V[i-1]) // nothing was added up to then
		}
		put(c.moments[k], t.V[i])
		before = k
	}
	if len(out.At) == 0 {
		return nil
	}
	return out
}

// sinceBirth lets a total of those who make batches begin at zero, at the reading before the one that first has it.
// They tell it while the trainer waits too, and have no part in its clock.
func (c *hookClock) sinceBirth(t *watched.Track) *watched.Track {
	if t == nil {
		return nil
	}
	before, _ := slices.BinarySearch(c.all, t.At[0])
	if before == 0 {
		return t
	}
	out := &watched.Track{Entity: t.Entity, At: slices.Clone(t.At), V: slices.Clone(t.V)}
	out.Begin(c.all[before-1])
	return out
}

// reported returns, for each window, how long of it is reported.
func (c *hookClock) reported(spans []watched.Span) []float64 {
	whole := watched.Span{From: c.moments[0], To: c.moments[len(c.moments)-1]}
	return stat.Each(len(spans), func(i int) float64 { return spans[i].Overlap(whole) })
}

// How much of the steady window must be reported for the hook's figures to stand for it. A step in progress is
// reported when it ends, so that slow steps leave a tail untold; it may be as long as the longest stretch between two
// readings, and a half more.
const (
	enoughReported = 0.8
	leastReported  = 0.3
	openStep       = 1.5
)

// covers reports whether enough of the window is reported, and how much is.
func (c *hookClock) covers(steady watched.Span, spans []watched.Span) (reported float64, ok bool) {
	reported, window := stat.Sum(c.reported(spans)), stat.Sum(watched.Lengths(spans))
	if reported >= enoughReported*window {
		return reported, reported > 0
	}
	longest := 0.0
	for i := 1; i < len(c.moments); i++ {
		longest = max(longest, c.moments[i]-c.moments[i-1])
	}
	tail := steady.To - c.moments[len(c.moments)-1]
	return reported, reported >= leastReported*window && tail <= openStep*longest &&
		reported+tail >= enoughReported*window
}

// Loop is one call of DataLoader that a trainer goes over: one loader, or, where each epoch makes a new one at the
// same place, all of them.
type Loop struct {
	Members []string // entities loop/…, in order of construction
	Call    watched.LoaderCall
	clock   *hookClock
	w       *watched.Watch
	grown   map[string][]float64
	spent   float64 // seconds of the window, all members together
	HeldOut bool    // gone over with gradients, and yet most likely for an evaluation
}

// Of returns the growth of a trainer's total per window.
func (l *Loop) Of(d metric.Desc) []float64 { return l.sumOf(d, l.clock.retime) }

// Made returns the growth of a total of those who make its batches per window.
func (l *Loop) Made(d metric.Desc) []float64 { return l.sumOf(d, l.clock.sinceBirth) }

func (l *Loop) sumOf(d metric.Desc, place func(*watched.Track) *watched.Track) []float64 {
	if g, ok := l.grown[d.Name]; ok {
		return g
	}
	l.grown[d.Name] = l.within(l.w.Spans, d, place)
	return l.grown[d.Name]
}

// within is the growth of a total in each span, its members' together.
func (l *Loop) within(spans []watched.Span, d metric.Desc, place func(*watched.Track) *watched.Track) []float64 {
	total := make([]float64, len(spans))
	for _, m := range l.Members {
		g, _ := place(l.w.Track(d, m)).Grow(spans)
		stat.Add(total, g)
	}
	return total
}

// LoadsItself reports whether the loop is known to have no workers.
func (l *Loop) LoadsItself() bool { return l.Call.NumWorkers != nil && *l.Call.NumWorkers == 0 }

// HasWorkers reports whether workers of a DataLoader may make its batches.
func (l *Loop) HasWorkers() bool { return !l.LoadsItself() && !l.Call.Foreign() }

// Known reports whether a signal of the loop was reported at all.
func (l *Loop) Known(d metric.Desc) bool {
	return slices.ContainsFunc(l.Members, func(m string) bool { return l.w.Track(d, m) != nil })
}

// time is how long the trainer went over it: making iterators, steps, and the end of epochs.
func (l *Loop) time() []float64 {
	return stat.Plus(l.Of(metric.HookCreate), l.Of(metric.HookStepTime), l.Of(metric.HookDrain))
}

// Waits is how long the trainer stood still for it: of that, all but the steps themselves.
func (l *Loop) Waits() []float64 {
	return stat.Plus(l.Of(metric.HookCreate), l.Of(metric.HookWait), l.Of(metric.HookDrain))
}

// Trains reports whether gradients were enabled in any of its steps, and it is not held out.
func (l *Loop) Trains() bool { return !l.HeldOut && stat.Sum(l.Of(metric.HookGradSteps)) > 0 }

// Named is a loop by where its loader is made.
func (l *Loop) Named() string {
	if l.Call.File == "" {
		return "a loader"
	}
	return fmt.Sprintf("the loader of %s:%d", l.Call.File, l.Call.Line)
}

// mostClasses reaches 10^10 s.
const mostClasses = 320

// FetchSpread is how long batches took to make, by classes of durations.
func (l *Loop) FetchSpread() []stat.Class {
	return l.spread(metric.HookFetchSpread, l.clock.sinceBirth)
}

// WaitSpread is how long the trainer waited for them.
func (l *Loop) WaitSpread() []stat.Class { return l.spread(metric.HookWaitSpread, l.clock.retime) }

// spread counts the durations of each class of a loop's signal within the windows.
func (l *Loop) spread(d metric.Desc, place func(*watched.Track) *watched.Track) (out []stat.Class) {
	for k := range mostClasses {
		n := 0.0
		for _, m := range l.Members {
			g, _ := place(l.w.Track(d, "spread/"+m[len("loop/"):]+"/"+strconv.Itoa(k))).Grow(l.w.Spans)
			n += stat.Sum(g)
		}
		if n > 0 {
			out = append(out, stat.Class{K: k, Count: n})
		}
	}
	return out
}
