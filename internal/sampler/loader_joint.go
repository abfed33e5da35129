package sampler

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// jointCounts count samples of a trainer, and of all its workers right after it.
type jointCounts struct {
	samples, waiting, here, idle, alive, waitIdle, waitAlive, headOfLine, ahead, restarting uint64
}

// main counts a sample of a trainer that waits for a batch or not, and that has workers or not; had says that it once
// had some.
func (j *jointCounts) main(waiting, workers, had bool) {
	switch {
	case workers:
		j.samples++
		if waiting {
			j.waiting++
		}
	case had:
		j.restarting++
	}
}

// set counts a sample of all workers, taken right after one of their trainer. It stands for so many samples of the
// trainer, since workers are sampled less often where there are many.
func (j *jointCounts) set(waiting bool, idle, alive int, samples uint64) {
	if alive == 0 {
		return
	}
	j.idle += samples * uint64(idle)
	j.alive += samples * uint64(alive)
	if !waiting {
		if idle == alive {
			j.ahead += samples
		}
		return
	}
	j.waitIdle += samples * uint64(idle)
	j.waitAlive += samples * uint64(alive)
	if idle > 0 && idle < alive {
		j.headOfLine += samples
	}
}

func (j *jointCounts) emit(sink recording.Sink, entity string) {
	for _, c := range []struct {
		desc  metric.Desc
		value uint64
	}{
		{metric.LoaderSamples, j.samples}, {metric.LoaderWaiting, j.waiting},
		{metric.LoaderWaitsHere, j.here}, {metric.LoaderIdleSum, j.idle},
		{metric.LoaderAliveSum, j.alive},
		{metric.LoaderWaitIdle, j.waitIdle}, {metric.LoaderWaitAlive, j.waitAlive}, {metric.LoaderBlocked,
			j.headOfLine},
		{metric.LoaderAhead, j.ahead}, {metric.LoaderNoWorkers, j.restarting},
	} {
		sink.Add(c.desc, entity, float64(c.value))
	}
}
