package evidence

import (
	"math"
	"strconv"

	"github.com/pipetune/pipetune/internal/evidence/watched"
)

// warnHalts says who was stopped and since when.
func (b *builder) warnHalts() {
	const mostNamed = 3
	for i, x := range b.Halts {
		switch {
		case i == mostNamed:
			b.warn("it was stopped or frozen %d times more", len(b.Halts)-mostNamed)
			return
		case x.Who == "":
			b.warn("no batch has passed since %.1f s of the watch, and the trainer waits for one%s; that time is "+
				"left out", x.From, x.Why)
		case x.Open:
			b.warn("%s has been stopped or frozen since %.1f s of the watch; that time is left out", x.Who, x.From)
		default:
			b.warn("%s was stopped or frozen from %.1f s to %.1f s of the watch; that time is left out", x.Who, x.From,
				x.To)
		}
	}
}

// warnOtherTrainings says which of several trainings the report is of.
func (b *builder) warnOtherTrainings(t watched.OtherTrainings) {
	if t.Before+t.After == 0 || len(b.ranks) == 0 {
		return
	}
	who := "the trainer with pid " + strconv.Itoa(b.ranks[0].PID)
	if n := len(b.ranks); n > 1 {
		who = strconv.Itoa(n) + " trainers that ran together"
	}
	b.warn("trainers ran one after the other: the figures are of the longest training, %.0f s of %s; %d ran before "+
		"and %d after", math.Round(t.Life.Length()), who, t.Before, t.After)
}
