package sampler

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// jointCounts count looks at a trainer and all its workers together.
type jointCounts struct {
	looks, waiting, idle, alive, waitIdle, waitAlive, headOfLine, ahead, restarting uint64
}

// add counts a look at a trainer that waits for a batch or not, and at its workers.
func (j *jointCounts) add(waiting bool, idle, alive int, had bool) {
	if alive == 0 {
		if had {
			j.restarting++
		}
		return
	}
	j.looks++
	j.idle += uint64(idle)
	j.alive += uint64(alive)
	if !waiting {
		if idle == alive {
			j.ahead++
		}
		return
	}
	j.waiting++
	j.waitIdle += uint64(idle)
	j.waitAlive += uint64(alive)
	if idle > 0 && idle < alive {
		j.headOfLine++
	}
}

// emit records the counts.
func (j *jointCounts) emit(sink recording.Sink, entity string) {
	for _, c := range []struct {
		desc  metric.Desc
		value uint64
	}{
		{metric.LoaderLooks, j.looks}, {metric.LoaderWaiting, j.waiting}, {metric.LoaderIdleSum, j.idle}, {metric.LoaderAliveSum, j.alive},
		{metric.LoaderWaitIdle, j.waitIdle}, {metric.LoaderWaitAlive, j.waitAlive}, {metric.LoaderBlocked, j.headOfLine},
		{metric.LoaderAhead, j.ahead}, {metric.LoaderNoWorkers, j.restarting},
	} {
		sink.Add(c.desc, entity, float64(c.value))
	}
}
