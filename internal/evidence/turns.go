package evidence

import (
	"math"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/metric"
)

// turns is what is left out of a watch in which trainers ran one after the other, as a script runs one training and then the next: they are no ranks of
// one job, and figures of all of them together are of none.
type turns struct {
	life          span // of the trainers that are left, within the watch
	before, after int  // trainers that ended before these, and that began after them
}

// takeTurns keeps the trainers of the longest turn. Those that overlap are of one turn.
func (c *cast) takeTurns(h history, end float64) turns {
	lives := map[*actor]span{}
	for _, a := range c.trainers {
		lives[a] = lifeOf(h, a, end)
	}
	order := slices.Clone(c.trainers)
	slices.SortStableFunc(order, func(x, y *actor) int {
		if lives[x].from < lives[y].from {
			return -1
		}
		return 1
	})
	var sets [][]*actor
	var whole []span
	for _, a := range order {
		life := lives[a]
		n := len(sets) - 1
		if n < 0 || life.overlap(whole[n]) <= min(lateNotice, life.length()/2, whole[n].length()/2) {
			sets, whole = append(sets, []*actor{a}), append(whole, life)
			continue
		}
		sets[n] = append(sets[n], a)
		whole[n].to = max(whole[n].to, life.to)
	}
	if len(sets) < 2 {
		return turns{life: span{0, end}}
	}
	best := 0
	for i := range sets {
		if whole[i].length() > whole[best].length() {
			best = i
		}
	}
	out := turns{life: whole[best]}
	for i, set := range sets {
		if i < best {
			out.before += len(set)
		} else if i > best {
			out.after += len(set)
		}
	}
	c.trainers = slices.DeleteFunc(slices.Clone(c.trainers), func(a *actor) bool { return !slices.Contains(sets[best], a) })
	return out
}

// lifeOf is from when to when a trainer trained within the watch: from the first batch that the hook told, else from when it was first looked at. One that
// was never looked at may have trained all the time.
func lifeOf(h history, a *actor, end float64) span {
	looks := h.of(metric.LooksTotal, a.entity)
	if looks == nil {
		return span{0, end}
	}
	from, to := looks.at[0], min(looks.last(), a.died, end)
	if clock := h.of(metric.HookClock, a.entity); clock != nil {
		from = max(from, clock.at[0])
	}
	return span{max(from, 0), max(to, from, 0)}
}

// warnTurns says which of several trainings the report is of.
func (b *builder) warnTurns(t turns) {
	if t.before+t.after == 0 || len(b.ranks) == 0 {
		return
	}
	who := "the trainer with pid " + strconv.Itoa(b.ranks[0].pid)
	if n := len(b.ranks); n > 1 {
		who = strconv.Itoa(n) + " trainers that ran together"
	}
	b.warn("trainers ran one after the other: the figures are of the longest turn, %.0f s of %s; %d ran before and %d after",
		math.Round(t.life.length()), who, t.before, t.after)
}
