package evidence

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
)

// weightByTime turns counts of samples into seconds: in each step between two readings, a state gets the share of the
// step that it had of the samples.
//
// Samples are not spread evenly over time. pipetune competes for the same cores, so fewer are taken while the machine
// is full, which is just when a trainer waits for its workers: on two full cores 38 samples a second were taken in the
// waits of an epoch's start and 50 in the steps after it, and the plain share of samples gave an input wait of 0.69
// where the trainer's own watch said 0.75.
//
// Afterwards samples are the seconds in which an entity was sampled, and everything counted in samples is in seconds
// too.
func (h history) weightByTime() {
	all := h.all(metric.ThreadSamples)
	for _, total := range all {
		h.index[trackKey{sampleCounts.Name, total.entity}] = &track{entity: total.entity, at: total.at,
			v: slices.Clone(total.v)}
	}
	for _, total := range all {
		whole := total
		if trainer, ok := strings.CutPrefix(total.entity, "taker/"); ok {
			// sampled with the main thread, as long as it is there and known
			if main := h.of(sampleCounts, "process/"+trainer); main != nil {
				whole = main
			}
		}
		h.inSeconds(total.entity, []*track{whole}, metric.Threads)
	}
	for _, joint := range h.all(metric.LoaderSamples) {
		h.inSeconds(joint.entity, []*track{joint, h.of(metric.LoaderNoWorkers, joint.entity)}, jointCounts)
	}
}

// sampleCounts is where the plain count of samples is kept.
var sampleCounts = metric.Desc{Name: "samples taken"}

// jointCounts are the counters of paired samples; samples and samples without workers make up the whole.
var jointCounts = []metric.Desc{metric.LoaderWaiting, metric.LoaderIdleSum, metric.LoaderAliveSum,
	metric.LoaderWaitIdle, metric.LoaderWaitAlive, metric.LoaderBlocked, metric.LoaderAhead, metric.LoaderSamples,
	metric.LoaderNoWorkers}

// inSeconds rewrites an entity's counts of samples, at the moments of the first track of the whole. Steps without a
// sample are joined to the next one that has some.
func (h history) inSeconds(entity string, whole []*track, counts []metric.Desc) {
	at := whole[0].at
	taken := make([]float64, len(at)-1)
	for _, t := range whole {
		g, _ := t.grow(stepsOf(at))
		add(taken, g)
	}
	moments := at[:1:1]
	var weight []float64 // seconds per sample
	from, samples := 0, 0.0
	for i, n := range taken {
		if samples += n; samples > 0 {
			moments = append(moments, at[i+1])
			weight = append(weight, (at[i+1]-at[from])/samples)
			from, samples = i+1, 0
		}
	}
	seconds := map[*track][]float64{}
	for _, d := range counts {
		if t := h.of(d, entity); t != nil {
			growth, _ := t.grow(stepsOf(moments))
			v := []float64{0}
			for i := range growth {
				v = append(v, v[i]+growth[i]*weight[i])
			}
			seconds[t] = v
		}
	}
	for t, v := range seconds { // all at once: the whole is read while the parts are made
		t.at, t.v = slices.Clone(moments), v
	}
}
