package evidence

import (
	"math"
	"strconv"
)

// warnHalts says who was stopped and since when.
func (b *builder) warnHalts() {
	const mostNamed = 3
	for i, x := range b.halts {
		switch {
		case i == mostNamed:
			b.warn("it was stopped or frozen %d times more", len(b.halts)-mostNamed)
			return
		case x.who == "":
			b.warn("no batch has passed since %.1f s of the watch, and the trainer waits for one%s; that time is "+
				"left out", x.from, x.why)
		case x.open:
			b.warn("%s has been stopped or frozen since %.1f s of the watch; that time is left out", x.who, x.from)
		default:
			b.warn("%s was stopped or frozen from %.1f s to %.1f s of the watch; that time is left out", x.who, x.from,
				x.to)
		}
	}
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
