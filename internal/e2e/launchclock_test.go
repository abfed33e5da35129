package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

// align takes the hook's totals over the report's window, and the stop-watch's over exactly the stretch that these are
// about. Of several ranks it is the one that waits most.
func (l *launched) align(t *testing.T, stopwatch string) {
	t.Helper()
	owner := map[int]string{}
	for _, path := range must.Get(stopwatchFiles(stopwatch))(t) {
		owner[stopwatchPID(t, path)] = path
	}
	from, to := l.rep.Window.StartS, l.rep.Window.StartS+l.rep.Window.DurationS
	for _, clock := range l.rec.Series {
		var pid int
		if clock.Metric != metric.HookClock.Name {
			continue
		}
		if _, err := fmt.Sscanf(clock.Entity, "process/%d.", &pid); err != nil || owner[pid] == "" {
			t.Fatalf("the hook tells of %s, no stop-watch does: %v", clock.Entity, err)
		}
		readings := must.Get(readStopwatch(owner[pid]))(t)
		hook, i, j := perStep{}, 0, 0
		if i, j = readingsWithin(clock.Points, from, to); len(readings) > 0 {
			// The hook's last word may come after the stop-watch's, which is written after a step.
			for j > i && clock.Points[j].Value > readings[len(readings)-1].T {
				j--
			}
		}
		if j <= i {
			t.Fatalf("the hook told %s's clock fewer than twice in the window", clock.Entity)
		}
		first, last := clock.Points[i], clock.Points[j]
		hook.from, hook.to = first.Value, last.Value
		loop := "loop/" + strings.TrimPrefix(clock.Entity, "process/") + "."
		for _, s := range l.rec.Series {
			if !strings.HasPrefix(s.Entity, loop) {
				continue
			}
			grown := valueAt(s.Points, last.At) - valueAt(s.Points, first.At)
			switch s.Metric {
			case metric.HookSteps.Name:
				hook.steps += grown
			case metric.HookWait.Name, metric.HookCreate.Name, metric.HookDrain.Name:
				hook.wait += grown
			}
		}
		a, ok := at(readings, hook.from)
		z, ok2 := at(readings, hook.to)
		if !ok || !ok2 {
			t.Fatalf("the stop-watch does not reach over %.2f to %.2f", hook.from, hook.to)
		}
		own := perStep{from: hook.from, to: hook.to, steps: z.Batches - a.Batches, wait: z.Wait - a.Wait}
		if l.own.to == 0 || own.share() > l.own.share() {
			l.own, l.hook = own, hook
		}
	}
	if l.own.to == 0 {
		t.Fatal("the hook reported nothing of a trainer")
	}
}

// count takes the stop-watch's batches per second over the seconds that are seen from outside. The window reaches to
// the end of the job; after the trainer's last record no batch came.
func (l *launched) count(t *testing.T, stopwatch string) {
	t.Helper()
	if l.outside.Window == nil {
		return // absent is not zero: holdOutside says that nothing was seen
	}
	ranks := must.Get(readStopwatches(stopwatch))(t)
	from, to := window(l.outside, 0, 0)
	for _, readings := range ranks {
		first, ok := at(readings, from)
		if !ok {
			t.Fatalf("the stop-watch does not reach to %.2f, where what is seen from outside begins", from)
		}
		last := readings[len(readings)-1]
		if end, ok := at(readings, to); ok {
			last = end
		}
		l.passed += (last.Batches - first.Batches) / (to - from) / float64(len(ranks))
	}
}

// readingsWithin returns the first and the last reading within a window, in seconds since the recording's start.
func readingsWithin(points []recording.Point, from, to float64) (first, last int) {
	first = slices.IndexFunc(points, func(p recording.Point) bool { return p.At.Seconds() >= from })
	last = len(points) - 1
	for last > 0 && points[last].At.Seconds() > to {
		last--
	}
	return max(first, 0), last
}

// valueAt is a counter's value at a moment: the last reading until then, 0 before the first.
func valueAt(points []recording.Point, at time.Duration) float64 {
	value := 0.0
	for _, p := range points {
		if p.At > at {
			break
		}
		value = p.Value
	}
	return value
}

// total adds up the last readings of a counter over its entities.
func total(rec *recording.Recording, d metric.Desc) (sum float64) {
	for _, s := range rec.Series {
		if s.Metric == d.Name && len(s.Points) > 0 {
			sum += s.Points[len(s.Points)-1].Value
		}
	}
	return sum
}

// withoutHook is the recording as attach mode would have made it.
func withoutHook(rec *recording.Recording) *recording.Recording {
	outside := *rec
	outside.Series = slices.DeleteFunc(slices.Clone(rec.Series), func(s recording.Series) bool {
		return slices.ContainsFunc(metric.Hook, func(d metric.Desc) bool { return d.Name == s.Metric })
	})
	outside.Events = slices.DeleteFunc(slices.Clone(rec.Events), func(e recording.Event) bool {
		return slices.Contains([]string{recording.EventHook, recording.EventLoader, recording.EventEpoch,
			recording.EventSite, recording.EventSlowItem}, e.Kind)
	})
	return &outside
}
