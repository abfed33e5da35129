package evidence

import (
	"slices"

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
	for _, total := range h.all(metric.ThreadSamples) {
		h.index[trackKey{sampleCounts.Name, total.entity}] = &track{entity: total.entity, at: total.at,
			v: slices.Clone(total.v)}
		h.inSeconds(total.entity, []*track{total}, metric.Threads)
	}
	for _, joint := range h.all(metric.LoaderSamples) {
		none := h.of(metric.LoaderNoWorkers, joint.entity)
		whole := []*track{joint}
		if none != nil {
			whole = append(whole, none)
		}
		h.inSeconds(joint.entity, whole, jointCounts)
	}
}

// sampleCounts is where the plain count of samples is kept.
var sampleCounts = metric.Desc{Name: "samples taken"}

// jointCounts are the counters of paired samples; samples and samples without workers make up the whole.
var jointCounts = []metric.Desc{metric.LoaderWaiting, metric.LoaderIdleSum, metric.LoaderAliveSum,
	metric.LoaderWaitIdle, metric.LoaderWaitAlive, metric.LoaderBlocked, metric.LoaderAhead, metric.LoaderSamples,
	metric.LoaderNoWorkers}

// inSeconds rewrites an entity's counts of samples. Steps without a sample are joined to the next one that has some.
func (h history) inSeconds(entity string, whole []*track, counts []metric.Desc) {
	at := whole[0].at
	taken := make([]float64, len(at))
	for _, t := range whole {
		g, _ := t.grow(stepsOf(at))
		for i := range g {
			taken[i+1] += g[i]
		}
	}
	var steps []span
	var weight []float64 // seconds per sample
	from, samples := 0, 0.0
	for i := 1; i < len(at); i++ {
		if samples += taken[i]; samples > 0 {
			steps = append(steps, span{at[from], at[i]})
			weight = append(weight, (at[i]-at[from])/samples)
			from, samples = i, 0
		}
	}
	type rewritten struct {
		t     *track
		at, v []float64
	}
	var out []rewritten
	for _, d := range counts {
		t := h.of(d, entity)
		if t == nil {
			continue
		}
		growth, _ := t.grow(steps)
		r := rewritten{t: t, at: []float64{at[0]}, v: []float64{0}}
		total := 0.0
		for i, s := range steps {
			total += growth[i] * weight[i]
			r.at, r.v = append(r.at, s.to), append(r.v, total)
		}
		out = append(out, r)
	}
	for _, r := range out { // all at once: the whole is read while the parts are made
		r.t.at, r.t.v = r.at, r.v
	}
}
