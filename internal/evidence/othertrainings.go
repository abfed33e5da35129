package evidence

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/metric"
)

// otherTrainings is what is left out of a watch in which trainers ran one after the other, as a script runs one
// training and then the next: they are no ranks of one job, and figures of all of them together are of none.
type otherTrainings struct {
	life          span // of the trainers that are left, within the watch
	before, after int  // trainers that ended before these, and that began after them
}

// keepLongestTraining keeps the trainers of the longest training. Those that overlap are one training.
func (c *processes) keepLongestTraining(h history, end float64) otherTrainings {
	type training struct {
		life     span
		trainers []*process
	}
	lives := each(len(c.trainers), func(i int) training {
		return training{lifeOf(h, c.trainers[i], end), c.trainers[i : i+1]}
	})
	slices.SortStableFunc(lives, func(x, y training) int { return cmp.Compare(x.life.from, y.life.from) })
	var all []training
	longest := 0
	for _, one := range lives {
		n := len(all) - 1
		if n >= 0 && one.life.overlap(all[n].life) > min(lateNotice, one.life.length()/2, all[n].life.length()/2) {
			all[n].trainers = slices.Concat(all[n].trainers, one.trainers)
			all[n].life.to = max(all[n].life.to, one.life.to)
		} else {
			all = append(all, one)
		}
	}
	if len(all) < 2 {
		return otherTrainings{life: span{0, end}}
	}
	for i, x := range all {
		if x.life.length() > all[longest].life.length() {
			longest = i
		}
	}
	out := otherTrainings{life: all[longest].life}
	for i, x := range all {
		if i < longest {
			out.before += len(x.trainers)
		} else if i > longest {
			out.after += len(x.trainers)
		}
	}
	c.trainers = slices.DeleteFunc(slices.Clone(c.trainers), func(a *process) bool {
		return !slices.Contains(all[longest].trainers, a)
	})
	return out
}

// lifeOf is from when to when a trainer trained within the watch: from the first batch that the hook reported, else
// from when it was first sampled. One that was never sampled may have trained all the time.
func lifeOf(h history, a *process, end float64) span {
	samples := h.of(metric.ThreadSamples, a.entity)
	if samples == nil {
		return span{0, end}
	}
	from, to := samples.at[0], min(samples.last(), a.died, end)
	if clock := h.of(metric.HookClock, a.entity); clock != nil {
		from = max(from, clock.at[0])
	}
	return span{max(from, 0), max(to, from, 0)}
}

// warnOtherTrainings says which of several trainings the report is of.
func (b *builder) warnOtherTrainings(t otherTrainings) {
	if t.before+t.after == 0 || len(b.ranks) == 0 {
		return
	}
	who := "the trainer with pid " + strconv.Itoa(b.ranks[0].PID)
	if n := len(b.ranks); n > 1 {
		who = strconv.Itoa(n) + " trainers that ran together"
	}
	b.warn("trainers ran one after the other: the figures are of the longest training, %.0f s of %s; %d ran before "+
		"and %d after", math.Round(t.life.length()), who, t.before, t.after)
}
