package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
)

// dwell turns counts of looks into seconds: in each step between two readings, a state gets the share of the step that
// it had of the looks.
//
// Looks are not spread evenly over time. pipetune competes for the same cores, so fewer are taken while the machine is
// full, which is just when a trainer waits for its workers: on two full cores 38 looks a second were taken in the waits
// of an epoch's start and 50 in the steps after it, and the plain share of looks told an input wait of 0.69 where the
// trainer's own watch said 0.75.
//
// Afterwards looks are the seconds in which an entity was looked at, and everything counted in looks is in seconds too.
func (h history) dwell() {
	for _, total := range h.all(metric.LooksTotal) {
		h.index[trackKey{looksTaken.Name, total.entity}] = &track{entity: total.entity, at: total.at,
			v: slices.Clone(total.v)}
		h.inSeconds(total.entity, []*track{total}, metric.Looks)
	}
	for _, joint := range h.all(metric.LoaderLooks) {
		none := h.of(metric.LoaderNoWorkers, joint.entity)
		whole := []*track{joint}
		if none != nil {
			whole = append(whole, none)
		}
		h.inSeconds(joint.entity, whole, jointCounts)
	}
}

// looksTaken is where the plain count of looks is kept.
var looksTaken = metric.Desc{Name: "looks taken"}

// jointCounts are the counters of joint looks; looks and looks without workers make up the whole.
var jointCounts = []metric.Desc{metric.LoaderWaiting, metric.LoaderIdleSum, metric.LoaderAliveSum,
	metric.LoaderWaitIdle, metric.LoaderWaitAlive, metric.LoaderBlocked, metric.LoaderAhead, metric.LoaderLooks,
	metric.LoaderNoWorkers}

// inSeconds rewrites an entity's counts of looks. Steps without a look are joined to the next one that has some.
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
	var weight []float64 // seconds per look
	from, looks := 0, 0.0
	for i := 1; i < len(at); i++ {
		if looks += taken[i]; looks > 0 {
			steps = append(steps, span{at[from], at[i]})
			weight = append(weight, (at[i]-at[from])/looks)
			from, looks = i, 0
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
