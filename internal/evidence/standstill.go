package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// When a job that waits for a batch is taken to stand still rather than to be slow: no batch has come for this long, and for this many times as
// long as any other took in the same watch. Workers that are started anew take up to 7 s to the first batch (8 of them by spawn on 2 cores).
const (
	leastStandstill  = 8.0 // seconds
	standstillFactor = 10.0
	standstillPasses = 5   // readings in which batches had passed before
	standstillWaits  = 0.9 // share of the looks since that found the trainer waiting
)

// readStandstill returns the end of a watch in which no batch passes any more although the trainer waits for one: a worker hangs in a dead mount, in a
// program it started, in a lock. Rates over that time are of nothing.
func readStandstill(rec *recording.Recording, h history, c cast, life span, ended bool) []halt {
	if ended || rec.End == nil {
		return nil
	}
	var out []halt
	for _, a := range c.trainers {
		from, ok := lastBatch(h.of(metric.LoaderTensors, a.loader()), life)
		if !ok {
			continue
		}
		still := span{from, life.to}
		waiting, _ := h.of(metric.LoaderWaiting, a.loader()).grown(still)
		looks, _ := h.of(metric.LoaderLooks, a.loader()).grown(still)
		if looks > 0 && waiting >= standstillWaits*looks {
			out = append(out, halt{span: still, open: true, why: stuckWorkers(h, c, a, still)})
		}
	}
	return out
}

// lastBatch returns when a batch was last seen to pass, where that is so long ago that none is on its way.
func lastBatch(passed *track, life span) (at float64, ok bool) {
	if passed == nil {
		return 0, false
	}
	passes, longest := 0, 0.0
	for i := 1; i < len(passed.at); i++ {
		if passed.v[i] <= passed.v[i-1] {
			continue
		}
		if passes > 0 {
			longest = max(longest, passed.at[i]-at)
		}
		at = passed.at[i]
		passes++
	}
	silent := life.to - at
	return at, passes >= standstillPasses && silent >= max(leastStandstill, standstillFactor*longest)
}

// stuckIn says in words what a worker does that is found in a state all the time.
var stuckIn = []struct {
	state metric.Desc
	words string
}{
	{metric.LooksStopped, "is stopped"}, {metric.LooksDisk, "waits for storage"}, {metric.LooksFileRead, "reads a file"}, {metric.LooksFileOpen, "opens a file"},
	{metric.LooksFileLock, "waits for a file lock"}, {metric.LooksChild, "waits for a program it started"}, {metric.LooksFutex, "waits for a lock"},
	{metric.LooksPipeRead, "waits for a pipe or socket"}, {metric.LooksPipeWrite, "waits to hand over a batch"}, {metric.LooksSleep, "sleeps"}, {metric.LooksRunning, "computes"},
}

// stuckWorkers names the workers of a trainer that are not waiting for work, and what they do instead.
func stuckWorkers(h history, c cast, trainer *actor, s span) string {
	const told = 3
	var words []string
	for _, a := range c.workers {
		if a.trainer != trainer.entity || a.died < s.to {
			continue
		}
		looks, _ := h.of(metric.LooksTotal, a.entity).grown(s)
		for _, state := range stuckIn {
			if in, _ := h.of(state.state, a.entity).grown(s); looks > 0 && in >= standstillWaits*looks {
				words = append(words, fmt.Sprintf("loader worker %d %s", a.pid, state.words))
				break
			}
		}
	}
	if len(words) == 0 {
		return ""
	}
	more := ""
	if len(words) > told {
		more = fmt.Sprintf(", and %d more", len(words)-told)
		words = slices.Clip(words[:told])
	}
	return ": " + strings.Join(words, ", ") + more
}
