package hook

import (
	"strconv"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

const (
	// lively is how long after the last news of a loop its totals are recorded at each tick.
	lively = 2 * time.Second
	// restful is the time between two readings of a loop without news, one more for each restfulLoops loops: what happens then is not smeared over
	// all of its rest.
	restful      = time.Second
	restfulLoops = 16
	// maxEvents bounds the events of one recording.
	maxEvents = 20000
)

// record records what is known at a tick.
func (l *ledger) record(sink recording.Sink, at time.Duration) {
	l.say(sink)
	l.greet(sink)
	pause := restful + restful*time.Duration(len(l.loops)/restfulLoops)
	told := map[*process]bool{}
	for _, lp := range l.loops {
		entity := "loop/" + lp.name
		l.recordMade(sink, lp, entity)
		l.recordEpochs(sink, lp, entity)
		if lp.recorded != 0 && lp.news < lp.recorded-lively && at-lp.recorded < pause {
			continue
		}
		if !lp.stepsTold && !lp.workTold {
			continue
		}
		lp.recorded = at
		lp.record(sink, entity)
		l.recordSites(sink, lp)
		l.recordSlow(sink, lp, entity)
		told[lp.trainer] = true
	}
	for t := range told {
		sink.Add(metric.HookClock, t.entity, seconds(t.clock))
		sink.Add(metric.HookLost, t.entity, float64(t.lostAll))
	}
}

// record records a loop's totals, always all of them: a counter that is recorded only when it has grown would seem to have grown all the while.
func (lp *loop) record(sink recording.Sink, entity string) {
	if lp.stepsTold {
		add(sink, entity, stepSignals[:], lp.steps[:])
		if lp.batchBytes > 0 {
			sink.Add(metric.HookBatchSize, entity, float64(lp.batchBytes))
		}
	}
	if lp.workTold {
		add(sink, entity, workSignals[:], lp.work[:])
	}
	lp.waits.record(sink, metric.HookWaitSpread, lp.name)
	lp.fetches.record(sink, metric.HookFetchSpread, lp.name)
}

func add(sink recording.Sink, entity string, signals []total, values []int64) {
	for i, s := range signals {
		switch {
		case s.unknown && values[i] == 0:
		case s.time:
			sink.Add(s.desc, entity, seconds(values[i]))
		default:
			sink.Add(s.desc, entity, float64(values[i]))
		}
	}
}

// record records the classes that changed. One that has no reading yet was 0.
func (s *spread) record(sink recording.Sink, d metric.Desc, name string) {
	for k, fresh := range s.fresh {
		if fresh {
			sink.Add(d, "spread/"+name+"/"+strconv.Itoa(k), float64(s.counts[k]))
			s.fresh[k] = false
		}
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func (l *ledger) recordSites(sink recording.Sink, lp *loop) {
	for k, s := range lp.siteList {
		if !s.fresh {
			continue
		}
		entity := "site/" + lp.name + "/" + strconv.Itoa(k)
		if !s.said {
			s.said = true
			attrs := map[string]string{"kind": s.key.kind, "what": l.name(s.key.what), "file": l.path(s.key.file), "line": strconv.Itoa(s.key.line),
				"function": l.name(s.key.function)}
			if s.key.kind == "open" {
				attrs["what"] = l.path(s.key.what)
			}
			l.event(sink, recording.EventSite, entity, attrs)
		}
		s.fresh = false
		sink.Add(metric.HookSiteCalls, entity, float64(s.calls))
		sink.Add(metric.HookSiteTime, entity, seconds(s.time))
	}
}

// event records an event unless there were too many.
func (l *ledger) event(sink recording.Sink, kind, entity string, attrs map[string]string) {
	if l.events >= maxEvents {
		l.drop(noteEvents, nil)
		return
	}
	l.events++
	sink.Event(kind, entity, attrs)
}
